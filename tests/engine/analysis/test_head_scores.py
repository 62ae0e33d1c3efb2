"""Head scores of matrices that are short enough to add up by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.analysis.head_scores import Looked, scores

#                    key  a    b    a    b
DIAGONAL = np.eye(4)
SHIFTED = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], float)
FOLLOWING = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0.75, 0.25, 0], [0.5, 0, 0.5, 0]], float)


def of(*heads: np.ndarray, ids=(7, 8, 7, 8), own=True, places=None) -> dict[str, list[float]]:
    looked = Looked(np.stack(heads), list(ids), own, places or {})
    return {name: values.tolist() for name, values in scores(looked).items()}


def test_previous_is_the_mean_weight_on_the_key_before_of_all_queries_but_the_first():
    assert of(DIAGONAL, SHIFTED, FOLLOWING)["previous"] == [0, 1, pytest.approx((0.5 + 0.75 + 0.5) / 3)]


def test_first_is_the_mean_weight_on_the_first_key_of_all_queries_but_the_first():
    assert of(DIAGONAL, SHIFTED, FOLLOWING)["first"] == [
        0,
        pytest.approx(1 / 3),
        pytest.approx((0.5 + 0 + 0.5) / 3),
    ]


def test_repeats_is_the_weight_on_what_followed_an_earlier_copy():
    # query 2, an a, was at 0: key 1 followed; query 3, a b, was at 1: key 2 followed
    assert of(DIAGONAL, SHIFTED, FOLLOWING)["repeats"] == [0, 1, (0.75 + 0.5) / 2]


def test_all_keys_after_earlier_copies_count_and_the_query_itself_is_none():
    even = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
    # a a a: query 1 may look at key 1, which followed key 0; query 2 at keys 1 and 2
    assert of(even, ids=(7, 7, 7))["repeats"] == [pytest.approx((1 / 2 + 2 / 3) / 2)]


def test_a_text_without_repeats_has_no_such_score():
    assert "repeats" not in of(DIAGONAL, ids=(1, 2, 3, 4))


def test_true_place_is_the_share_of_queries_whose_greatest_weight_lies_there():
    places = {2: frozenset({1}), 3: frozenset({0, 1})}
    assert of(DIAGONAL, SHIFTED, FOLLOWING, places=places)["true_place"] == [0, 0.5, 1]
    assert "true_place" not in of(DIAGONAL)


def test_places_beyond_the_text_that_was_read_are_left_out():
    assert of(DIAGONAL, places={0: frozenset({0}), 9: frozenset({0})})["true_place"] == [1]


def test_between_two_texts_only_entropy_and_true_places_mean_anything():
    looked = of(np.full((2, 3), 1 / 3), ids=(1, 1), own=False, places={0: frozenset({0})})
    assert set(looked) == {"true_place", "entropy"}


def test_entropy_of_a_row_is_that_of_its_shares():
    rows = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4, [0, 0, 0, 0]])
    assert of(rows)["entropy"] == [pytest.approx((0 + math.log(2) + math.log(4) + 0) / 4)]
    assert of(rows * 0.3)["entropy"] == [pytest.approx((math.log(2) + math.log(4)) / 4)]
