"""One example of a task: what is read, what is to be written, and where the answer stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A source text, its right target, and for each target character where its answer stands in the source.

    alignment: one set of source positions for each target character (code points); an empty set means that
        no position holds the answer, such as for the hyphens of a date, and the character is not scored.
    group: what results are broken down by (the locale of a date).
    """

    source: str
    target: str
    alignment: tuple[frozenset[int], ...]
    group: str

    def __post_init__(self) -> None:
        assert len(self.alignment) == len(self.target)
