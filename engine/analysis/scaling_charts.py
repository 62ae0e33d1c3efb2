"""What `scaling` counts, told as charts: without the scale beside with it, measured beside what follows by a formula.

Axes: query, key, width (of a head), divisor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from engine.analysis.charts import Chart, Mark, Matrix, Series
from engine.analysis.scaling import Decided, HeadScores, OverWidths
from engine.config import N_

BARE, SCALED = N_("q · k"), N_("q · k / √d_k")
WITHOUT, AS_TRAINED, AS_CHOSEN = N_("Without the scale"), N_("As the model has it"), N_("As you have it")
BINS = 41
DIVISORS = np.geomspace(0.05, 64, 57)  # over the model's own


def spread(dots: np.ndarray, d_k: int) -> Chart:
    """How dot products (query, key) spread, and where a normal distribution of their variance would have them."""
    widest = 4 * math.sqrt(d_k)
    edges = np.linspace(-widest, widest, BINS + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    scaled = dots / math.sqrt(d_k)
    return Chart(
        N_("How scores spread: share per unit"),
        N_("score"),
        (
            Series(BARE, middles, density(dots, edges), 1, "bars"),
            Series(SCALED, middles, density(scaled, edges), 0, "bars"),
            Series("", middles, normal(middles, d_k), 1, "theory"),
        ),
    )


def density(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(bin,) share of the values in each bin, over the bin's width; what lies outside counts among all."""
    return np.histogram(values, edges)[0] / values.size / np.diff(edges)


def normal(at: np.ndarray, variance: float) -> np.ndarray:
    """The density of a normal distribution of mean 0."""
    return np.exp(-(at**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def over_width(found: OverWidths, d_k: int) -> list[Chart]:
    """What becomes of variance, entropy, saturation and the softmax's derivative as heads grow wider."""
    at, here = np.array(found.widths, float), (Mark(d_k, ""),)
    variance = np.array(found.variance)

    def both(title: str, of: Callable[[Decided], float]) -> Chart:
        bare, scaled = (np.array([of(one) for one in rows]) for rows in (found.bare, found.scaled))
        series = (Series(BARE, at, bare, 1), Series(SCALED, at, scaled, 0))
        return Chart(title, "d_k", series, log="x", share=True, marks=here)

    return [
        Chart(
            N_("Variance of a score"), "d_k",
            (
                Series(BARE, at, variance, 1), Series(SCALED, at, variance / at, 0),
                Series(N_("d_k"), at, at, 1, "theory"),
            ),
            log="xy", marks=here,
        ),
        both(N_("Entropy, of the most there can be"), lambda one: one.entropy),
        both(N_("Largest weight of a row, on average"), lambda one: one.largest),
        both(N_("Share of rows with a weight over 0.99"), lambda one: one.saturated),
        both(N_("Trace of the softmax's Jacobian"), lambda one: one.jacobian),
    ]  # fmt: skip


def of_head(
    head: HeadScores, divisor: float, words: tuple[Sequence[str], Sequence[str]]
) -> tuple[list[Matrix], Chart]:
    """A head's weights without its scale, with it, and with another divisor; and how decided they are over many.

    words: of the queries, and of the keys.
    """
    rows, columns = (tuple(one) for one in words)
    shown = ((WITHOUT, 1.0), (AS_TRAINED, head.divisor), (AS_CHOSEN, divisor))
    matrices = [
        Matrix(title, head.weights(by), head.visible, rows, columns, remark=f"÷ {by:.3g}")
        for title, by in shown
    ]
    at = np.unique(np.append(DIVISORS * head.divisor, 1.0))
    found = head.over_divisors(at)
    series = (
        Series(N_("entropy"), at, np.array([one.entropy for one in found]), 0),
        Series(N_("largest weight"), at, np.array([one.largest for one in found]), 1),
    )
    known = {
        1.0: N_("none"),
        divisor: N_("yours"),
        head.divisor: N_("the model's"),
    }  # of equal ones the last name holds
    marks = tuple(Mark(at, label) for at, label in known.items())
    decided = Chart(N_("How decided its rows are"), N_("divisor"), series, log="x", share=True, marks=marks)
    return matrices, decided
