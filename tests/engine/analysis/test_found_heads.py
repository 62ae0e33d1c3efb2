"""Heads are found by what they do, whichever index they have."""

from __future__ import annotations

import numpy as np

from engine.analysis.found_heads import found_heads
from engine.analysis.head_place import HeadPlace
from engine.analysis.over_time import Look, OverTime
from engine.training.probe import Probe

TOKENS = ("a", "b", "c")
WEIGHTS = np.arange(2 * 3 * 9, dtype=np.float32).reshape(2, 3, 3, 3)  # (moment, head, query, key)


def look(kind: str, **scores: list[list[float]]) -> Look:
    stack = "encoder" if kind == "self" else "decoder"
    places = tuple(HeadPlace(kind, stack, f"{kind}_attention", layer, 0, 0, 1) for layer in range(3))
    visible = np.stack([np.tri(3, dtype=bool)] * 3)
    values = {name: np.array(rows) for name, rows in scores.items()}
    return Look(kind, places, TOKENS, TOKENS, WEIGHTS, visible, values)


def of(*looks: Look) -> OverTime:
    return OverTime(
        "Model", Probe("abc"), np.array([0, 9]), np.array([2.0, 1.0]), {one.kind: one for one in looks}
    )


def test_the_head_with_the_highest_score_at_the_last_moment_is_found_in_any_kind_of_attention() -> None:
    found = found_heads(of(
        look("self", previous=[[0.9, 0.0, 0.0], [0.25, 0.5, 0.125]]),
        look("masked", previous=[[0.0, 0.0, 0.0], [0.0, 0.375, 0.75]], repeats=[[1, 0, 0], [0.5, 0.25, 0.0]]),
    ))  # fmt: skip
    assert {name: (one.glance.place.kind, one.glance.place.layer, one.value) for name, one in found.items()} == {
        "repeats": ("masked", 0, 0.5), "previous": ("masked", 2, 0.75),
    }  # fmt: skip
    assert sorted(found["previous"].others) == [0, 0.125, 0.25, 0.375, 0.5]
    assert sorted(found["repeats"].others) == [0, 0.25]
    assert np.array_equal(found["previous"].glance.weights, WEIGHTS[1, 2])
    assert found["previous"].glance.keys == TOKENS


def test_of_equals_the_first_is_taken_and_its_equal_is_told_among_the_others() -> None:
    found = found_heads(of(look("masked", first=[[0, 0, 0], [0.5, 0.5, 0.25]])))
    assert found["first"].glance.place.layer == 0
    assert found["first"].others.tolist() == [0.5, 0.25]


def test_how_sharp_a_head_is_finds_none() -> None:
    assert found_heads(of(look("masked", entropy=[[1, 1, 1], [0.5, 0.25, 1]]))) == {}
