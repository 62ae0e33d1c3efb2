"""Cases about padding, on a model that turns letters round and was trained aright."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine.clinic.cases import mask_of_a_billion, mask_times_infinity, padding_on_queries
from tests.engine.clinic.cases.measured import curves, grid, measured, writings

SCORES = torch.zeros(1, 1, 3, 3)
REAL = torch.tensor([[True, True, False]])
LAST_HIDDEN = [[0.5, 0.5, 0.0]] * 3


def test_a_mask_times_infinity_is_nan_everywhere():
    assert mask_times_infinity.multiplied(SCORES, REAL).isnan().all()
    assert mask_times_infinity.filled(SCORES, REAL)[0, 0].tolist() == LAST_HIDDEN


@pytest.mark.parametrize("padding", [0, 2])
def test_one_nan_is_all_nan(padding):
    evidence, values = measured("mask_times_infinity", padding=padding)
    assert values["Weights that are NaN, of 64"] == (64, 0)
    assert math.isnan(values["Sum of the first row"][0])
    assert values["Sum of the first row"][1] == pytest.approx(1, abs=1e-6)
    assert values["Whole texts written right"] == (0, 100)
    hidden = grid(evidence).hidden_mended
    assert hidden is not None
    assert hidden[0].tolist() == [False] * (8 - padding) + [True] * padding
    assert (grid(evidence).mended[hidden] == 0).all()


def test_a_mask_on_queries():
    weights = padding_on_queries.broken(SCORES, REAL, -math.inf)[0, 0]
    assert weights[:2].tolist() == [[pytest.approx(1 / 3)] * 3] * 2
    assert weights[2].isnan().all()
    assert padding_on_queries.mended(SCORES, REAL, -math.inf)[0, 0].tolist() == LAST_HIDDEN


@pytest.mark.parametrize(("hidden_by", "rows"), [("-inf", 3), ("-1e9", 0)])
def test_padding_that_is_looked_at(hidden_by, rows):
    evidence, values = measured("padding_on_queries", padding=3, hidden_by=hidden_by)
    assert values["Rows that are NaN, of 8"] == (rows, 0)
    assert values["Weight of real tokens on padding"][0] > 0.2
    assert values["Weight of real tokens on padding"][1] == 0
    assert values["Whole texts written right"] == (0, 100)
    assert all(
        example.mended == example.expected == example.prompt[::-1] for example in writings(evidence).examples
    )


def test_padding_that_speaks_is_a_uniform_row():
    evidence, _ = measured("padding_on_queries", padding=1, hidden_by="-1e9")
    assert grid(evidence).broken[7].tolist() == [0.125] * 8


def test_answers_depend_on_the_text_beside():
    evidence, values = measured("memory_unmasked", padding=4)
    assert values["Whole texts written right"][0] < 50
    assert values["Whole texts written right"][1] == 100
    assert values["Weight of the decoder on padding"][0] > 0.1
    assert values["Weight of the decoder on padding"][1] == 0
    assert values["Answers that the longer text changes"][1] == 0
    over = curves(evidence)
    assert over.broken[0].values[0] == 100  # without padding there is nothing to forget
    assert over.mended[0].values.tolist() == [100] * 9


def test_without_a_longer_text_both_are_the_same():
    evidence, values = measured("memory_unmasked", padding=0)
    assert all(broken == mended for broken, mended in values.values())
    assert np.array_equal(grid(evidence).broken, grid(evidence).mended)


def test_a_billion_is_no_infinity():
    evidence, values = measured("mask_of_a_billion", padding=2)
    assert "overflow" in values["Sum of the last row, in float16"][0]
    assert values["Sum of the last row, in float16"][1] == pytest.approx(1, abs=2e-3)
    assert values["Weight where all is hidden"] == (0.125, 0)
    assert values["Sum of the first row, in which all is hidden"] == (1, 0)
    assert np.array_equal(grid(evidence).broken[2:], grid(evidence).mended[2:])


def test_a_row_in_which_all_is_hidden_gives_back_no_nan():
    scores = torch.zeros(2, 2, requires_grad=True)
    weights = mask_of_a_billion.mended(scores, torch.tensor([[False, False], [True, True]]))
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[0, 0], [0, 0]]
