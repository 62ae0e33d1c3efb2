"""The curves of runs as plain arrays: what was measured after which step, of one run or of several side by side.

A panel holds the lines of one quantity. Nothing is smoothed here; of a long line, stretches are told by their lowest
and their highest point, so that no peak is lost. Axes: point, layer, step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from engine.training.runs.metrics import Metrics, Record

POINTS = 600  # of a line; more could not be told apart on screen
COLUMNS = 200  # of a map
Mark = Literal["batch", "held_out", "written", "head", "best"]
Source = Literal["steps", "evaluations"]


@dataclass(frozen=True, eq=False)
class Line:
    """mark: what of a run it is. run: whose it is, counted from 0, and label: what tells it from the others."""

    label: str
    mark: Mark
    steps: np.ndarray  # (point,) int64, rising
    values: np.ndarray  # (point,) float64
    run: int = 0

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
    metrics: Metrics, path: str, mark: Mark, *, source: Source = "steps", label: str = "", run: int = 0
) -> Line:
    """What stands under `path` ("loss", "evaluation.alignment.share") wherever it is a number."""
    found = [(record["step"], number) for record in getattr(metrics, source)
             if (number := number_at(record, path)) is not None]  # fmt: skip
    steps, values = (
        np.array([step for step, _ in found], dtype=np.int64),
        np.array([v for _, v in found], float),
    )
    return Line(label, mark, *thinned(steps, values), run)


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


def losses(metrics: Metrics, until: int) -> Panel:
    """Of each batch, label smoothing included, and held out, without."""
    held_out = line(metrics, "evaluation.loss", "held_out", source="evaluations")
    return Panel("loss", (line(metrics, "loss", "batch"), held_out), until)


def right(metrics: Metrics, until: int) -> Panel:
    """Shares of tokens that are the likeliest, given those before; and of examples written without a mistake."""
    held_out, exact = (
        line(metrics, f"evaluation.{name}", mark, source="evaluations") for name, mark in HELD_OUT.items()
    )
    return Panel("right", (line(metrics, "accuracy", "batch"), held_out, exact), until)


HELD_OUT: dict[str, Mark] = {"accuracy": "held_out", "exact": "written"}


def heads(metrics: Metrics, until: int) -> Panel:
    """Where a task knows the true places, for each head the share of tokens that it reads most from one; else its
    entropy. The head that is best now is marked so.
    """
    last = metrics.evaluations[-1]["evaluation"] if metrics.evaluations else {}
    known = last.get("alignment") or {}
    quantity, part = ("alignment", "alignment.shares") if known else ("entropy", "entropy")
    sites = known.get("shares") or last.get("entropy") or {}
    best = (known.get("site"), known.get("head"))
    lines = [
        _head(metrics, part, site, head, "best" if (site, head) == best else "head")
        for site, values in sites.items()
        for head in range(len(values))
    ]
    lines.sort(key=lambda one: one.mark == "best")  # the last is drawn over the others
    return Panel(quantity, tuple(lines), until)


def _head(metrics: Metrics, part: str, site: str, head: int, mark: Mark) -> Line:
    """A site's name has dots, so it is no part of a path."""
    found = []
    for record in metrics.evaluations:
        holder: Any = record["evaluation"]
        for name in part.split("."):
            holder = (holder or {}).get(name)
        values = (holder or {}).get(site) or []
        if head < len(values):
            found.append((record["step"], values[head]))
    steps = np.array([step for step, _ in found], dtype=np.int64)
    return Line(f"{site}.{head}", mark, *thinned(steps, np.array([value for _, value in found], float)))


def learning_rates(metrics: Metrics, until: int) -> Panel:
    return Panel("learning_rate", (line(metrics, "learning_rate", "batch"),), until)


def gradient_norms(metrics: Metrics, until: int) -> Panel:
    return Panel("gradient_norm", (line(metrics, "gradient_norm", "batch"),), until)


def by_layer(metrics: Metrics, name: str, until: int) -> LayerMap:
    """`gradient_norms` or `update_ratios` of the steps that were looked at; of very many every so many."""
    looked = [record for record in metrics.steps if isinstance(record.get(name), Mapping)]
    looked = looked[:: -(-len(looked) // COLUMNS) or 1]
    layers = tuple(looked[-1][name]) if looked else ()
    values = [[record[name].get(layer, np.nan) for record in looked] for layer in layers]
    steps = np.array([record["step"] for record in looked], dtype=np.int64)
    return LayerMap(name, layers, steps, np.array(values, float).reshape(len(layers), len(steps)), until)


def overlaid(quantity: str, runs: Sequence[tuple[str, Metrics]], until: int) -> Panel:
    """One quantity of several runs, each line by its run's label."""
    mark, source, path = OVERLAID[quantity]
    lines = [
        line(metrics, path, mark, source=source, label=label, run=number)
        for number, (label, metrics) in enumerate(runs)
    ]
    return Panel(quantity, tuple(lines), until)


OVERLAID: dict[str, tuple[Mark, Source, str]] = {
    "loss": ("batch", "steps", "loss"),
    "held_out_loss": ("held_out", "evaluations", "evaluation.loss"),
    "exact": ("written", "evaluations", "evaluation.exact"),
    "accuracy": ("held_out", "evaluations", "evaluation.accuracy"),
    "alignment": ("best", "evaluations", "evaluation.alignment.share"),
    "learning_rate": ("batch", "steps", "learning_rate"),
    "gradient_norm": ("batch", "steps", "gradient_norm"),
}
