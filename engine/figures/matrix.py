"""All queries of one head: the weights as squares that take part in the animation, or as one image when many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.figures.drawing import CLEAR, Drawing, Part, Trace, square, still
from engine.figures.grid import Grid
from engine.figures.hatching import hatched
from engine.figures.sheet import Box
from engine.figures.strips import typed
from engine.figures.theme import MINUS_INFINITY, escape, shorten
from engine.figures.words import words

if TYPE_CHECKING:
    from engine.tokenizers import Token

MAX_SQUARES = 1600  # above, an image: squares tween, but each is a node
MAX_IMAGE = 512  # pixels a side; a megabyte travels
QUIET = 0.3


def grid(drawing: Drawing) -> Grid:
    """Where the cells go. Without a block of its own the matrix takes the ledger's place on its beat, under the
    same tokens: each key keeps its column.
    """
    rows, columns = drawing.walk.matrix.shape
    sheet = drawing.sheet
    if sheet.aside is None and len(sheet.columns) == columns:
        top, bottom = sheet.lanes["x"].y0, sheet.lanes["values"].y1
        xs = np.array([column.x0 for column in sheet.columns] + [sheet.columns[-1].x1])
        ys = np.linspace(top, bottom, rows + 1)
        return Grid(xs, ys, min(float(ys[1] - ys[0]), float(np.diff(xs).min())))
    top = 0 if sheet.aside else sheet.lanes["x"].y0
    block = sheet.aside or Box(sheet.query.x1, top, sheet.columns[-1].x1, sheet.lanes["values"].y1)
    left = block.x0 + min(block.width * 0.17, 120)
    side = min((block.x1 - left) / columns, (block.height - 4) / rows, block.width / 7)
    return Grid(left + side * np.arange(columns + 1), block.y0 + 4 + side * np.arange(rows + 1), side)


def matrix_parts(drawing: Drawing) -> list[Part]:
    parts = [cover(drawing)] if drawing.sheet.aside is None else []
    parts += squares(drawing) if drawing.walk.matrix.size <= MAX_SQUARES else image(drawing)
    walk = drawing.walk
    if starts(walk.query_tokens) or starts(walk.key_tokens):
        parts.append(seams(drawing))
    return [*parts, frame(drawing), row_names(drawing)]


def starts(tokens: Sequence[Token]) -> list[int]:
    """Where a text begins that is read together with the one before it."""
    return [i for i in range(1, len(tokens)) if tokens[i].segment != tokens[i - 1].segment]


def seams(drawing: Drawing) -> Part:
    """Lines where the second of two texts begins: one for the keys, one for the queries."""
    walk, place = drawing.walk, grid(drawing)
    xs: list[float | None] = []
    ys: list[float | None] = []
    for key in starts(walk.key_tokens):
        xs += [float(place.xs[key])] * 2 + [None]
        ys += [float(place.ys[0]), float(place.ys[-1]), None]
    for query in starts(walk.query_tokens):
        xs += [float(place.xs[0]), float(place.xs[-1]), None]
        ys += [float(place.ys[query])] * 2 + [None]

    def build(step: int) -> Trace:
        line = {"color": drawing.theme.key if level(drawing, step) else CLEAR, "width": 1.5, "dash": "dot"}
        return {"type": "scatter", "mode": "lines", "x": xs, "y": ys, "line": line, "hoverinfo": "skip"}

    return build


def level(drawing: Drawing, step: int) -> float:
    """How loud the matrix is: waiting beside the ledger, full on its beat; over the ledger it is absent till then."""
    beat = drawing.beats[step]
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
                "opacity": [0.97 * (drawing.beats[step] == 9)],
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
    walk, theme, place = drawing.walk, drawing.theme, grid(drawing)
    fills = [
        theme.weight_color(float(walk.matrix[pair])) if walk.visible[pair] else theme.faint for pair in pairs
    ]
    fixed = {
        "type": "scatter", "mode": "markers", **place.centres(pairs),
        "customdata": [pair_words(drawing, *pair) for pair in pairs], "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip

    def build(step: int) -> Trace:
        return fixed | {"marker": square(place.side, 1.5, fills, loud(step))}

    return build


def hidden_marks(drawing: Drawing, pairs: Sequence[tuple[int, int]]) -> Part:
    """One diagonal stroke a hidden cell, so that the hidden half reads as hatched."""
    place = grid(drawing)
    fixed = {"type": "scatter", "mode": "markers", "hoverinfo": "skip", **place.centres(pairs)}

    def build(step: int) -> Trace:
        return fixed | {
            "marker": {
                "symbol": "line-ne", "size": round(place.side * 0.8, 1),
                "line": {"width": 1, "color": drawing.theme.hatch},
                "opacity": 0.6 * level(drawing, step),
            }
        }  # fmt: skip

    return build


def image(drawing: Drawing) -> list[Part]:
    """The matrix of a long input as a heat map, hidden cells left out of it and hatched."""
    walk, theme, place = drawing.walk, drawing.theme, grid(drawing)
    x0, y0 = float(place.xs[0]), float(place.ys[0])
    z = pooled(np.where(walk.visible, walk.matrix, np.nan))
    size = place.side * -(-walk.matrix.shape[0] // z.shape[0])
    heat: Trace = {
        "type": "heatmap", "z": typed(z), "zmin": 0, "zmax": 1,
        "x0": x0 + size / 2, "dx": size, "y0": y0 + size / 2, "dy": size,
        "colorscale": [[0, theme.weight[0]], [1, theme.weight[1]]], "showscale": False, "hoverongaps": False,
        "hovertemplate": "%{z:.4f}<extra></extra>",
    }  # fmt: skip
    return [still(heat), *map(still, hatched(walk.visible, place, theme))]


def pooled(weights: np.ndarray) -> np.ndarray:
    """(query, key) weights for one image: of more than MAX_IMAGE a side each pixel is the maximum of a block."""
    block = -(-max(weights.shape) // MAX_IMAGE)
    if block == 1:
        return weights
    rows, columns = (-(-length // block) * block for length in weights.shape)
    padded = np.full((rows, columns), np.nan, dtype=weights.dtype)
    padded[: weights.shape[0], : weights.shape[1]] = weights
    blocks = padded.reshape(rows // block, block, columns // block, block)
    empty = np.isnan(blocks).all(axis=(1, 3))
    return np.where(empty, np.nan, np.nan_to_num(blocks, nan=-1.0).max(axis=(1, 3)))


def frame(drawing: Drawing) -> Part:
    """Outlines around the query's row and the cell in focus."""
    walk, theme, place = drawing.walk, drawing.theme, grid(drawing)
    y0, y1 = map(float, place.ys[walk.query : walk.query + 2])
    x0, x1 = map(float, place.xs[walk.focus : walk.focus + 2])
    left, right = float(place.xs[0]), float(place.xs[-1])
    xs = [left, right, right, left, left, None, x0, x1, x1, x0, x0]
    ys = [y0, y0, y1, y1, y0, None, y0, y0, y1, y1, y0]

    def build(step: int) -> Trace:
        color = theme.query if level(drawing, step) else CLEAR
        line = {"color": color, "width": 1.6}
        return {"type": "scatter", "mode": "lines", "x": xs, "y": ys, "line": line, "hoverinfo": "skip"}

    return build


def row_names(drawing: Drawing) -> Part:
    """Tokens at the left of the rows; only the query's when rows are thin."""
    walk, theme, place = drawing.walk, drawing.theme, grid(drawing)
    height, room = float(place.ys[1] - place.ys[0]), (46 if drawing.sheet.aside else 200)
    size = max(9.0, min(drawing.sheet.format.note + 0.5 if drawing.sheet.aside else 28, height * 0.8))
    rows = list(range(len(walk.query_tokens))) if height >= 11 else [walk.query]
    names = [escape(shorten(walk.query_tokens[q].label, room / size)) for q in rows]
    names = [
        f"<i>{name}</i>" if walk.query_tokens[q].segment else name
        for q, name in zip(rows, names, strict=True)
    ]
    names = [f"<b>{name}</b>" if q == walk.query else name for q, name in zip(rows, names, strict=True)]
    ys = place.centres([(q, 0) for q in rows])["y"]
    x = float(place.xs[0]) - 6

    def build(step: int) -> Trace:
        ink = (
            [theme.query if q == walk.query else theme.muted for q in rows] if level(drawing, step) else CLEAR
        )
        return words([x] * len(names), ys, names, size, ink, "middle left")

    return build


def pair_words(drawing: Drawing, q: int, k: int) -> str:
    walk = drawing.walk
    pair = f"{escape(walk.query_tokens[q].label)} → {escape(walk.key_tokens[k].label)}"
    return f"{pair}: {walk.matrix[q, k]:.4f}" if walk.visible[q, k] else f"{pair}: {MINUS_INFINITY}"
