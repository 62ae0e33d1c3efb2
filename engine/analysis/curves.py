"""The curves of runs, one panel a quantity: of one run, or of several side by side. A panel holds the lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.analysis.lines import LayerMap, Line, Mark, Panel, Source, line, thinned
from engine.training.runs.metrics import Metrics

COLUMNS = 200  # of a map


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


def overlaid(
    quantity: str, runs: Sequence[tuple[str, Metrics]], until: int, half_life: float | None = None
) -> Panel:
    """One quantity of several runs, each line by its run's label.

    half_life: also the running mean of what was measured at each step; what was measured now and then stays as it is.
    """
    mark, source, path = OVERLAID[quantity]
    ways = [None] if half_life is None or source == "evaluations" else [None, half_life]
    lines = [
        line(metrics, path, mark, source=source, label=label, run=number, half_life=way)
        for way in ways  # means are drawn over what was measured
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
