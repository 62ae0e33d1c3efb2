"""One head at a glance: its weights as a grid, the tokens it reads on top, those that ask at the left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.glance import Glance
from engine.figures.drawing import CLEAR, Trace
from engine.figures.grid import Grid
from engine.figures.hatching import hidden_runs
from engine.figures.matrix import pooled
from engine.figures.strips import typed
from engine.figures.theme import FONT, Theme, escape, shorten, text_width

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_NAMED = 48  # tokens of a side; of more, every so many


@dataclass(frozen=True)
class Plate:
    """width, height: of the sheet at most; word: size of tokens; left, top: room for them; side: of a cell. Pixels."""

    name: str
    width: int
    height: int
    word: float
    left: int
    top: int
    side: float


PLATES = {
    "wide": Plate("wide", 430, 430, word=13, left=64, top=52, side=30),
    "talk": Plate("talk", 860, 860, word=30, left=170, top=150, side=66),
    "narrow": Plate("narrow", 358, 358, word=12, left=58, top=50, side=28),
}


def glance_figure(info: Glance, *, theme: Theme, plate: Plate) -> go.Figure:
    """The figure, for a notebook."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    return go.Figure(glance_spec(info, theme=theme, plate=plate))


def glance_spec(info: Glance, *, theme: Theme, plate: Plate) -> dict:
    """The figure as plotly.js reads it: weights from 0 to 1, hidden cells hatched and left out of them."""
    rows, columns = info.weights.shape
    if upright(info.keys):
        plate = replace(plate, top=round(1.7 * plate.word))
    side = min(plate.side, (plate.width - plate.left) / columns, (plate.height - plate.top) / rows)
    grid = Grid(plate.left + side * np.arange(columns + 1), plate.top + side * np.arange(rows + 1), side)
    width, height = plate.width, round(float(grid.ys[-1])) + 4
    z = pooled(np.where(info.visible, info.weights, np.nan))
    block = -(-max(info.weights.shape) // max(z.shape)) * side
    whole, gap = z.shape == info.weights.shape, 1 if side > 8 else 0
    heat: Trace = {
        "type": "heatmap", "z": typed(z), "zmin": 0, "zmax": 1, "xgap": gap, "ygap": gap,
        "x0": plate.left + block / 2, "dx": block, "y0": plate.top + block / 2, "dy": block,
        "colorscale": [[0, theme.weight[0]], [1, theme.weight[1]]], "showscale": False, "hoverongaps": False,
        "customdata": pairs(info) if whole else None,
        "hovertemplate": ("%{customdata}" if whole else "") + "%{z:.4f}<extra></extra>",
    }  # fmt: skip
    hidden: Trace = {
        "type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip",
        **hidden_runs(info.visible, grid),
        "fillpattern": {"shape": "/", "fgcolor": theme.hatch, "bgcolor": theme.faint, "size": 6, "solidity": 0.12},
    }  # fmt: skip
    return {"data": [heat, hidden], "layout": layout(info, theme, plate, grid, width, height), "frames": []}


def pairs(info: Glance) -> list[list[str]]:
    """What stands before a weight under the pointer: who reads whom."""
    keys = [escape(key) for key in info.keys]
    return [[f"{escape(query)} → {key}: " for key in keys] for query in info.queries]


def upright(tokens: Sequence[str], ems: float = 0) -> bool:
    """Whether they are short enough to stand over their columns as they are; ems: how wide these are, where known."""
    return all(len(token) <= 2 or text_width(token) <= ems for token in tokens)


def layout(info: Glance, theme: Theme, plate: Plate, grid: Grid, width: int, height: int) -> Trace:
    return {
        "width": width, "height": height, "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "xaxis": {"range": [0, width], "visible": False, "fixedrange": True},
        "yaxis": {"range": [height, 0], "visible": False, "fixedrange": True},
        "annotations": [*names(info.queries, grid, plate, theme), *names(info.keys, grid, plate, theme, above=True)],
        "paper_bgcolor": theme.ground, "plot_bgcolor": CLEAR, "font": {"family": FONT, "color": theme.ink},
        "showlegend": False, "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme.surface, "bordercolor": theme.rule, "font": {"color": theme.ink, "size": 13}},
        "meta": {"format": plate.name}, "template": {},
    }  # fmt: skip


def names(tokens: Sequence[str], grid: Grid, plate: Plate, theme: Theme, above: bool = False) -> list[Trace]:
    """The tokens of one side, in the plate's room for them; above the columns turned where they would not fit."""
    size = max(7.0, min(plate.word, grid.side * 0.95))
    room = (plate.top if above else plate.left) / size - 0.6
    every = -(-len(tokens) // MOST_NAMED)
    words = [(at, escape(shorten(token, room))) for at, token in enumerate(tokens)][::every]
    middles = (grid.xs if above else grid.ys)[:-1] + grid.side / 2
    color = theme.key if above else theme.query
    plain = {
        "xref": "x",
        "yref": "y",
        "showarrow": False,
        "borderpad": 0,
        "font": {"size": size, "color": color},
    }
    if above:
        turned = {"yanchor": "bottom"} | (
            {} if upright(tokens, 1.2 * grid.side / size) else {"textangle": -90}
        )
        return [
            {**plain, **turned, "x": float(middles[at]), "y": float(grid.ys[0]) - 3, "text": text}
            for at, text in words
        ]
    return [
        {**plain, "xanchor": "right", "x": float(grid.xs[0]) - 5, "y": float(middles[at]), "text": text}
        for at, text in words
    ]
