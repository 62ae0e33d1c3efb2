from __future__ import annotations

import pytest
import torch

from engine.model.masks import Causal, Full, Mask, Padding, Window

AT = torch.arange(5)[None]


def padding(*lengths: int) -> Padding:
    """The first so many of five keys of each text are real."""
    return Padding(torch.tensor([[key < length for key in range(5)] for length in lengths]))


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (Full(), [[[1] * 5] * 5]),
        (Causal(), [[[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]]),
        (Window(1), [[[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]]),
        (
            Causal() & Window(1),
            [[[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]],
        ),
        (padding(5, 3), [[[1] * 5] * 5, [[1, 1, 1, 0, 0]] * 5]),
        (
            Causal() & padding(3),
            [[[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0]]],
        ),
        (
            Causal() & Window(1) & padding(2),
            [[[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]],
        ),
    ],
)
def test_true_means_may_attend(mask: Mask, expected: list) -> None:
    visible = mask(AT, AT)
    assert visible.dtype == torch.bool
    assert visible.int().tolist() == expected


def test_positions_need_not_start_at_zero() -> None:
    """The last two queries of five, as with a cache: the mask is the bottom of the whole one."""
    mask = Causal() & Window(2)
    assert torch.equal(mask(AT[:, -2:], AT), mask(AT, AT)[:, -2:])


def test_a_mask_names_its_parts() -> None:
    mask = Causal() & Window(3) & padding(4)
    assert [part.reason for part in mask.parts] == ["future", "window", "padding"]
    assert [part.reason for part in Causal().parts] == ["future"]


def test_joining_changes_no_part() -> None:
    one, other = Causal(), Window(1)
    both = one & other
    assert (one.parts, other.parts, both.parts) == ((one,), (other,), (one, other))


def test_texts_may_stand_at_positions_of_their_own() -> None:
    """Two texts whose next token is the 3rd and the 5th: each sees what is before it."""
    at_q, at_k = torch.tensor([[2], [4]]), torch.tensor([[0, 1, 2], [2, 3, 4]])
    assert (Causal() & Window(1))(at_q, at_k).int().tolist() == [[[0, 1, 1]], [[0, 1, 1]]]
