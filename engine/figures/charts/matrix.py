"""A head's weights as a square: every query, every key, on the scale from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.analysis.charts import Matrix
from engine.config import N_
from engine.figures.boards import Board, Slot
from engine.figures.drawing import Trace
from engine.figures.grid import Grid
from engine.figures.hatching import hatched
from engine.figures.panel_sheet import Sheet
from engine.figures.strips import typed
from engine.figures.theme import escape, shorten

KEY = N_("key")


def draw_matrix(sheet: Sheet, index: int, slot: Slot, matrix: Matrix) -> None:
    """Darker is more; what the mask hides is hatched. Queries are named at the left where they fit."""
    board, theme = sheet.board, sheet.theme
    rows, columns = matrix.values.shape
    side = min((slot.right - slot.left) / columns, (slot.bottom - slot.top) / rows)
    place = Grid(side * np.arange(columns + 1), side * np.arange(rows + 1), side)
    square = replace(slot, right=slot.left + place.xs[-1], bottom=slot.top + place.ys[-1])
    keys = {"tickvals": [place.xs[-1]], "ticktext": [f"{escape(sheet.translate(KEY))} {columns}"]}
    axes = sheet.add_axes(
        index, square, {"range": [0, place.xs[-1]], **keys},
        {"range": [place.ys[-1], 0], "showgrid": False, **names(matrix.rows, side, board)},
    )  # fmt: skip
    sheet.traces.append({
        "type": "heatmap", "z": typed(np.where(matrix.visible, matrix.values, np.nan)),
        "x": typed(place.xs), "y": typed(place.ys), "zmin": 0, "zmax": 1,
        "colorscale": [[0, theme.weight[0]], [1, theme.weight[1]]], "showscale": False,
        "hoverongaps": False, "hovertemplate": "%{z:.3f}<extra></extra>", **axes,
    })  # fmt: skip
    if not matrix.visible.all():
        sheet.traces += [trace | axes for trace in hatched(matrix.visible, place, theme)]


def names(words: Sequence[str], side: float, board: Board) -> Trace:
    """Of many rows as many are named as do not touch, from the first on."""
    every = max(1, math.ceil(1.25 * board.note / side))
    at = range(0, len(words), every)
    room = board.names / board.note - 1
    return {
        "tickvals": [(row + 0.5) * side for row in at],
        "ticktext": [escape(shorten(words[row], room)) for row in at],
    }
