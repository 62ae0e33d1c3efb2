"""The sheet of attention over training time: one head through all moments, where its matrix and its tracks stand.

The axis of time is even at first and then that of the logarithm of steps, as the snapshots are spaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.analysis.over_time import Look, OverTime
from engine.figures.glance import Plate
from engine.figures.grid import Grid
from engine.figures.theme import Theme

Translate = Callable[[str], str]
Track = tuple[str, np.ndarray]  # a quantity and its values, (moment, head)
FOLLOWED = ("true_place", "repeats", "previous", "entropy")  # more would leave each too low to be read
EVEN = 40  # the axis of time is about even up to this part of all steps


@dataclass(frozen=True)
class Form:
    """The sheet: plate for the matrix; x0, x1: of the axis of time; y0, y1: of the tracks; title, note: sizes."""

    plate: Plate
    width: int
    height: int
    x0: float
    x1: float
    y0: float
    y1: float
    title: float
    note: float


FORMS = {
    "wide": Form(Plate("wide", 440, 440, 14, 64, 50, 44), 1216, 444, 540, 1196, 4, 410, title=13, note=11),
    "talk": Form(Plate("talk", 690, 690, 34, 130, 80, 76), 1856, 696, 860, 1820, 4, 640, title=27, note=22),
    "narrow": Form(Plate("narrow", 358, 358, 12, 50, 46, 28), 358, 810, 40, 346, 384, 770, title=13, note=11),
}


@dataclass(frozen=True)
class Play:
    """One head of one kind of attention through all moments, on one sheet."""

    info: OverTime
    kind: str
    head: int  # among those of all layers
    theme: Theme
    form: Form
    translate: Translate

    @property
    def look(self) -> Look:
        return self.info.looks[self.kind]

    @cached_property
    def tracks(self) -> list[Track]:
        """The loss where there is one, then the scores of this attention that are followed over time."""
        loss = [("loss", self.info.loss[:, None])] if np.isfinite(self.info.loss).all() else []
        return [*loss, *(track for track in self.look.scores.items() if track[0] in FOLLOWED)]

    @cached_property
    def xs(self) -> np.ndarray:
        """(moment,) where each stands on the axis."""
        return self.x(self.info.steps)

    def x(self, steps: np.ndarray | Sequence[int]) -> np.ndarray:
        form, last = self.form, max(1, int(self.info.steps[-1]))
        knee = max(1.0, last / EVEN)
        return form.x0 + (form.x1 - form.x0) * np.log1p(np.asarray(steps, float) / knee) / math.log1p(
            last / knee
        )

    def box(self, track: int) -> tuple[float, float]:
        """Top and bottom of a track's curves."""
        form = self.form
        each = (form.y1 - form.y0) / len(self.tracks)
        return form.y0 + each * track + form.title * 1.9, form.y0 + each * (track + 1) - form.note * 0.9

    def top(self, track: int) -> float:
        """The value at the upper edge: 1 of shares and weights."""
        name, values = self.tracks[track]
        return max(float(values.max()), 1e-9) if name in ("loss", "entropy") else 1.0

    def y(self, track: int, values: np.ndarray) -> np.ndarray:
        upper, lower = self.box(track)
        return lower - (lower - upper) * values / self.top(track)

    def own(self, track: int) -> int:
        """The column of the head that is shown."""
        return self.head if self.tracks[track][1].shape[1] > 1 else 0

    @cached_property
    def grid(self) -> Grid:
        plate, (rows, columns) = self.form.plate, self.look.weights.shape[2:]
        side = min(plate.side, (plate.width - plate.left) / columns, (plate.height - plate.top) / rows)
        return Grid(plate.left + side * np.arange(columns + 1), plate.top + side * np.arange(rows + 1), side)
