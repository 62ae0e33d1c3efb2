"""What the parts of an animated figure share: the drawing they belong to, and how steps become frames.

A part of the figure is a function from a step's index to a trace, as a plain dict. Played step after step it gives
the animation; what it never changes is sent once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from engine.analysis.head_walk import HeadWalk
from engine.figures.beats import Step, Translate
from engine.figures.sheet import Sheet
from engine.figures.theme import Theme, mix

CLEAR = "#0000"
ROUNDED = 20  # side in pixels from which a cell has rounded corners, which its outline gives it

Trace = dict[str, Any]
Part = Callable[[int], Trace]


@dataclass(frozen=True)
class Drawing:
    """One walk on one sheet: what every part of the ledger is drawn from."""

    walk: HeadWalk
    sheet: Sheet
    theme: Theme
    steps: tuple[Step, ...]
    translate: Translate

    @property
    def lit(self) -> str:
        """The ground of the column in focus."""
        return mix(self.theme.ground, self.theme.accent, 0.09)

    @cached_property
    def beats(self) -> list[int]:
        """The beat of each step."""
        return [step.beat for step in self.steps]

    @cached_property
    def _steps(self) -> dict[str, int]:
        return {step.name: index for index, step in enumerate(self.steps)}

    def at(self, name: str) -> int:
        """Index of the step called `name`."""
        return self._steps[name]

    def first(self, beat: int) -> int:
        """Index of the first stroke of a beat."""
        return self.beats.index(beat)


def still(trace: Trace) -> Part:
    """A part that no step changes."""
    return lambda step: trace


def each(values: list) -> Any:
    """A property of each point; said once when it is the same for all."""
    return values[0] if values and all(value == values[0] for value in values) else values


def changes(states: Sequence[Trace]) -> list[Trace]:
    """Of each state only what differs somewhere among the states: `[{}, {}]` when nothing moves."""
    distinct = {id(state): state for state in states}
    if len(distinct) < len(states):
        known = dict(zip(distinct, changes([*distinct.values()]), strict=True))
        return [known[id(state)] for state in states]
    result: list[Trace] = [{} for _ in states]
    for name, first in states[0].items():
        values = [state[name] for state in states]
        if isinstance(first, dict):
            values = changes(values)
            moves = any(values)
        else:
            moves = any(value is not first and not same(first, value) for value in values)
        if moves:
            for state, value in zip(result, values, strict=True):
                state[name] = value
    return result


def square(side: float, gap: float, fill: list[str], opacity: float | list[float]) -> Trace:
    """The marker of square cells that stand `side` apart; a stroke of their colour rounds large ones."""
    edge = 4 if side >= ROUNDED else 0
    outline = {"line": {"width": edge, "color": fill}} if edge else {}
    return {
        "symbol": "square",
        "size": round(side - gap - edge, 1),
        "color": fill,
        "opacity": opacity,
        **outline,
    }


def same(a: Any, b: Any) -> bool:
    return np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else bool(a == b)
