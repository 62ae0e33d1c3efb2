"""Heads of several runs side by side, each found by what it does: a block a score, a tile a run, all drawn alike.

Above a matrix stands whose head it is and which; the bar is its score from 0 to 1, and the ticks on it are those of the
other heads. Tokens are named where they are not those of the matrix at the left. layout.meta.tiles are the boxes that
can be clicked, in the order of `opened`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.found_heads import FoundHead, RunHeads
from engine.config import N_
from engine.figures.drawing import CLEAR, Trace
from engine.figures.found_heads_sheet import Arrangement, Form, Tile, arrange
from engine.figures.glance import names, pairs
from engine.figures.hatching import hidden_runs
from engine.figures.quantities import SCORES
from engine.figures.strips import typed
from engine.figures.theme import FONT, Theme, cell_weight, escape, series_color, shorten

if TYPE_CHECKING:
    import plotly.graph_objects as go

Translate = Callable[[str], str]
PLACE = N_("{kind} · layer {layer} · head {head}")
NONE = N_("no head has this score here")


def found_heads_figure(
    runs: Sequence[RunHeads], *, theme: Theme, form: Form, translate: Translate
) -> go.Figure:
    """The figure, for a notebook."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    return go.Figure(found_heads_spec(runs, theme=theme, form=form, translate=translate))


def found_heads_spec(runs: Sequence[RunHeads], *, theme: Theme, form: Form, translate: Translate) -> dict:
    """The figure as plotly.js reads it, a block a score."""
    placed = arrange(runs, form)
    form = placed.form
    filled = [(tile, tile.head) for tile in placed.tiles if tile.head]
    matrices = [trace for tile, head in filled for trace in matrix(tile, head, theme)]
    notes = [*titles(placed, theme, form, translate),
             *(note for tile in placed.tiles for note in captions(tile, theme, form, translate))]  # fmt: skip
    return {
        "data": [*matrices, *bars(placed, theme, form)],
        "layout": layout(placed, notes, theme, form),
        "frames": [],
    }


def opened(runs: Sequence[RunHeads], form: Form) -> list[tuple[RunHeads, FoundHead]]:
    """What a click on each of layout.meta.tiles means."""
    return [(tile.run, tile.head) for tile in arrange(runs, form).tiles if tile.head]


def matrix(tile: Tile, head: FoundHead, theme: Theme) -> list[Trace]:
    """The weights, and over them what the mask hides."""
    glance, grid = head.glance, tile.grid
    heat: Trace = {
        "type": "heatmap", "z": typed(np.where(glance.visible, glance.weights, np.nan)), "zmin": 0, "zmax": 1,
        "x0": float(grid.xs[0]) + grid.side / 2, "dx": grid.side, "y0": float(grid.ys[0]) + grid.side / 2,
        "dy": grid.side, "xgap": 1 if grid.side > 8 else 0, "ygap": 1 if grid.side > 8 else 0,
        "colorscale": [[0, theme.weight[0]], [1, theme.weight[1]]], "showscale": False, "hoverongaps": False,
        "customdata": pairs(glance), "hovertemplate": "%{customdata}%{z:.4f}<extra></extra>",
    }  # fmt: skip
    hidden: Trace = {
        "type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip",
        **hidden_runs(glance.visible, grid),
        "fillpattern": {"shape": "/", "fgcolor": theme.hatch, "bgcolor": theme.faint, "size": 6, "solidity": 0.12},
    }  # fmt: skip
    return [heat, hidden]


def bars(placed: Arrangement, theme: Theme, form: Form) -> Iterator[Trace]:
    """Of all tiles: the scale from 0 to 1, how much of it the head has, and where the others are."""
    scale, share, ticks = ([], []), ([], []), ([], [])
    for tile in placed.tiles:
        if tile.head:
            left, y = tile.left, tile.top + form.captions - 0.55 * form.note
            width = tile.right - left
            for (xs, ys), end in ((scale, 1.0), (share, tile.head.value)):
                xs += [left, left + width * end, None]
                ys += [y, y, None]
            ticks[0].extend((left + width * tile.head.others).tolist())
            ticks[1].extend([y] * len(tile.head.others))
    plain = {"type": "scatter", "hoverinfo": "skip"}
    for (xs, ys), color in ((scale, theme.rule), (share, theme.accent)):
        yield {**plain, "mode": "lines", "x": xs, "y": ys, "line": {"color": color, "width": form.note / 3}}
    stroke = {"width": form.note / 8, "color": theme.ink}
    marker = {"symbol": "line-ns", "size": form.note * 2 / 3, "line": stroke}
    yield {**plain, "mode": "markers", "x": ticks[0], "y": ticks[1], "marker": marker}


def titles(placed: Arrangement, theme: Theme, form: Form, translate: Translate) -> Iterator[Trace]:
    for score, x, y in placed.titles:
        words = f"<b>{escape(translate(SCORES[score]))}</b>"
        yield note(x, y + 0.7 * form.title, words, form.title, theme.ink)


def captions(tile: Tile, theme: Theme, form: Form, translate: Translate) -> Iterator[Trace]:
    """Whose head, which, and how much of the score it has; its tokens where they are named."""
    left, size = tile.left, form.note
    label = shorten(tile.run.label, form.plate.side / size - 3)
    color = series_color(theme, tile.run.run)
    yield note(left, tile.top + 0.7 * size, f"<b>{escape(label)}</b>", size, color)
    if tile.head is None:
        yield note(left, tile.top + 2.2 * size, escape(translate(NONE)), size, theme.muted)
        return
    yield note(
        tile.right,
        tile.top + 0.7 * size,
        cell_weight(tile.head.value, wide=False),
        size,
        theme.accent,
        "right",
    )
    place = tile.head.glance.place
    which = translate(PLACE).format(kind=translate(place.kind), layer=place.layer, head=place.head)
    yield note(left, tile.top + 2.2 * size, escape(shorten(which, (form.tile - 8) / size)), size, theme.muted)
    if tile.named:
        yield from names(tile.head.glance.queries, tile.grid, form.plate, theme)
        yield from names(tile.head.glance.keys, tile.grid, form.plate, theme, above=True)


def note(x: float, y: float, text: str, size: float, ink: str, anchor: str = "left") -> Trace:
    return {
        "xref": "x", "yref": "y", "x": x, "y": y, "xanchor": anchor, "yanchor": "middle", "showarrow": False,
        "borderpad": 0, "text": text, "font": {"size": size, "color": ink},
    }  # fmt: skip


def layout(placed: Arrangement, notes: list[Trace], theme: Theme, form: Form) -> Trace:
    width, height = form.plate.width, round(placed.height)
    boxes = [[tile.left, tile.top, tile.right, tile.bottom] for tile in placed.tiles if tile.head]
    return {
        "width": width, "height": height, "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "xaxis": {"range": [0, width], "visible": False, "fixedrange": True},
        "yaxis": {"range": [height, 0], "visible": False, "fixedrange": True}, "annotations": notes,
        "paper_bgcolor": theme.ground, "plot_bgcolor": CLEAR, "font": {"family": FONT, "color": theme.ink},
        "showlegend": False, "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": theme.surface, "bordercolor": theme.rule, "font": {"color": theme.ink, "size": form.note + 1},
        },
        "meta": {"format": form.plate.name, "tiles": boxes}, "template": {},
    }  # fmt: skip
