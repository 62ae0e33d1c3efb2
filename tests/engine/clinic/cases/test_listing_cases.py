"""Cases of attention, norms and tables that need no copying."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine.clinic.cases import lengths_asserted_equal, mask_compared_with_zero
from engine.clinic.influence import influence
from tests.engine.clinic.cases.measured import curves, grid, measured, writings


def test_a_mask_that_is_zero_where_one_may_look():
    scores = torch.zeros(1, 1, 3, 3)
    assert mask_compared_with_zero.mended(scores)[0, 0, 0].tolist() == [1, 0, 0]
    weights = mask_compared_with_zero.broken(scores)[0, 0]
    assert weights[:2].tolist() == [[0, 0.5, 0.5], [0, 0, 1]]
    assert weights[2].isnan().all()


def test_one_row_in_the_first_layer_is_all_in_the_next():
    evidence, values = measured("mask_compared_with_zero", tokens=5)
    assert values["Rows that are NaN in layer 0"] == (1, 0)
    assert values["Rows that are NaN in layer 1"] == (5, 0)
    assert math.isnan(values["Loss of the next letter"][0])
    assert values["Loss of the next letter"][1] < 2
    assert np.isnan(grid(evidence).broken[4]).all()
    assert not np.isnan(grid(evidence).broken[:4]).any()


def test_influence_is_the_size_of_the_derivative():
    matrix = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    assert influence(lambda x: matrix @ x, torch.zeros(2, 1)).tolist() == [[3, 4], [0, 1]]
    wide = influence(lambda x: 2 * x, torch.zeros(2, 9))
    assert wide.tolist() == [[6, 0], [0, 6]]  # nine twos: sqrt(9 * 4)


def test_texts_that_look_at_each_other():
    evidence, values = measured("batch_taken_for_length", letters=3)
    other, own = (
        values["Change of the first text where the second is another"],
        values["Change of its first letter where its last is another"],
    )
    assert other[0] > 0.5
    assert other[1] == 0
    assert own[0] == 0
    assert own[1] > 0.01
    within = np.kron(np.eye(2), np.ones((3, 3)))  # a block for each text
    across = np.kron(np.ones((2, 2)), np.eye(3))  # the same place of both
    assert ((grid(evidence).mended > 0) == within.astype(bool)).all()
    assert ((grid(evidence).broken > 0) == across.astype(bool)).all()


def test_a_stream_that_nobody_norms_grows():
    evidence, values = measured("no_final_norm", depth=8, steps=10)
    sizes = curves(evidence).broken[0].values
    assert len(sizes) == 9
    assert (np.diff(sizes) > 0).all()
    assert curves(evidence).mended[0].values == pytest.approx(np.ones(9), abs=1e-4)
    assert values["Loss before training"][0] > 5.5
    assert values["Loss before training"][1] == pytest.approx(math.log(32), abs=0.8)


def test_small_weights_hardly_grow_it():
    evidence, _ = measured("no_final_norm", depth=8, steps=10, initialisation="normal")
    sizes = curves(evidence).broken[0].values
    assert sizes[-1] / sizes[0] == pytest.approx(1, abs=0.05)


def test_a_plain_attribute_stays_behind():
    _, values = measured("table_left_behind", d_model=4, length=3)
    broken, mended = values["Numbers that come back from another device"]
    assert "device" in str(broken)
    assert mended == 12
    assert values["Numbers that move with the module"] == (0, 512)  # 128 positions of 4 numbers
    assert values["Bits of each number after half()"] == (32, 16)
    broken, mended = values["Numbers that a layer behind it gives after half()"]
    assert "dtype" in str(broken)
    assert mended == 12


def test_keys_need_not_be_as_many_as_queries():
    query, key = torch.zeros(1, 1, 3, 2), torch.zeros(1, 1, 5, 2)
    with pytest.raises(AssertionError):
        lengths_asserted_equal.broken(query, key, key)
    assert lengths_asserted_equal.mended(query, key, torch.ones(1, 1, 5, 2)).tolist() == [[[[1, 1]] * 3]]
    with pytest.raises(AssertionError):
        lengths_asserted_equal.mended(query, key, query)


def test_an_assertion_that_is_false_across_texts():
    evidence, values = measured("lengths_asserted_equal", sentences=20)
    assert values["Self-attention that passes"] == (100, 100)
    assert values["Cross-attention that passes"][0] < 60
    assert values["Cross-attention that passes"][1] == 100
    assert values["Sentences of the first four translated right"] == ("AssertionError", 4)
    assert [example.broken for example in writings(evidence).examples] == [""] * 4
    assert all(example.mended == example.expected for example in writings(evidence).examples)


def test_words_are_faint_in_a_large_vocabulary():
    evidence, values = measured("embeddings_by_xavier")
    # uniform within sqrt(6 / (37,000 + 512)), times sqrt(512): sqrt(2 * 512 / 37,512) = 0.1652
    assert values["Size of a word's numbers (rms)"] == (
        pytest.approx(0.1652, rel=0.05),
        pytest.approx(1, rel=0.05),
    )
    assert values["Size of a position's numbers (rms)"][0] == pytest.approx(0.5**0.5, abs=1e-6)
    share = values["Share of the word in what the first layer reads"]
    assert share == (pytest.approx(5.18, abs=0.6), pytest.approx(200 / 3, abs=3))
    again = grid(evidence).rows.index("the", 1)
    assert grid(evidence).mended[0, again] > 0.85
    assert (
        grid(evidence).broken[0, 1] > grid(evidence).broken[0, again]
    )  # a neighbour more than the same word


def test_words_are_loud_in_a_small_one():
    _, values = measured("embeddings_by_xavier", vocabulary=20, d_model=64)
    assert values["Size of a word's numbers (rms)"][0] == pytest.approx((128 / 84) ** 0.5, rel=0.05)  # 1.234
