from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.decoding import greedy

END = 9


def counting(ids: Tensor) -> Tensor:
    """A model that expects the next number after each token, up to END."""
    return torch.nn.functional.one_hot((ids + 1).clamp_max(END), END + 1).float()


def written(start: list[list[int]], **limits) -> tuple[list[list[int]], list[str | None]]:
    steps = list(greedy(counting, torch.tensor(start), **limits))
    return [step.ids.tolist() for step in steps], [step.stop for step in steps]


def test_it_ends_at_eos() -> None:
    ids, stops = written([[6]], max_new_tokens=20, max_len=30, eos_id=END)
    assert ids == [[7], [8], [9]]
    assert stops == [None, None, "end"]


def test_a_text_that_has_ended_waits_for_the_others() -> None:
    ids, stops = written([[7], [5]], max_new_tokens=20, max_len=30, eos_id=END)
    assert ids == [[8, 6], [9, 7], [9, 8], [9, 9]]
    assert stops[-1] == "end"


@pytest.mark.parametrize(
    ("limits", "count", "stop"),
    [
        ({"max_new_tokens": 2, "max_len": 30}, 2, "length"),
        ({"max_new_tokens": 20, "max_len": 4}, 3, "full"),
        ({"max_new_tokens": 3, "max_len": 4}, 3, "length"),
        ({"max_new_tokens": 1, "max_len": 4, "eos_id": END}, 1, "length"),
    ],
)
def test_it_stops_at_its_limits_and_says_which(limits: dict, count: int, stop: str) -> None:
    ids, stops = written([[0]], **limits)
    assert ids == [[number] for number in range(1, count + 1)]
    assert stops == [*[None] * (count - 1), stop]


@pytest.mark.parametrize("limits", [{"max_new_tokens": 0, "max_len": 9}, {"max_new_tokens": 5, "max_len": 2}])
def test_where_there_is_no_room_nothing_is_written(limits: dict) -> None:
    assert written([[1, 2]], **limits) == ([], [])


def test_without_eos_it_goes_on() -> None:
    ids, stops = written([[8]], max_new_tokens=3, max_len=30)
    assert ids == [[9], [9], [9]]
    assert stops[-1] == "length"


def test_steps_carry_the_logits_and_no_graph() -> None:
    weight = torch.ones(1, requires_grad=True)
    step = next(greedy(lambda ids: counting(ids) * weight, torch.tensor([[3]]), max_new_tokens=1, max_len=9))
    assert step.logits.tolist() == [[0, 0, 0, 0, 1, 0, 0, 0, 0, 0]]
    assert not step.logits.requires_grad
