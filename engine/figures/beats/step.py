"""Step: one stop of the walk, in words and signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Translate = Callable[[str], str]
Part = tuple[str, str]  # (text, role): role is "", "query", "key", "value", "weight" or "result"


@dataclass(frozen=True)
class Step:
    """One stop of the walk. `name` is the beat's number, with an `a` for the first of two strokes."""

    name: str
    short: str
    title: str
    sentence: str
    equation: tuple[Part, ...]
    lane: str  # the lane of the sheet it is about, or "matrix"
    taps: tuple[str, ...]  # the taps whose lines of source are lit

    @property
    def beat(self) -> int:
        return int(self.name.rstrip("a"))
