"""One example of a task: what is read, what is to be written, and where the answer stands."""

from __future__ import annotations

from dataclasses import dataclass

Image = tuple[tuple[float, ...], ...]  # rows of brightness, top row first


@dataclass(frozen=True)
class Example:
    """A source, its right target, and for each token of the target where its answer stands.

    source: a text, or an image as rows of numbers.
    alignment: one set of positions for each token of the target, in tokens of the source (of the target itself
        where a task is a stretch of text and has no source). An empty set means that no position holds the
        answer, such as for the hyphens of a date: that token is not scored. () where a task knows no alignment.
        Specials are not counted: the first token of a text has position 0.
    group: what results are broken down by (the locale of a date); "" where there is nothing to break down.
    """

    source: str | Image
    target: str
    alignment: tuple[frozenset[int], ...] = ()
    group: str = ""

    @property
    def text(self) -> str:
        """The source of a task that reads text."""
        assert isinstance(self.source, str)
        return self.source
