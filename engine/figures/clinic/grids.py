"""A matrix of both listings on one colour scale. What is no number and what may not be seen is hatched, never coloured:
but a hidden cell that was read all the same keeps its colour under the hatch, for that is what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.analysis.evidence import Grid
from engine.figures.clinic.marks import HIDDEN, INFINITE, NAN, ROW, Mark, hatched, legend, places
from engine.figures.clinic.pair import Form, Pair, Translate
from engine.figures.clinic.scale import Scale
from engine.figures.drawing import Trace
from engine.figures.grid import Grid as Place
from engine.figures.strips import typed
from engine.figures.theme import (
    MINUS,
    Theme,
    escape,
    number,
    shorten,
    text_width,
)

EM = 0.58  # width of a digit
SMALLEST = 8.0  # size of a number that can be read
MANY = 1600  # cells, from which none says its own value under the pointer


def grid_spec(grid: Grid, *, theme: Theme, form: Form, translate: Translate) -> dict:
    """The figure as plotly.js reads it."""
    cells, scale = Cells.of(grid, form), Scale.of(grid, theme)
    quantity = translate(grid.quantity)
    title = form.head(quantity)
    head = title + (1.5 * form.note if grid.axes else 0)
    drawn = {
        side: Matrix(getattr(grid, side), getattr(grid, f"hidden_{side}")) for side in ("broken", "mended")
    }
    found = [mark for mark in (HIDDEN, NAN, INFINITE) if any(one.marks[mark].any() for one in drawn.values())]
    rows = places(form, scale.width(form), found, translate)
    foot = (3.2 + ROW * max((row for row, _ in rows), default=0)) * form.note
    pair = Pair(form, theme, translate, head + cells.top + cells.tall, foot, form.wraps(quantity))
    for side, matrix in drawn.items():
        x, y = pair.origin(side)
        place = cells.place(x, y + head)
        pair.title(side, quantity, counted(matrix))
        colors(pair, matrix, scale, place)
        for mark, where in matrix.marks.items():
            hatched(pair, where, place, mark)
        if grid.axes:
            pair.write(
                x, y + title + 0.6 * form.note, axes_named(grid.axes, translate), form.note, theme.muted
            )
        names(pair, grid, cells, place)
        numbers(pair, grid, matrix, scale, place)
    y = pair.height - foot + 2.1 * form.note
    scale.draw(pair, y)
    legend(pair, scale.width(form), y, found)
    return pair.spec()


def axes_named(axes: tuple[str, str], translate: Translate) -> str:
    """What goes down and what goes across."""
    down, across = map(translate, axes)
    return f"↓ {escape(down)}    → {escape(across)}"


@dataclass(frozen=True, eq=False)
class Matrix:
    """values (row, column); hidden: which may not be seen, or None."""

    values: np.ndarray
    hidden: np.ndarray | None

    @property
    def unseen(self) -> np.ndarray:
        return np.zeros(self.values.shape, bool) if self.hidden is None else self.hidden

    @property
    def coloured(self) -> np.ndarray:
        """Cells with a place on the scale: numbers, and of hidden ones those that were read."""
        return np.isfinite(self.values) & (~self.unseen | (self.values != 0))

    @property
    def marks(self) -> dict[Mark, np.ndarray]:
        """Which cells bear which hatch; to be hidden is expected to make a score infinite."""
        return {
            HIDDEN: self.unseen & ~np.isnan(self.values), NAN: np.isnan(self.values),
            INFINITE: np.isinf(self.values) & ~self.unseen,
        }  # fmt: skip


def counted(matrix: Matrix) -> str:
    """How many are no numbers, where any is not."""
    found, all_cells = int(np.isnan(matrix.values).sum()), matrix.values.size
    return f"{found} / {all_cells} NaN" if found else ""


@dataclass(frozen=True)
class Cells:
    """How large the cells are; left, top: room for the names of rows and columns."""

    rows: int
    columns: int
    width: float
    height: float
    left: float
    top: float
    turned: bool

    @classmethod
    def of(cls, grid: Grid, form: Form) -> Cells:
        rows, columns = len(grid.rows), len(grid.columns)
        widest = [
            max((text_width(one) for one in names), default=0) * form.note
            for names in (grid.rows, grid.columns)
        ]
        left = min(
            widest[0] + 0.4 * form.note + 10, 0.32 * form.slot
        )  # an m is wider than letters usually are
        width = min(form.cell, (form.slot - left) / columns)
        turned = widest[1] + 0.5 * form.note > max(width, 1.2 * form.note) and columns > 1
        top = min(widest[1] + 8, 8 * form.note) if turned else 1.6 * form.note
        height = min(form.cell, form.tall / rows, max(width, 1.5 * form.note))
        return cls(rows, columns, width, height, left, top, turned)

    @property
    def tall(self) -> float:
        return self.rows * self.height

    def place(self, x: float, y: float) -> Place:
        """Where they stand in a slot whose names begin there."""
        xs = x + self.left + self.width * np.arange(self.columns + 1)
        ys = y + self.top + self.height * np.arange(self.rows + 1)
        return Place(xs, ys, min(self.width, self.height))


def colors(pair: Pair, matrix: Matrix, scale: Scale, place: Place) -> None:
    gap = 1 if place.side > 8 else 0
    pair.traces.append({
        "type": "heatmap", "z": typed(np.where(matrix.coloured, matrix.values, np.nan)), "x": typed(place.xs),
        "y": typed(place.ys), "zmin": scale.low, "zmax": scale.high, "colorscale": scale.stops, "showscale": False,
        "xgap": gap, "ygap": gap, "hoverongaps": False, "hovertemplate": "%{z:.4g}<extra></extra>",
    })  # fmt: skip


def names(pair: Pair, grid: Grid, cells: Cells, place: Place) -> None:
    """Of rows at the left, of columns on top; where they are crowded, every so many."""
    note, theme = pair.form.note, pair.theme
    every = max(1, -(-round(1.1 * note) // max(1, round(cells.height))))
    for at, name in [*enumerate(grid.rows)][::every]:
        text = escape(shorten(name, (cells.left - 8) / note))
        pair.write(
            float(place.xs[0]) - 7, float(place.ys[at : at + 2].mean()), text, note, theme.muted, "right"
        )
    every = max(1, -(-round(1.2 * note) // max(1, round(cells.width))))
    turn = {"textangle": -90} if cells.turned else {}
    for at, name in [*enumerate(grid.columns)][::every]:
        text = escape(shorten(name, (cells.top - 4) / note)) if cells.turned else escape(name)
        pair.write(
            float(place.xs[at : at + 2].mean()), float(place.ys[0]) - 4, text, note, theme.muted, "center",
            yanchor="bottom", **turn,
        )  # fmt: skip


def numbers(pair: Pair, grid: Grid, matrix: Matrix, scale: Scale, place: Place) -> None:
    """The values in their cells, where they can be read, and with the names of row and column under the pointer."""
    if matrix.values.size > MANY:
        return
    pairs = [(int(row), int(column)) for row, column in np.ndindex(matrix.values.shape)]
    size, texts = fitting(matrix, scale, place, pair.form.note)
    fills = [scale.color(float(matrix.values[one])) if matrix.coloured[one] else None for one in pairs]
    words: Trace = {
        "type": "scatter", "mode": "text", **place.centres([(row, column) for row, column in pairs]), "text": texts,
        "textfont": {
            "size": size, "color": [pair.theme.text_on(fill) if fill else pair.theme.ink for fill in fills],
        },
        "customdata": [
            f"{escape(grid.rows[row])} · {escape(grid.columns[column])}: {number(float(matrix.values[row, column]), 4)}"
            for row, column in pairs
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip
    pair.traces.append(words)


def fitting(matrix: Matrix, scale: Scale, place: Place, note: float) -> tuple[float, list[str]]:
    """The texts of the cells with as many digits as fit, and their size; none where they could not be read."""
    room = float(place.xs[1] - place.xs[0]) - 4
    for wide in (True, False):
        texts = [
            said(float(value), bool(hidden), scale, wide)
            for value, hidden in zip(matrix.values.ravel(), matrix.unseen.ravel(), strict=True)
        ]
        size = min(note, 0.62 * place.side, room / (EM * max(map(len, texts), default=1) or 1))
        if size >= SMALLEST + (2 if wide else 0):
            return round(size, 1), texts
    return note, [""] * matrix.values.size


def said(value: float, hidden: bool, scale: Scale, wide: bool) -> str:
    """A hidden cell that was not read says nothing."""
    if np.isnan(value):
        return "NaN"
    if hidden and (value == 0 or value == -np.inf):
        return ""
    return f"{MINUS if value < 0 else ''}∞" if np.isinf(value) else scale.said(value, wide)
