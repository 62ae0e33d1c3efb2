"""Lines of a run's curves as plain arrays: what was measured after which step, as it was measured or as a running mean.

Of a long line, stretches are told by their lowest and their highest point, so that no peak is lost. Axes: point, layer,
step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from engine.analysis.running_mean import running_mean
from engine.training.runs.metrics import Metrics, Record

POINTS = 600  # of a line; more could not be told apart on screen
Mark = Literal["batch", "held_out", "written", "head", "best"]
Source = Literal["steps", "evaluations"]


@dataclass(frozen=True, eq=False)
class Line:
    """mark: what of a run it is. run: whose it is, counted from 0, and label: what tells it from the others.

    half_life: of the running mean that it is, in steps; None for the values as they were measured.
    """

    label: str
    mark: Mark
    steps: np.ndarray  # (point,) int64, rising
    values: np.ndarray  # (point,) float64
    run: int = 0
    half_life: float | None = None

    def __post_init__(self) -> None:
        assert self.steps.shape == self.values.shape


@dataclass(frozen=True)
class Panel:
    """The lines of one quantity over the steps 0 to `until`."""

    quantity: str
    lines: tuple[Line, ...]
    until: int


@dataclass(frozen=True, eq=False)
class LayerMap:
    """One quantity of each layer over the steps 0 to `until`; NaN where a layer had none."""

    quantity: str
    layers: tuple[str, ...]
    steps: np.ndarray  # (step,)
    values: np.ndarray  # (layer, step)
    until: int

    def __post_init__(self) -> None:
        assert self.values.shape == (len(self.layers), len(self.steps))


def line(
    metrics: Metrics,
    path: str,
    mark: Mark,
    *,
    source: Source = "steps",
    label: str = "",
    run: int = 0,
    half_life: float | None = None,
) -> Line:
    """What stands under `path` ("loss", "evaluation.alignment.share") wherever it is a number."""
    steps, values = measured(metrics, path, source)
    if half_life is not None:
        values = running_mean(steps, values, half_life)
    return Line(label, mark, *thinned(steps, values), run, half_life)


def measured(metrics: Metrics, path: str, source: Source) -> tuple[np.ndarray, np.ndarray]:
    """(point,) steps, and what was measured after them."""
    found = [(record["step"], number) for record in getattr(metrics, source)
             if (number := number_at(record, path)) is not None]  # fmt: skip
    return np.array([step for step, _ in found], dtype=np.int64), np.array([v for _, v in found], float)


def number_at(record: Record, path: str) -> float | None:
    """None where there is nothing, or no number. A path goes down by names, or by places in a list."""
    value: Any = record
    for name in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def thinned(steps: np.ndarray, values: np.ndarray, limit: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most about `limit` points: of equal stretches the lowest and the highest, in their order; the ends stay."""
    if len(steps) <= limit:
        return steps, values
    kept = {0, len(steps) - 1}
    for stretch in np.array_split(np.arange(len(steps)), limit // 2):
        kept |= {int(stretch[values[stretch].argmin()]), int(stretch[values[stretch].argmax()])}
    chosen = sorted(kept)
    return steps[chosen], values[chosen]
