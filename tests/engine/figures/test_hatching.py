"""The hatching of hidden cells: strokes run through all of them and through no other."""

from __future__ import annotations

import numpy as np

from engine.figures.grid import Grid
from engine.figures.hatching import hatched, strokes
from engine.figures.theme import LIGHT

PLACE = Grid(np.array([100.0, 110.0, 120.0]), np.array([50.0, 60.0, 70.0]), 10)


def lines(trace: dict) -> list[list[tuple[float, float]]]:
    found = [[]]
    for x, y in zip(trace["x"], trace["y"], strict=True):
        found[-1].append((x, y)) if x is not None else found.append([])
    return found[:-1]


def test_a_stroke_ends_where_what_is_hidden_ends():
    only = strokes(np.array([[True, False], [True, True]]), PLACE, apart=10)  # hidden: x 110-120, y 50-60
    assert lines(only) == [[(120.0, 50.0), (110.0, 60.0)]]  # x + y = 170; 160 and 180 only touch its corners


def test_a_stroke_goes_on_through_hidden_cells_that_touch():
    assert lines(strokes(np.zeros((2, 2), bool), PLACE, apart=20)) == [[(120.0, 50.0), (100.0, 70.0)]]


def test_a_stroke_is_broken_where_something_is_seen():
    nine = Grid(np.array([100.0, 110.0, 120.0, 130.0]), np.array([50.0, 60.0, 70.0, 80.0]), 10)
    seen = np.array([[False, False, False], [False, True, False], [False, False, False]])
    assert lines(strokes(seen, nine, apart=30)) == [
        [(130.0, 50.0), (120.0, 60.0)],
        [(110.0, 70.0), (100.0, 80.0)],
    ]


def test_where_nothing_is_hidden_nothing_is_drawn():
    assert [(trace["x"], trace["y"]) for trace in hatched(np.ones((2, 2), bool), PLACE, LIGHT)] == [
        ([], [])
    ] * 2


def test_the_strokes_cover_a_causal_mask_evenly():
    size = 32
    place = Grid(np.arange(size + 1) * 9.0, np.arange(size + 1) * 9.0, 9)
    visible = np.tri(size, dtype=bool)
    for line in lines(strokes(visible, place)):
        for share in (0.01, 0.5, 0.99):
            x = line[0][0] + share * (line[1][0] - line[0][0])
            y = line[0][1] + share * (line[1][1] - line[0][1])
            assert not visible[int(y // 9), int(x // 9)]
