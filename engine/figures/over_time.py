"""Attention over training time: a head's weights at one moment, and all moments of its loss and scores on one axis.

Each moment is a frame, so that the figure plays without the app: cells change their colour, a line walks along the
axis. Nothing else moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.over_time import OverTime
from engine.figures.drawing import CLEAR, Trace
from engine.figures.glance import names
from engine.figures.hatching import hatched
from engine.figures.over_time_play import Form, Play, Translate
from engine.figures.over_time_tracks import baseline, captions, color, curves, half_mark, ticks
from engine.figures.quantities import SCORES
from engine.figures.theme import FONT, Theme, cell_weight, escape, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

PACE = {"hold": 450, "move": 250}  # milliseconds
FINE = 600  # cells; of more, weights travel with two decimals in place of three


def over_time_figure(
    info: OverTime, kind: str, head: int, *, theme: Theme, form: Form, translate: Translate
) -> go.Figure:
    """The figure, for a notebook, at its last moment."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    spec = over_time_spec(info, kind, head, theme=theme, form=form, translate=translate)
    last = spec["frames"][-1]
    for index, change in zip(last["traces"], last["data"], strict=True):
        spec["data"][index] = merged(spec["data"][index], change)
    return go.Figure(spec)


def merged(trace: Trace, change: Trace) -> Trace:
    inner = {name: merged(trace[name], value) for name, value in change.items() if isinstance(value, dict)}
    return {**trace, **change, **inner}


def over_time_spec(
    info: OverTime, kind: str, head: int, *, theme: Theme, form: Form, translate: Translate
) -> dict:
    """The figure as plotly.js reads it; `layout.meta.steps` are the moments, named by their steps."""
    play = Play(info, kind, head, theme, form, translate)
    moving = [cells(play), now(play), points(play)]
    still = [*hatched(play.look.visible[play.head], play.grid, theme), *curves(play), *half_mark(play)]
    traces = [*still, *(states[0] for states, _ in moving)]
    frames = [
        {
            "name": str(step),
            "traces": list(range(len(still), len(traces))),
            "data": [{"type": "scatter", **changed[at]} for _, changed in moving],
        }
        for at, step in enumerate(info.steps.tolist())
    ]
    return {"data": traces, "layout": layout(play), "frames": frames}


def cells(play: Play) -> tuple[list[Trace], list[Trace]]:
    """The matrix: a square each cell that the mask lets be seen."""
    look, grid = play.look, play.grid
    pairs = [(int(q), int(k)) for q, k in np.argwhere(look.visible[play.head])]
    rows, columns = (list(index) for index in zip(*pairs, strict=True))
    values = look.weights[:, play.head][:, rows, columns].astype(float)
    digits = 3 if len(pairs) <= FINE else 2
    marker = {
        "symbol": "square", "size": round(grid.side - (1 if grid.side > 8 else 0), 1), "cmin": 0, "cmax": 1,
        "colorscale": [[0, play.theme.weight[0]], [1, play.theme.weight[1]]], "showscale": False, "line": {"width": 0},
    }  # fmt: skip
    named = [f"{escape(look.queries[q])} → {escape(look.keys[k])}" for q, k in pairs]
    changed = [{"marker": {"color": shortest(row, digits)}} for row in values]
    base: Trace = {
        "type": "scatter", "mode": "markers", **grid.centres(pairs), "text": named,
        "ids": [f"w{q}.{k}" for q, k in pairs],
        "hovertemplate": "%{text}:\u00a0%{marker.color}<extra></extra>",
    }  # fmt: skip
    return [{**base, "marker": {**marker, **change["marker"]}} for change in changed[:1]], changed


def shortest(values: np.ndarray, digits: int) -> list[float | int]:
    """Whole numbers without a point: most weights of a trained head are nothing."""
    return [int(value) if value == int(value) else value for value in values.round(digits).tolist()]


def now(play: Play) -> tuple[list[Trace], list[Trace]]:
    """The moment that is shown, as a line across all tracks."""
    changed = [{"x": [round(float(x), 1)] * 2} for x in play.xs]
    base: Trace = {
        "type": "scatter", "mode": "lines", "y": [play.form.y0 + play.form.title * 1.6, play.form.y1],
        "ids": ["n0", "n1"], "line": {"color": play.theme.ink, "width": 1.2}, "hoverinfo": "skip",
    }  # fmt: skip
    return [base | changed[0]], changed


def points(play: Play) -> tuple[list[Trace], list[Trace]]:
    """A dot on each curve of the head that is shown, at that moment."""
    ys = [play.y(track, values[:, play.own(track)]) for track, (_, values) in enumerate(play.tracks)]
    changed = [
        {"x": [round(float(x), 1)] * len(ys), "y": [round(float(y[at]), 1) for y in ys]}
        for at, x in enumerate(play.xs)
    ]
    edge = {"width": 1.5, "color": play.theme.ground}
    base: Trace = {
        "type": "scatter", "mode": "markers", "ids": [f"p{track}" for track in range(len(ys))], "hoverinfo": "skip",
        "marker": {"size": play.form.note * 0.8, "color": color(play), "line": edge},
    }  # fmt: skip
    return [base | changed[0]], changed


def layout(play: Play) -> Trace:
    form, theme, look = play.form, play.theme, play.look
    return {
        "width": form.width, "height": form.height, "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "xaxis": {"range": [0, form.width], "visible": False, "fixedrange": True},
        "yaxis": {"range": [form.height, 0], "visible": False, "fixedrange": True},
        "annotations": [
            *names(look.queries, play.grid, form.plate, theme),
            *names(look.keys, play.grid, form.plate, theme, above=True),
            *captions(play), *ticks(play),
        ],
        "shapes": [baseline(play, track) for track in range(len(play.tracks))],
        "paper_bgcolor": theme.ground, "plot_bgcolor": CLEAR, "font": {"family": FONT, "color": theme.ink},
        "showlegend": False, "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme.surface, "bordercolor": theme.rule, "font": {"color": theme.ink, "size": 13}},
        "meta": meta(play), "template": {},
    }  # fmt: skip


def meta(play: Play) -> Trace:
    """What a player needs: the moments, how fast they go, and the matrix, which is always there to be clicked."""
    xs, ys = play.grid.xs.round(1).tolist(), play.grid.ys.round(1).tolist()
    return {
        "format": play.form.plate.name, "steps": moments(play), "pace": PACE, "columns": [], "ledger_bottom": 0,
        "matrix": {"xs": xs, "ys": ys}, "whole": True,
    }  # fmt: skip


def moments(play: Play) -> list[Trace]:
    """What a player shows of each moment: its step, and the numbers of the head."""
    _, info = play.translate, play.info
    last, drawn = int(info.steps[-1]), []
    for at, step in enumerate(info.steps.tolist()):
        sentence = " · ".join(
            f"{_(SCORES[name])}: {cell_weight(value, wide=True) if play.top(track) == 1.0 else number(value)}"
            for track, (name, values) in enumerate(play.tracks)
            for value in [float(values[at, play.own(track)])]
        )
        heading = _("After {step} of {last} steps").format(step=f"{step:,}", last=f"{last:,}")
        drawn.append({
            "name": str(step), "beat": step, "short": f"{step:,}", "heading": heading,
            "title": heading, "sentence": sentence, "equation": [], "taps": [], "span": [0, play.form.height],
        })  # fmt: skip
    return drawn
