"""The two strokes in which a core makes weights of a row of masked scores: nothing negative first, then a division.

Axis: key. Each function is one of the cores of engine.model.attention, written out for one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Strokes:
    """weights = positive / divisor. top: what was taken from each score before."""

    top: float
    positive: np.ndarray  # (key,)
    divisor: float


def softmax(masked: np.ndarray) -> Strokes:
    """exp(score - top), divided by their sum; top is the largest, 0 where nothing is in sight."""
    top = float(np.max(masked)) if np.isfinite(masked).any() else 0.0
    positive = np.exp(masked - top)
    return Strokes(top, positive, float(positive.sum()))


def relu(masked: np.ndarray) -> Strokes:
    """max(score, 0), divided by the number of keys in sight, at least 1 (Wortsman et al. 2023)."""
    return Strokes(0.0, np.maximum(masked, 0.0), float(max(1, np.isfinite(masked).sum())))


STROKES: dict[str, Callable[[np.ndarray], Strokes]] = {"softmax": softmax, "relu": relu}
