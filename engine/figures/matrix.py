"""All queries of one head: the weights as squares that take part in the animation, or as one image when many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.figures.drawing import CLEAR, Drawing, Part, Trace, square, still
from engine.figures.sheet import Box
from engine.figures.strips import typed
from engine.figures.theme import MINUS_INFINITY, escape, shorten
from engine.figures.words import words

MAX_SQUARES = 1600  # above, an image: squares tween, but each is a node
QUIET = 0.3


def matrix_box(drawing: Drawing) -> tuple[Box, float]:
    """Where the cells go, and their side. Without a block of its own the matrix lies over the ledger on its beat."""
    rows, columns = drawing.walk.matrix.shape
    sheet = drawing.sheet
    block = sheet.aside
    if block is None:
        side = sheet.format.height
        block = Box((sheet.width - side) / 2, 0, (sheet.width + side) / 2, side)
    left, top = block.width * 0.17, 4.0
    side = min((block.width - left) / columns, (block.height - top) / rows, block.width / 7)
    x0, y0 = block.x0 + left, block.y0 + top
    return Box(x0, y0, x0 + side * columns, y0 + side * rows), side


def matrix_parts(drawing: Drawing) -> list[Part]:
    parts = [cover(drawing)] if drawing.sheet.aside is None else []
    parts += squares(drawing) if drawing.walk.matrix.size <= MAX_SQUARES else image(drawing)
    return [*parts, frame(drawing), row_names(drawing)]


def level(drawing: Drawing, step: int) -> float:
    """How loud the matrix is: waiting beside the ledger, full on its beat; over the ledger it is absent till then."""
    beat = drawing.steps[step].beat
    if drawing.sheet.aside is None:
        return float(beat == 9)
    return 1.0 if beat >= 9 else QUIET


def cover(drawing: Drawing) -> Part:
    """Paper over the whole ledger while the matrix is shown in its place."""
    sheet, theme = drawing.sheet, drawing.theme

    def build(step: int) -> Trace:
        return {
            "type": "scatter", "mode": "markers", "hoverinfo": "skip", "ids": ["cover"],
            "x": [sheet.width / 2], "y": [sheet.height / 2],
            "marker": {
                "symbol": "square", "size": sheet.width, "color": theme.ground,
                "opacity": [0.97 * (drawing.steps[step].beat == 9)],
            },
        }  # fmt: skip

    return build


def squares(drawing: Drawing) -> list[Part]:
    """The query's own row, which is full as soon as its weights are known; the other rows; marks on hidden cells."""
    walk = drawing.walk
    pairs = [(int(q), int(k)) for q, k in np.ndindex(walk.matrix.shape)]
    own = [pair for pair in pairs if pair[0] == walk.query]
    others = [pair for pair in pairs if pair[0] != walk.query]
    hidden = [pair for pair in pairs if not walk.visible[pair]]
    row_at = drawing.at("7") if drawing.sheet.aside else len(drawing.steps)

    def row(step: int) -> float:
        return 1.0 if step >= row_at else level(drawing, step)

    return [
        weights(drawing, others, lambda step: level(drawing, step)), weights(drawing, own, row),
        hidden_marks(drawing, hidden),
    ]  # fmt: skip


def weights(drawing: Drawing, pairs: Sequence[tuple[int, int]], loud: Callable[[int], float]) -> Part:
    walk, theme = drawing.walk, drawing.theme
    side = matrix_box(drawing)[1]
    fills = [
        theme.weight_color(float(walk.matrix[pair])) if walk.visible[pair] else theme.faint for pair in pairs
    ]
    fixed = {
        "type": "scatter", "mode": "markers", **centres(drawing, pairs),
        "customdata": [pair_words(drawing, *pair) for pair in pairs], "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip

    def build(step: int) -> Trace:
        return fixed | {"marker": square(side, 1.5, fills, loud(step))}

    return build


def hidden_marks(drawing: Drawing, pairs: Sequence[tuple[int, int]]) -> Part:
    """One diagonal stroke a hidden cell, so that the hidden half reads as hatched."""
    side = matrix_box(drawing)[1]
    fixed = {"type": "scatter", "mode": "markers", "hoverinfo": "skip", **centres(drawing, pairs)}

    def build(step: int) -> Trace:
        return fixed | {
            "marker": {
                "symbol": "line-ne", "size": round(side * 0.8, 1), "line": {"width": 1, "color": drawing.theme.hatch},
                "opacity": 0.6 * level(drawing, step),
            }
        }  # fmt: skip

    return build


def centres(drawing: Drawing, pairs: Sequence[tuple[int, int]]) -> Trace:
    box, side = matrix_box(drawing)
    return {
        "x": [round(box.x0 + (k + 0.5) * side, 1) for _, k in pairs],
        "y": [round(box.y0 + (q + 0.5) * side, 1) for q, _ in pairs],
    }


def image(drawing: Drawing) -> list[Part]:
    """The matrix of a long input: a heat map over a hatched ground that shows where cells are hidden."""
    walk, theme = drawing.walk, drawing.theme
    box, side = matrix_box(drawing)
    ground: Trace = {
        "type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip",
        "x": [box.x0, box.x1, box.x1, box.x0, box.x0], "y": [box.y0, box.y0, box.y1, box.y1, box.y0],
        "fillpattern": {"shape": "/", "fgcolor": theme.hatch, "bgcolor": theme.faint, "size": 6, "solidity": 0.12},
    }  # fmt: skip
    heat: Trace = {
        "type": "heatmap", "z": typed(np.where(walk.visible, walk.matrix, np.nan)),
        "x0": box.x0 + side / 2, "dx": side, "y0": box.y0 + side / 2, "dy": side, "zmin": 0, "zmax": 1,
        "colorscale": [[0, theme.weight[0]], [1, theme.weight[1]]], "showscale": False, "hoverongaps": False,
        "hovertemplate": "%{z:.4f}<extra></extra>",
    }  # fmt: skip
    return [still(ground), still(heat)]


def frame(drawing: Drawing) -> Part:
    """Outlines around the query's row and the cell in focus."""
    walk, theme = drawing.walk, drawing.theme
    box, side = matrix_box(drawing)
    y0, y1 = box.y0 + walk.query * side, box.y0 + (walk.query + 1) * side
    x0, x1 = box.x0 + walk.focus * side, box.x0 + (walk.focus + 1) * side
    xs = [box.x0, box.x1, box.x1, box.x0, box.x0, None, x0, x1, x1, x0, x0]
    ys = [y0, y0, y1, y1, y0, None, y0, y0, y1, y1, y0]

    def build(step: int) -> Trace:
        color = theme.query if level(drawing, step) else CLEAR
        line = {"color": color, "width": 1.6}
        return {"type": "scatter", "mode": "lines", "x": xs, "y": ys, "line": line, "hoverinfo": "skip"}

    return build


def row_names(drawing: Drawing) -> Part:
    """Tokens at the left of the rows; only the query's when rows are thin."""
    walk, theme = drawing.walk, drawing.theme
    box, side = matrix_box(drawing)
    size = max(9.0, min(drawing.sheet.format.note + 0.5, side * 0.8))
    rows = list(range(len(walk.query_tokens))) if side >= 11 else [walk.query]
    names = [escape(shorten(walk.query_tokens[q].label, 46 / size)) for q in rows]
    names = [f"<b>{name}</b>" if q == walk.query else name for q, name in zip(rows, names, strict=True)]
    ys = [round(box.y0 + (q + 0.5) * side, 1) for q in rows]

    def build(step: int) -> Trace:
        ink = (
            [theme.query if q == walk.query else theme.muted for q in rows] if level(drawing, step) else CLEAR
        )
        return words([box.x0 - 5] * len(names), ys, names, size, ink, "middle left")

    return build


def pair_words(drawing: Drawing, q: int, k: int) -> str:
    walk = drawing.walk
    pair = f"{escape(walk.query_tokens[q].label)} → {escape(walk.key_tokens[k].label)}"
    return f"{pair}: {walk.matrix[q, k]:.4f}" if walk.visible[q, k] else f"{pair}: {MINUS_INFINITY}"
