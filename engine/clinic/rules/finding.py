"""What a rule is given of a run, and what it finds. Plain values; a screen says the sentences in its own language.

Axes: step (those that were recorded), evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from engine.analysis.lines import number_at
from engine.clinic.rules.guessing import Guessing
from engine.config import AtlasError
from engine.training.runs.folder import RunConfig
from engine.training.runs.metrics import Metrics
from engine.training.runs.status import Status

NEAR = 20  # steps whose mean stands for a place of a curve, since single batches differ
CLEARLY = 0.97  # a stack that stays at chance was seen within 1 %, one that learns 10 % below in 100 steps

Kind = Literal["wrong", "note"]
Needs = Literal["settings", "steps", "evaluations", "layers"]


@dataclass(frozen=True)
class Told:
    """A run as far as it is known: its settings, how it stands, its curves, and what guessing would cost."""

    config: RunConfig
    status: Status
    metrics: Metrics
    guessing: Guessing = field(default_factory=Guessing)

    @cached_property
    def steps(self) -> np.ndarray:
        """(step,) numbers of the steps."""
        return np.array([record["step"] for record in self.metrics.steps], dtype=np.int64)

    @cached_property
    def losses(self) -> np.ndarray:
        """(step,) of each batch, label smoothing included; NaN where there was none."""
        return self.over_steps("loss")

    def over_steps(self, name: str) -> np.ndarray:
        """(step,) what stands under that name, NaN where there is no number."""
        return _numbers(self.metrics.steps, name)

    @cached_property
    def evaluated(self) -> np.ndarray:
        """(evaluation,) after which steps held-out examples were looked at."""
        return np.array([record["step"] for record in self.metrics.evaluations], dtype=np.int64)

    def over_evaluations(self, name: str) -> np.ndarray:
        """(evaluation,) the same of held-out examples."""
        return _numbers(self.metrics.evaluations, f"evaluation.{name}")

    def around(self, step: int) -> float:
        """Mean loss of the steps up to that one, as many as NEAR; NaN before there are any."""
        end = int(np.searchsorted(self.steps, step, side="right"))
        near = self.losses[max(0, end - NEAR) : end]
        return float(near.mean()) if len(near) else float("nan")

    @property
    def last(self) -> int:
        """The last step that is known, 0 before the first."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def latest(self) -> dict[str, Any]:
        """The latest evaluation; empty before there is one."""
        return self.metrics.evaluations[-1]["evaluation"] if self.metrics.evaluations else {}

    @cached_property
    def below_chance(self) -> bool:
        """Whether the loss has ever been clearly lower than what guessing costs."""
        return self.below(CLEARLY)

    def below(self, share: float) -> bool:
        """Whether it has been lower than that share of it, by the mean of some steps or held out."""
        lowest = [
            value
            for value in (self._lowest_mean, _lowest(self.over_evaluations("loss")))
            if value is not None
        ]
        return bool(lowest) and self.guessing.known and min(lowest) < share * self.guessing.cost

    @cached_property
    def _lowest_mean(self) -> float | None:
        if len(self.losses) < NEAR:
            return None
        return _lowest(np.convolve(self.losses, np.full(NEAR, 1 / NEAR), mode="valid"))


def _numbers(records: list[dict[str, Any]], path: str) -> np.ndarray:
    found = [number_at(record, path) for record in records]
    return np.array([np.nan if value is None else value for value in found], dtype=float)


def _lowest(values: np.ndarray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.min()) if len(finite) else None


@dataclass(frozen=True)
class Finding:
    """said: one sentence with the run's own numbers. kind: something is wrong, or only worth knowing.

    curve: on which quantity it shows, at which step; limit: where the line was drawn, and whence it is known.
    cases: those of the Clinic that show the like, the nearest first.
    """

    rule: str
    kind: Kind
    said: AtlasError
    curve: str
    step: int
    limit: AtlasError
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """One thing to look for. about: what is looked at, in some words; needs: what must be known of a run for that."""

    name: str
    about: str
    needs: Needs
    look: Callable[[Told], Finding | None]

    def can_look(self, told: Told) -> bool:
        return {
            "settings": lambda: True,
            "steps": lambda: len(told.steps) > 0,
            "evaluations": lambda: len(told.evaluated) > 0,
            "layers": lambda: any("update_ratios" in record for record in told.metrics.steps),
        }[self.needs]()
