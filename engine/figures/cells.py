"""The ledger's rows of cells, from the scores to the weights: each slides out of the one above and becomes itself."""

from __future__ import annotations

from functools import cache

import numpy as np

from engine.figures.cores import applied, core_words
from engine.figures.drawing import CLEAR, Drawing, Part, Trace, each, square
from engine.figures.scaling import scaled_text
from engine.figures.sheet import CELLS, EM
from engine.figures.theme import MINUS_INFINITY, cell_number, cell_weight, escape, mix, number

PAST = 0.72  # opacity of a row whose beat is over: quieter, still readable in print
READABLE = 12  # width in pixels of a column below which a cell holds no number


def starts_at(drawing: Drawing, lane: str) -> int:
    """The step on which a row takes its place. Of two strokes positive and scaled are the first."""
    beat = {"scores": "4", "scaled": "5", "biased": "5", "masked": "6", "positive": "7", "weights": "7"}[lane]
    return drawing.first(int(beat)) if lane in ("positive", "scaled") else drawing.at(beat)


def row_values(drawing: Drawing, lane: str) -> np.ndarray:
    """(shown,) the numbers of a row."""
    walk = drawing.walk
    return {
        "scores": walk.scores, "scaled": walk.scaled, "biased": walk.biased, "masked": walk.masked,
        "positive": walk.positive, "weights": walk.weights,
    }[lane]  # fmt: skip


def row_colors(drawing: Drawing, lane: str) -> list[str]:
    """Fill of each cell. Scores and scaled scores share one range, so that the division is seen to shrink it."""
    walk, theme = drawing.walk, drawing.theme
    values = row_values(drawing, lane)
    if lane in ("positive", "weights"):
        return [
            theme.faint if hidden else theme.weight_color(float(v))
            for v, hidden in zip(values, walk.hidden, strict=True)
        ]
    reference = walk.scores if lane in ("scores", "scaled", "biased") else values[np.isfinite(values)]
    limit = float(np.max(np.abs(reference))) if reference.size else 1.0
    return [theme.faint if np.isinf(v) else theme.signed_color(float(v), limit) for v in values]


def row_texts(drawing: Drawing, lane: str) -> list[str]:
    """The numbers as the cells hold them: three significant digits where they fit into the cell, else two."""
    sheet = drawing.sheet
    if min(column.width for column in sheet.columns) < READABLE:
        return [""] * len(sheet.columns)
    show = cell_weight if lane in ("positive", "weights") else cell_number
    values = row_values(drawing, lane)
    texts = [MINUS_INFINITY if np.isinf(v) else show(float(v), True) for v in values]
    if max(map(len, texts)) * sheet.format.cell * EM <= sheet.cell * 1.06:
        return texts
    return [MINUS_INFINITY if np.isinf(v) else show(float(v), False) for v in values]


def cell_lane(drawing: Drawing, lane: str) -> list[Part]:
    """One row. Before its step it lies, unseen, on the row it will come from. The first score comes a step early."""
    sheet, walk = drawing.sheet, drawing.walk
    rows = [name for name in sheet.lanes if name in CELLS]
    origin = rows[max(0, rows.index(lane) - 1)]
    fills, fills_before, at = row_colors(drawing, lane), row_colors(drawing, origin), starts_at(drawing, lane)
    texts = row_texts(drawing, lane)
    size = sheet.text_size(max(map(len, texts), default=1))
    fixed = {
        "type": "scatter", "mode": "markers+text", "x": [round(column.x, 1) for column in sheet.columns],
        "ids": [f"k{key}" for key in walk.shown], "text": texts,
        "customdata": [escape(line) for line in equations(drawing, lane)],
        "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip

    def build(step: int) -> Trace:
        early = lane == "scores" and step == drawing.first(4)
        return state(step >= at, early, 1.0 if step <= at or lane == "weights" else PAST)

    @cache
    def state(on: bool, early: bool, opacity: float) -> Trace:
        here = on or lane == "scores"
        seen = [on or (early and column == walk.column) for column in range(len(fills))]
        fill = fills if here else fills_before
        return fixed | {
            "y": [round(sheet.lanes[lane if here else origin].y, 1)] * len(fill),
            "textfont": {"size": size, "color": each(ink(drawing, lane, fill, opacity, seen))},
            "marker": square(sheet.cell, 0, fill, each([opacity if s else 0.0 for s in seen])),
        }

    extra = {"masked": [hatch(drawing, at)], "weights": [ring(drawing, at)]}
    return [build, *extra.get(lane, [])]


def ink(drawing: Drawing, lane: str, fills: list[str], opacity: float, seen: list[bool]) -> list[str]:
    """Colour of the numbers: readable on what the cell looks like; muted where a key is hidden."""
    walk, theme = drawing.walk, drawing.theme
    after_mask = lane in ("masked", "positive", "weights")
    return [
        CLEAR
        if not s
        else theme.muted
        if hidden and after_mask
        else theme.text_on(mix(theme.ground, fill, opacity))
        for fill, hidden, s in zip(fills, walk.hidden, seen, strict=True)
    ]


def hatch(drawing: Drawing, at: int) -> Part:
    """Diagonal strokes over the cells that are hidden: masked is not zero, and is never told by colour alone."""
    sheet, walk, theme = drawing.sheet, drawing.walk, drawing.theme
    side, y = sheet.cell, sheet.lanes["masked"].y
    strokes = [
        (c, shift * side, share) for c, why in enumerate(walk.hidden) if why
        for shift, share in ((-0.25, 0.5), (0.0, 1.0), (0.25, 0.5))
    ]  # fmt: skip

    def build(step: int) -> Trace:
        return {
            "type": "scatter", "mode": "markers", "hoverinfo": "skip",
            "x": [round(sheet.columns[c].x + shift, 1) for c, shift, _ in strokes],
            "y": [round(y + shift, 1) for _, shift, _ in strokes],
            "ids": [f"hatch{index}" for index in range(len(strokes))],
            "marker": {
                "symbol": "line-ne", "size": [round(side * share, 1) for *_, share in strokes],
                "opacity": 0.6 * (step >= at), "line": {"width": 1, "color": theme.hatch},
            },
        }  # fmt: skip

    return build


def ring(drawing: Drawing, at: int) -> Part:
    """An outline around the weight in focus."""
    sheet, theme = drawing.sheet, drawing.theme

    def build(step: int) -> Trace:
        return {
            "type": "scatter", "mode": "markers", "hoverinfo": "skip", "ids": ["ring"],
            "x": [round(sheet.columns[drawing.walk.column].x, 1)], "y": [round(sheet.lanes["weights"].y, 1)],
            "marker": {
                "symbol": "square-open", "size": round(sheet.cell + 3, 1), "opacity": float(step >= at),
                "color": theme.accent, "line": {"width": 2, "color": theme.accent},
            },
        }  # fmt: skip

    return build


def equations(drawing: Drawing, lane: str) -> list[str]:
    """How each cell of a row was made, for hovering."""
    walk = drawing.walk
    bias, core = walk.biased - walk.scaled, core_words(walk, str)
    lines = {
        "scores": lambda c: f"q·k = {number(float(walk.scores[c]), 4)}",
        "scaled": lambda c: scaled_text(walk, c),
        "biased": lambda c: (
            f"{number(float(walk.scaled[c]), 4)} + {number(float(bias[c]), 4)} = {number(float(walk.biased[c]), 4)}"
        ),
        "masked": lambda c: f"{number(float(walk.biased[c]), 4)} → {number(float(walk.masked[c]), 4)}",
        "positive": lambda c: f"{applied(walk, c, 4)} = {number(float(walk.positive[c]), 4)}",
        "weights": lambda c: f"{core.quotient(float(walk.positive[c]))}{walk.weights[c]:.4f}",
    }
    return [f"{walk.key_tokens[key].label}: {lines[lane](column)}" for column, key in enumerate(walk.shown)]
