"""What has no colour on the scale: NaN, infinities, and cells that may not be seen. Each its own hatch, and a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.config import N_
from engine.figures.clinic.pair import Form, Pair, Translate
from engine.figures.drawing import CLEAR, Trace
from engine.figures.grid import Grid as Place
from engine.figures.hatching import hidden_runs
from engine.figures.theme import Theme, escape, text_width

ROW = 1.8  # height of a row of the legend, over the size of its words


@dataclass(frozen=True)
class Mark:
    """word: what it is called. role: of the theme's colours. shape: of its hatch."""

    word: str
    role: str
    shape: str
    found: Callable[[np.ndarray], np.ndarray]

    def pattern(self, theme: Theme) -> Trace:
        return {
            "shape": self.shape, "fgcolor": getattr(theme, self.role), "bgcolor": CLEAR, "size": 6, "solidity": 0.16,
        }  # fmt: skip


NAN = Mark(N_("not a number (NaN)"), "key", "x", np.isnan)
INFINITE = Mark(N_("infinite"), "query", ".", np.isinf)
HIDDEN = Mark(N_("may not be seen"), "hatch", "/", np.isnan)  # which cells, the grid says itself
NO_NUMBERS = (NAN, INFINITE)


def patch(pair: Pair, outline: Trace, mark: Mark) -> None:
    """Hatches what the outline goes round."""
    pair.traces.append({
        "type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip", **outline,
        "fillpattern": mark.pattern(pair.theme),
    })  # fmt: skip


def hatched(pair: Pair, cells: np.ndarray, place: Place, mark: Mark) -> None:
    """Hatches the cells, (row, column) boolean."""
    if cells.any():
        patch(pair, hidden_runs(~cells, place), mark)


def legend(pair: Pair, x: float, y: float, marks: Sequence[Mark]) -> None:
    """A swatch and a word for each, from there on, in as many rows as they need; y is the middle of the first."""
    side = 1.05 * pair.form.note
    for mark, (row, left) in zip(marks, places(pair.form, x, marks, pair.translate), strict=True):
        at, right = y + row * ROW * pair.form.note, left + side
        top, bottom = at - side / 2, at + side / 2
        patch(pair, {"x": [left, right, right, left], "y": [top, top, bottom, bottom]}, mark)
        pair.write(right + 6, at, escape(pair.translate(mark.word)), pair.form.note, pair.theme.muted)


def places(form: Form, x: float, marks: Sequence[Mark], translate: Translate) -> list[tuple[int, float]]:
    """Row and left edge of each entry of a legend that begins at x."""
    found, row = [], 0
    for mark in marks:
        wide = 1.05 * form.note + 6 + text_width(translate(mark.word)) * form.note
        if x + wide > form.width:
            row, x = row + 1, 0.0
        found.append((row, x))
        x += wide + 18
    return found
