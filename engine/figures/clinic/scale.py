"""The colour scale that both matrices of a pair are drawn on, and how their numbers are told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.analysis.evidence import Grid
from engine.figures.clinic.pair import Form, Pair
from engine.figures.strips import typed
from engine.figures.theme import Theme, cell_number, cell_weight, number, text_width

SUMS = 1e-3  # how far the sum of a row of weights may be from 1


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`, signed around zero or from zero on. shares: rows that sum to 1, as weights do."""

    low: float
    high: float
    shares: bool
    theme: Theme

    @classmethod
    def of(cls, grid: Grid, theme: Theme) -> Scale:
        """One for both."""
        values = np.concatenate([grid.broken.ravel(), grid.mended.ravel()])
        values = values[np.isfinite(values)]
        sums = grid.mended.sum(axis=1)
        positive = not values.size or values.min() >= 0
        if positive and np.all((np.abs(sums - 1) < SUMS) | (sums == 0)):
            return cls(0.0, 1.0, True, theme)
        limit = float(np.abs(values).max()) if values.size and np.abs(values).max() > 0 else 1.0
        return cls(0.0 if positive else -limit, limit, False, theme)

    def color(self, value: float) -> str:
        theme = self.theme
        return theme.signed_color(value, self.high) if self.low < 0 else theme.weight_color(value / self.high)

    @property
    def stops(self) -> list[list]:
        ends = self.theme.signed if self.low < 0 else self.theme.weight
        return [[at / (len(ends) - 1), color] for at, color in enumerate(ends)]

    def said(self, value: float, wide: bool) -> str:
        return cell_weight(value, wide) if self.shares else cell_number(value, wide)

    @property
    def ends(self) -> tuple[str, str]:
        """Its lowest and highest number."""
        return number(self.low, 3), "1" if self.shares else number(self.high, 3)

    def width(self, form: Form) -> float:
        """How much room it takes when it is drawn, with some to what comes next."""
        return (text_width("".join(self.ends)) + 7) * form.note + 40

    def draw(self, pair: Pair, y: float) -> None:
        """The scale itself between its ends."""
        note = pair.form.note
        low, high = self.ends
        left = text_width(low) * note + 8
        right = left + 7 * note
        pair.traces.append({
            "type": "heatmap", "z": typed(np.linspace(0, 1, 64)[None]), "x": typed(np.linspace(left, right, 65)),
            "y": typed(np.array([y - 0.4 * note, y + 0.4 * note])), "zmin": 0, "zmax": 1, "colorscale": self.stops,
            "showscale": False, "hoverinfo": "skip",
        })  # fmt: skip
        pair.write(0, y, low, note, pair.theme.muted)
        pair.write(right + 8, y, high, note, pair.theme.muted)
