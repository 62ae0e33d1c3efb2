"""Cases that teach a small model to copy letters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine.clinic.cases import (
    end_never_scored,
    heads_not_transposed,
    mask_compared_with_one,
    rate_without_width,
)
from tests.engine.clinic.cases.measured import curves, grid, measured

NEVER = float("-inf")


def test_a_mask_of_infinities_is_nowhere_one():
    scores = torch.zeros(1, 1, 3, 3)
    assert mask_compared_with_one.broken(scores)[0, 0].tolist() == [[pytest.approx(1 / 3)] * 3] * 3
    assert mask_compared_with_one.mended(scores)[0, 0].tolist() == [
        [1, 0, 0],
        [0.5, 0.5, 0],
        [pytest.approx(1 / 3)] * 3,
    ]


def test_who_sees_the_future_is_good_until_it_writes():
    evidence, values = measured("mask_compared_with_one", steps=120)
    whole = values["Whole texts written right"]
    assert whole[0] == 0
    assert whole[1] > 70
    assert min(values["Tokens right, the right ones before them given"]) > 95
    assert values["Weight on the future"][0] > 0.5
    assert values["Weight on the future"][1] == 0
    assert grid(evidence).mended[0].tolist() == [1, 0, 0, 0, 0, 0]


def test_heads_joined_by_a_view_are_of_neighbours():
    z = torch.arange(4.0).view(1, 1, 4, 1).expand(1, 2, 4, 3)  # each number is the place of its token
    assert heads_not_transposed.mended(z)[0].tolist() == [[0] * 6, [1] * 6, [2] * 6, [3] * 6]
    assert heads_not_transposed.broken(z)[0].tolist() == [
        [0, 0, 0, 1, 1, 1],
        [2, 2, 2, 3, 3, 3],
        [0, 0, 0, 1, 1, 1],
        [2, 2, 2, 3, 3, 3],
    ]


def test_heads_without_a_transpose_leak_the_future():
    evidence, values = measured("heads_not_transposed", steps=120)
    assert values["Numbers of a vector that are its own token's"] == (12.5, 100)  # 2 of 16 halves
    assert values["Whole texts written right"][0] < 5
    assert values["Whole texts written right"][1] > 70
    assert values["Tokens right, the right ones before them given"][0] > 95
    assert grid(evidence).broken[0].tolist() == [0.5, 0.5, 0, 0, 0, 0, 0, 0]


def test_one_head_needs_no_transpose():
    _, values = measured("heads_not_transposed", heads=1, steps=50)
    assert all(broken == mended for broken, mended in values.values())


def test_ends_are_not_scored_where_they_are_padding():
    rows = [torch.tensor([7, 2]), torch.tensor([7, 8, 2])]  # 2 is the end
    logits = torch.zeros(2, 3, 9)
    logits[..., 2] = NEVER  # a model that never ends
    assert end_never_scored.broken(logits, rows).item() == pytest.approx(math.log(8))
    assert end_never_scored.mended(logits, rows).item() == math.inf


def test_who_was_never_told_of_an_end_does_not_stop():
    _, values = measured("end_never_scored", steps=120)
    assert values["Texts that end by themselves"][0] == 0
    assert values["Texts that end by themselves"][1] > 95
    assert values["Texts that begin right"][0] > 70
    assert values["Whole texts written right"][0] == 0


def test_five_rounds_write_hardly_a_text():
    _, values = measured("five_epochs")
    assert values["Training steps"][0] == 80  # 1,000 texts are 16 batches of 64, five times
    assert values["Training steps"][1] % 16 == 0
    assert values["Whole texts written right"][0] < 15
    assert values["Whole texts written right"][1] >= 90


def test_a_rate_that_nobody_is_told_changes_nothing():
    evidence, values = measured("rate_never_assigned", steps=40)
    assert values["Parameters that have changed"][0] == 0
    assert values["Parameters that have changed"][1] > 95
    assert values["Loss of the first step"][0] == values["Loss of the first step"][1]
    assert values["Loss of the last step"][0] > 3
    assert values["Loss of the last step"][1] < 2.3
    assert len(curves(evidence).broken[0].values) == 40


def test_the_peak_of_the_schedule():
    _, values = measured("rate_without_width", steps=60)
    assert values["The highest rate"] == (pytest.approx(0.01581, abs=5e-6), pytest.approx(0.000699, abs=5e-7))
    assert values["The rate at step 0"][0] == "0.0 cannot be raised to a negative power"
    assert rate_without_width.mended(0, 512, 4000) == rate_without_width.mended(1, 512, 4000)


def test_without_the_width_the_loss_stays():
    evidence, values = measured("rate_without_width", steps=120)
    assert values["Loss of the last step"][0] > 1.8
    assert values["Loss of the last step"][1] < 0.6
    rates = curves(evidence, 1)
    assert np.allclose(rates.broken[0].values / rates.mended[0].values, 512**0.5)
