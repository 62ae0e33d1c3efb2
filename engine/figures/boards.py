"""The geometry of a sheet of panels, in its own pixels: rows of equal slots, each with room for a title and numbers.

Like every sheet it is drawn at its own size and scaled as a whole to its room on screen.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """x0, y0: where its words begin; left, top, right, bottom: its axes. y grows downwards."""

    x0: float
    y0: float
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Board:
    """panel: height of a slot; title, note: sizes of words; names: room for the names of rows at its left.

    head: room on top for words that belong to all panels.
    """

    name: str
    width: int
    columns: int
    panel: int
    title: float
    note: float
    names: int
    gap: int = 26
    head: int = 0

    def height(self, count: int) -> int:
        return self.head + self.panel * -(-count // self.columns)

    def slot(self, index: int, names: float | None = None) -> Slot:
        """The slot of that number, row by row. names: room at the left in place of that for numbers."""
        row, column = divmod(index, self.columns)
        width = (self.width - self.gap * (self.columns - 1)) / self.columns
        x0, y0 = column * (width + self.gap), self.head + row * self.panel
        left = x0 + (3.9 * self.note if names is None else names)
        top, bottom = y0 + 3.1 * self.title + 4, y0 + self.panel - 2.1 * self.note
        return Slot(x0, y0, left, top, x0 + width - 2.2 * self.note, bottom)


BOARDS = {
    "wide": Board("wide", 880, 3, 172, title=13.5, note=11.5, names=78),
    "talk": Board("talk", 880, 1, 390, title=28, note=24, names=170),
    "narrow": Board("narrow", 358, 1, 172, title=13.5, note=11.5, names=78),
}
