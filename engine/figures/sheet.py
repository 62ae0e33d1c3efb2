"""The geometry of the ledger: one column a key token, one lane a beat, all in pixels of the sheet.

A sheet is drawn at its own size and scaled as a whole to the room on screen, so that text and cells keep their
proportions. Three formats: wide (a laptop), talk (a projector) and narrow (a phone, which scrolls sideways).
y grows downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.figures.theme import text_width

EM = 0.53  # width of a digit, as a share of its size


@dataclass(frozen=True)
class Format:
    """Sizes in pixels of the sheet. `aside` is the width of the matrix block, `min_column` makes it scroll sideways."""

    name: str
    width: int
    height: int
    label: int
    sigma: int
    aside: int
    token: float
    cell: float
    title: float
    note: float
    gap: float
    strip_share: float = 1.0
    remarks: bool = True
    min_column: float = 0
    max_column: float = 170
    labels_above: bool = False


WIDE = Format(
    "wide", 1216, 453, label=122, sigma=84, aside=300, token=14, cell=11, title=13, note=10.5, gap=6
)
TALK = Format(
    "talk", 1856, 770, label=196, sigma=176, aside=0, token=36.6, cell=28.5, title=26, note=18, gap=6,
    strip_share=0.72, remarks=False, max_column=320,
)  # fmt: skip
NARROW = Format(
    "narrow", 358, 720, label=0, sigma=64, aside=340, token=12, cell=10.5, title=12, note=10, gap=5,
    min_column=42, labels_above=True, remarks=False,
)  # fmt: skip

FORMATS: dict[str, Format] = {"wide": WIDE, "talk": TALK, "narrow": NARROW}


@dataclass(frozen=True)
class Box:
    """A rectangle: left, top, right, bottom."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def x(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def y(self) -> float:
        return (self.y0 + self.y1) / 2

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0


@dataclass(frozen=True)
class Sheet:
    """Where everything stands. `columns` and `query` span the whole ledger's height; `lanes` its width."""

    format: Format
    width: float
    height: float
    columns: tuple[Box, ...]
    query: Box
    lanes: dict[str, Box]
    sigma: float
    aside: Box | None
    token: float
    tilted: bool

    @cached_property
    def cell(self) -> float:
        """Side of a square cell."""
        lane = min(box.height for name, box in self.lanes.items() if name in CELLS)
        return min(lane, min(column.width for column in self.columns) - 4)

    def text_size(self, characters: float) -> float:
        """Size of a cell's number: the format's, or what fits into the narrowest column."""
        narrowest = min(column.width for column in self.columns)
        return round(min(self.format.cell, (narrowest - 2) / (characters * EM)), 1)

    @cached_property
    def strip_width(self) -> float:
        """Width of every vector's strip, so that a vector looks the same wherever it appears."""
        narrowest = min(column.width for column in (*self.columns, self.query))
        return min(narrowest - 6, self.lanes["k"].height * 3.2)

    def strip(self, lane: str, column: Box) -> Box:
        """The rectangle of a vector's strip in a lane."""
        half = self.strip_width / 2
        return Box(column.x - half, self.lanes[lane].y0, column.x + half, self.lanes[lane].y1)


STRIPS = {"x": 0.85, "k": 1.0, "rotated": 1.0, "products": 1.0, "values": 1.15, "heads": 1.1}
CELLS = {"scores": 1.0, "scaled": 1.0, "biased": 1.0, "masked": 1.0, "positive": 1.0, "weights": 1.12}


def lay_out(form: Format, labels: Sequence[str], lanes: Sequence[str]) -> Sheet:
    """Place `labels` (the query's, then one a key) and `lanes` (top to bottom) on a sheet of the given format.

    Columns are equal while their tokens fit; then as wide as their tokens; then narrow, with tokens tilted unless they
    are so short that they still fit.
    """
    beside = 0 if form.labels_above else form.aside + (24 if form.aside else 0)
    widths, token, tilted = column_widths(form, labels, form.width - form.label - form.sigma - beside)
    header, bottom = form.token * (4.6 if tilted else 1.9), float(form.height)
    columns, x = [], float(form.label)
    for width in widths:
        columns.append(Box(x, 0, x + width, bottom))
        x += width
    width = max(form.width, x + form.sigma + beside)
    aside = Box(width - form.aside, 0, width, form.aside) if form.aside and not form.labels_above else None
    height = bottom
    if form.labels_above:
        aside, height = Box(0, bottom + 12, form.aside, bottom + 12 + form.aside), bottom + 24 + form.aside
    return Sheet(
        format=form, width=width, height=height, query=columns[0], columns=tuple(columns[1:]),
        lanes=lane_boxes(form, lanes, header, x + form.sigma), sigma=x + 8, aside=aside, token=token,
        tilted=tilted,
    )  # fmt: skip


def column_widths(form: Format, labels: Sequence[str], room: float) -> tuple[list[float], float, bool]:
    """Widths of the columns, the size of the tokens above them, and whether these are tilted."""
    equal = max(room / len(labels), form.min_column)
    for size in (form.token, form.token * 0.9, form.token * 0.8):
        natural = [max(text_width(label) * size + 8, form.cell * 3.3) for label in labels]
        if max(natural) <= equal:
            return [min(equal, form.max_column)] * len(labels), size, False
        if sum(natural) <= room:
            spare = (room - sum(natural)) / len(labels)
            return [width + spare for width in natural], size, False
    if (
        max(map(text_width, labels)) * form.token + 2 <= equal
    ):  # single letters stand where numbers get narrow
        return [equal] * len(labels), form.token, False
    return [equal] * len(labels), min(form.token, max(equal * 0.9, form.token * 0.8)), True


def lane_boxes(form: Format, lanes: Sequence[str], header: float, right: float) -> dict[str, Box]:
    """Share the height below the token row among the lanes by their weights."""
    label = form.title + 3 if form.labels_above else 0
    weights = {lane: CELLS.get(lane) or STRIPS[lane] * form.strip_share for lane in lanes}
    unit = (form.height - header - len(lanes) * (form.gap + label)) / sum(weights.values())
    unit = min(unit, 46 if form.name == "wide" else 90)
    boxes, y = {}, header
    for lane, weight in weights.items():
        y += label
        boxes[lane] = Box(form.label, y, right, y + weight * unit)
        y += weight * unit + form.gap
    return boxes


def strip_shape(d: int, box: Box) -> tuple[int, int]:
    """(rows, columns) of a strip that holds `d` numbers in reading order, its cells as square as divisors allow."""
    if d <= 8:
        return 1, d
    wanted = (d * box.height / max(box.width, 1)) ** 0.5
    rows = min((n for n in range(1, d + 1) if d % n == 0), key=lambda n: abs(n - wanted))
    return rows, d // rows
