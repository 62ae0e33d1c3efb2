"""Curves of both listings over the same axes; behind each, thin, the other one's, where there is one each.

A stretch that is not a number is hatched from the first to the last such point, and says so; no line crosses it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.evidence import Curve, Curves
from engine.config import N_
from engine.figures.axes import said, ticks
from engine.figures.clinic.marks import NO_NUMBERS, Mark, patch
from engine.figures.clinic.pair import Form, Pair, Translate, side_color
from engine.figures.theme import Theme, escape, mix, number, text_width

DASHES = {"solid": "━", "dash": "╍", "dot": "┅", "dashdot": "╌"}
FEW = 24  # points, up to which each has a dot
LOG = N_("log scale")
OTHER = {"broken": "mended", "mended": "broken"}


def curves_spec(panel: Curves, *, theme: Theme, form: Form, translate: Translate) -> dict:
    """The figure as plotly.js reads it."""
    quantity = f"{translate(panel.quantity)} ({translate(LOG)})" if panel.log else translate(panel.quantity)
    words = form.head(quantity)
    head = words + (1.9 * form.note if named(panel) else 0.4 * form.note)
    pair = Pair(form, theme, translate, head + form.height + 3.9 * form.note, wrapped=form.wraps(quantity))
    axes = Axes.over(panel, form)
    for side, curves in (("broken", panel.broken), ("mended", panel.mended)):
        x, y = pair.origin(side)
        box = Box(x + 4.3 * form.note, y + head, x + form.slot - form.note, y + head + form.height)
        pair.title(side, quantity)
        frame(pair, axes, box, translate(panel.over))
        if len(panel.broken) == len(panel.mended) == 1:
            (ghost,) = getattr(panel, OTHER[side])
            faint = mix(theme.ground, side_color(theme, OTHER[side]), 0.45)
            stroke(pair, axes, box, ghost, faint, "solid", 1.2)
        for curve, dash in zip(curves, [*DASHES] * len(curves), strict=False):
            missing(pair, axes, box, curve)
            stroke(pair, axes, box, curve, side_color(theme, side), dash, 2.4)
        if named(panel):
            legend(pair, x, y + words + 0.5 * form.note, curves, side_color(theme, side))
    return pair.spec()


def named(panel: Curves) -> bool:
    return any(curve.label for curve in (*panel.broken, *panel.mended))


@dataclass(frozen=True)
class Box:
    """Where the axes stand."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Axes:
    """x, y: lowest and highest value; of a logarithmic axis their powers of ten. Ticks lie within."""

    x: tuple[float, float]
    y: tuple[float, float]
    log: bool
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]

    @classmethod
    def over(cls, panel: Curves, form: Form) -> Axes:
        """Axes on which all curves of both listings lie."""
        curves = (*panel.broken, *panel.mended)
        at = finite(np.concatenate([np.zeros(0), *(curve.at for curve in curves)]))
        values = finite(np.concatenate([np.zeros(0), *(curve.values for curve in curves)]))
        x = (float(at.min()), float(at.max())) if at.size and at.min() < at.max() else (0.0, 1.0)
        x_ticks = ticks(*x, 6 if form.beside else 4)
        if panel.log:
            y = decades(values)
            powers = range(int(y[0]), int(y[1]) + 1)
            every = -(-len(powers) // 5)
            return cls(x, y, True, x_ticks, tuple(10.0**power for power in powers[::every]))
        y = padded(values)
        return cls(x, y, False, x_ticks, ticks(*y, 6))

    def place(self, box: Box, at: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """In pixels; NaN for what has no place."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.log10(np.where(values > 0, values, np.nan)) if self.log else values
        shown = np.where(np.isfinite(shown), shown, np.nan)
        xs = box.left + (at - self.x[0]) / (self.x[1] - self.x[0]) * (box.right - box.left)
        ys = box.bottom - (shown - self.y[0]) / (self.y[1] - self.y[0]) * (box.bottom - box.top)
        return xs, ys


def finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def padded(values: np.ndarray) -> tuple[float, float]:
    """From 0, or what lies below it, to a little above the highest."""
    low, high = (min(0.0, float(values.min())), max(0.0, float(values.max()))) if values.size else (0.0, 1.0)
    room = 0.05 * (high - low) or 1.0
    return low - room if low < 0 else low, high + room


def decades(values: np.ndarray) -> tuple[float, float]:
    """The powers of ten around all positive values."""
    positive = values[values > 0]
    if not positive.size:
        return -1.0, 1.0
    low, high = math.floor(math.log10(positive.min())), math.ceil(math.log10(positive.max()))
    return float(low), float(max(high, low + 1))


def frame(pair: Pair, axes: Axes, box: Box, over: str) -> None:
    """Lines of the ticks, their numbers, and what the horizontal axis is."""
    theme, note = pair.theme, pair.form.note
    for tick in axes.y_ticks:
        (y,) = axes.place(box, np.array([axes.x[0]]), np.array([tick]))[1]
        pair.line([box.left, box.right], [float(y)] * 2, theme.rule)
        pair.write(box.left - 7, float(y), said(tick), note, theme.muted, "right")
    pair.line([box.left, box.right], [box.bottom] * 2, theme.hatch)
    for tick in axes.x_ticks:
        (x,) = axes.place(box, np.array([tick]), np.array([1.0]))[0]
        pair.line([float(x)] * 2, [box.bottom, box.bottom + 4], theme.hatch)
        pair.write(float(x), box.bottom + 1.15 * note, said(tick), note, theme.muted, "center")
    pair.write(box.right, box.bottom + 2.6 * note, escape(over), note, theme.muted, "right")


def stroke(pair: Pair, axes: Axes, box: Box, curve: Curve, color: str, dash: str, width: float) -> None:
    xs, ys = axes.place(box, curve.at, curve.values)
    dots = (
        {"mode": "lines+markers", "marker": {"color": color, "size": 2.6 * width}} if len(xs) <= FEW else {}
    )
    words = [
        f"{escape(pair.translate(curve.label))} {said(float(at))}: {number(float(value), 4)}".strip()
        for at, value in zip(curve.at, curve.values, strict=True)
    ]
    pair.line(
        rounded(xs), rounded(ys), color, width, dash, customdata=words, hoverinfo="text",
        hovertemplate="%{customdata}<extra></extra>", connectgaps=False, **dots,
    )  # fmt: skip


def rounded(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 1) for value in values]


def missing(pair: Pair, axes: Axes, box: Box, curve: Curve) -> None:
    """A hatched band where values are no numbers."""
    for mark in NO_NUMBERS:
        where = np.flatnonzero(mark.found(curve.values))
        if not where.size:
            continue
        xs = axes.place(box, curve.at[[where[0], where[-1]]].astype(float), np.ones(2))[0]
        left, right = max(box.left, float(xs[0]) - 4), min(box.right, float(xs[1]) + 4)
        patch(pair, {"x": [left, right, right, left], "y": [box.top, box.top, box.bottom, box.bottom]}, mark)
        band_word(pair, mark, curve, where, (left + right) / 2, box)


def band_word(pair: Pair, mark: Mark, curve: Curve, where: np.ndarray, x: float, box: Box) -> None:
    """What the band is, on paper of its own."""
    word = f"<b>{number(float(curve.values[where[0]]))}</b>"
    half = 0.5 * pair.form.title * text_width(word) * 0.6
    x = min(max(x, box.left + half), box.right - half)
    pair.write(
        x, (box.top + box.bottom) / 2, word, pair.form.title, getattr(pair.theme, mark.role), "center",
        bgcolor=pair.theme.ground, borderpad=3,
    )  # fmt: skip


def legend(pair: Pair, x: float, y: float, curves: Sequence[Curve], color: str) -> None:
    items = zip(curves, [*DASHES.values()] * len(curves), strict=False)
    words = [
        f"<span style='color:{color}'>{sign}</span> {escape(pair.translate(curve.label))}"
        for curve, sign in items
    ]
    pair.write(x, y, "   ".join(words), pair.form.note, pair.theme.muted)
