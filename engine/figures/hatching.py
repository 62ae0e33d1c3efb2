"""What a mask hides, hatched by lines of its own: plotly.js cannot fill with a pattern while something else moves."""

from __future__ import annotations

import numpy as np

from engine.figures.drawing import Trace
from engine.figures.grid import Grid
from engine.figures.theme import Theme

APART = 9.0  # pixels from a stroke to the next, along the edges


def hatched(visible: np.ndarray, place: Grid, theme: Theme) -> list[Trace]:
    """The ground of the hidden cells, and strokes over it. visible: (query, key)."""
    plain = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    ground = {"fill": "toself", "fillcolor": theme.faint, "line": {"width": 0}, **hidden_runs(visible, place)}
    return [
        {**plain, **ground},
        {**plain, "line": {"color": theme.hatch, "width": 0.7}, **strokes(visible, place)},
    ]


def hidden_runs(visible: np.ndarray, place: Grid) -> Trace:
    """Outlines of the hidden cells, one rectangle for each run of them in a row."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for row, seen in enumerate(visible):
        edges = np.flatnonzero(np.diff(np.concatenate([[True], seen, [True]]).astype(int)))
        top, bottom = (round(float(y), 1) for y in place.ys[row : row + 2])
        for start, stop in edges.reshape(-1, 2):
            left, right = round(float(place.xs[start]), 1), round(float(place.xs[stop]), 1)
            xs += [left, right, right, left, None]
            ys += [top, top, bottom, bottom, None]
    return {"x": xs, "y": ys}


def strokes(visible: np.ndarray, place: Grid, apart: float = APART) -> Trace:
    """Lines on which x + y is the same, as far as they run through hidden cells."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for total in np.arange(place.xs[0] + place.ys[0] + apart, place.xs[-1] + place.ys[-1], apart):
        crossed = np.unique(np.concatenate([place.ys, total - place.xs]))
        low, high = max(place.ys[0], total - place.xs[-1]), min(place.ys[-1], total - place.xs[0])
        crossed = crossed[(crossed >= low) & (crossed <= high)]
        middles = (crossed[:-1] + crossed[1:]) / 2
        rows = np.searchsorted(place.ys, middles) - 1
        columns = np.searchsorted(place.xs, total - middles) - 1
        hidden = np.concatenate([[False], ~visible[rows, columns], [False]]).astype(int)
        for start, stop in np.flatnonzero(np.diff(hidden)).reshape(-1, 2):
            ends = crossed[[start, stop]]
            xs += [*(total - ends).round(1).tolist(), None]
            ys += [*ends.round(1).tolist(), None]
    return {"x": xs, "y": ys}
