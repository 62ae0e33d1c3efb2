"""A line made calmer, for the eye alone: the mean of what was measured so far, where what is older counts less.

A value that lies `half_life` steps back counts half. The weights are divided by their sum, so that the mean is one from
its first point on and is not drawn towards zero (the bias correction of Kingma & Ba 2015, for steps of any distance).
"""

from __future__ import annotations

import numpy as np


def running_mean(steps: np.ndarray, values: np.ndarray, half_life: float) -> np.ndarray:
    """(point,) for (point,). steps: rising; half_life: in steps, above 0. What is no number is passed over."""
    assert steps.shape == values.shape
    assert half_life > 0
    told = np.zeros(len(values))
    total = weight = 0.0
    kept = 0.5 ** (np.diff(steps, prepend=steps[:1]) / half_life)
    for at, value in enumerate(values.tolist()):
        total, weight = total * kept[at], weight * kept[at]
        if np.isfinite(value):
            total, weight = total + value, weight + 1.0
        told[at] = total / weight if weight else np.nan
    return told


def usual_half_life(until: int) -> int:
    """A round number of steps, at most a fortieth of a run: it calms a line and does not hide its shape."""
    most = max(1.0, until / 40)
    power = 10 ** int(np.log10(most))
    return max(step for step in (power, 2 * power, 5 * power) if step <= most)
