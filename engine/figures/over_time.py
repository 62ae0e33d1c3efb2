"""Attention over training time: a head's weights at one moment, and all moments of its loss and scores on one axis.

Each moment is a frame, so that the figure plays without the app: cells change their colour, a line walks along the
axis, which is even at first and then that of the logarithm of steps, as the snapshots are spaced. Nothing else moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.over_time import Look, OverTime
from engine.config import N_
from engine.figures.drawing import CLEAR, Trace
from engine.figures.glance import Plate, names
from engine.figures.matrix import Grid, hidden_runs
from engine.figures.theme import FONT, Theme, cell_weight, escape, mix, number
from engine.figures.words import words

if TYPE_CHECKING:
    import plotly.graph_objects as go

Translate = Callable[[str], str]
Track = tuple[str, np.ndarray]  # a quantity and its values, (moment, head)
TITLES = {
    "loss": N_("loss of this text, nats a token"),
    "true_place": N_("on the true place, share"),
    "repeats": N_("on what followed an earlier copy, weight"),
    "previous": N_("on the token before, weight"),
    "entropy": N_("entropy of a row, nats"),
}
PACE = {"hold": 450, "move": 250}  # milliseconds
EVEN = 40  # the axis of time is about even up to this part of all steps
FINE = 600  # cells; of more, weights travel with two decimals in place of three


@dataclass(frozen=True)
class Form:
    """The sheet: plate for the matrix; x0, x1: of the axis of time; y0, y1: of the tracks; title, note: sizes."""

    plate: Plate
    width: int
    height: int
    x0: float
    x1: float
    y0: float
    y1: float
    title: float
    note: float


FORMS = {
    "wide": Form(Plate("wide", 440, 440, 14, 64, 50, 44), 1216, 444, 540, 1196, 4, 410, title=13, note=11),
    "talk": Form(Plate("talk", 690, 690, 34, 130, 80, 76), 1856, 696, 860, 1820, 4, 640, title=27, note=22),
    "narrow": Form(Plate("narrow", 358, 358, 12, 50, 46, 28), 358, 810, 40, 346, 384, 770, title=13, note=11),
}


@dataclass(frozen=True)
class Play:
    """One head of one kind of attention through all moments, on one sheet."""

    info: OverTime
    kind: str
    head: int  # among those of all layers
    theme: Theme
    form: Form
    translate: Translate

    @property
    def look(self) -> Look:
        return self.info.looks[self.kind]

    @cached_property
    def tracks(self) -> list[Track]:
        """The loss where there is one, then every score of this attention."""
        loss = [("loss", self.info.loss[:, None])] if np.isfinite(self.info.loss).all() else []
        return [*loss, *self.look.scores.items()]

    @cached_property
    def xs(self) -> np.ndarray:
        """(moment,) where each stands on the axis."""
        return self.x(self.info.steps)

    def x(self, steps: np.ndarray | Sequence[int]) -> np.ndarray:
        form, last = self.form, max(1, int(self.info.steps[-1]))
        knee = max(1.0, last / EVEN)
        return form.x0 + (form.x1 - form.x0) * np.log1p(np.asarray(steps, float) / knee) / math.log1p(
            last / knee
        )

    def box(self, track: int) -> tuple[float, float]:
        """Top and bottom of a track's curves."""
        form = self.form
        each = (form.y1 - form.y0) / len(self.tracks)
        return form.y0 + each * track + form.title * 1.9, form.y0 + each * (track + 1) - form.note * 0.9

    def top(self, track: int) -> float:
        """The value at the upper edge: 1 of shares and weights."""
        name, values = self.tracks[track]
        return max(float(values.max()), 1e-9) if name in ("loss", "entropy") else 1.0

    def y(self, track: int, values: np.ndarray) -> np.ndarray:
        upper, lower = self.box(track)
        return lower - (lower - upper) * values / self.top(track)

    def own(self, track: int) -> int:
        """The column of the head that is shown."""
        return self.head if self.tracks[track][1].shape[1] > 1 else 0

    @cached_property
    def grid(self) -> Grid:
        plate, (rows, columns) = self.form.plate, self.look.weights.shape[2:]
        side = min(plate.side, (plate.width - plate.left) / columns, (plate.height - plate.top) / rows)
        return Grid(plate.left + side * np.arange(columns + 1), plate.top + side * np.arange(rows + 1), side)


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
    still = [hidden(play), *curves(play), *half_mark(play)]
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


def color(play: Play) -> list[str]:
    return [play.theme.value if name == "loss" else play.theme.accent for name, _ in play.tracks]


def hidden(play: Play) -> Trace:
    """What the mask hides, hatched."""
    return {
        "type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip",
        **hidden_runs(play.look.visible[play.head], play.grid),
        "fillpattern": {
            "shape": "/", "fgcolor": play.theme.hatch, "bgcolor": play.theme.faint, "size": 6, "solidity": 0.12,
        },
    }  # fmt: skip


def curves(play: Play) -> list[Trace]:
    """All heads of a track quietly, the one that is shown over them."""
    drawn = []
    for track, (_, values) in enumerate(play.tracks):
        own = play.own(track)
        rest = [head for head in range(values.shape[1]) if head != own]
        quiet = mix(play.theme.ground, play.theme.muted, 0.45)
        drawn += [stroke(play, track, head, quiet, 1) for head in rest]
        drawn.append(stroke(play, track, own, color(play)[track], 2))
    return drawn


def stroke(play: Play, track: int, head: int, ink: str, width: float) -> Trace:
    name, values = play.tracks[track]
    place = play.look.places[head]
    whose = (
        ""
        if name == "loss"
        else play.translate("layer {layer}, head {head}").format(layer=place.layer, head=place.head)
    )
    numbers = [
        f"{step:,}: {number(float(value))}"
        for step, value in zip(play.info.steps, values[:, head], strict=True)
    ]
    return {
        "type": "scatter", "mode": "lines", "line": {"color": ink, "width": width},
        "x": play.xs.round(1).tolist(), "y": play.y(track, values[:, head]).round(1).tolist(),
        "text": numbers, "hovertemplate": f"{escape(whose)}{'<br>' if whose else ''}%{{text}}<extra></extra>",
    }  # fmt: skip


def half_mark(play: Play) -> list[Trace]:
    """Where the telling score first passes half of its final value."""
    half = play.info.half(play.kind, play.head, play.look.telling)
    track = [name for name, _ in play.tracks].index(play.look.telling)
    if half is None:
        return []
    (x,), (upper, lower) = play.x([half]), play.box(track)
    line: Trace = {
        "type": "scatter", "mode": "lines", "x": [float(x)] * 2, "y": [upper, lower], "hoverinfo": "skip",
        "line": {"color": play.theme.accent, "width": 1.6, "dash": "dot"},
    }  # fmt: skip
    said = play.translate("half at step {step}").format(step=f"{half:,}")
    right = x > (play.form.x0 + play.form.x1) / 2
    side = "middle left" if right else "middle right"
    at = float(x) + (-4 if right else 4)
    return [
        line,
        words([at], [upper + play.form.note * 0.4], [escape(said)], play.form.note, play.theme.accent, side),
    ]


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


def baseline(play: Play, track: int) -> Trace:
    _, lower = play.box(track)
    return {
        "type": "line", "x0": play.form.x0, "x1": play.form.x1, "y0": lower, "y1": lower, "layer": "below",
        "line": {"width": 1, "color": play.theme.rule},
    }  # fmt: skip


def note(play: Play, x: float, y: float, text: str, size: float, ink: str, anchor: str = "left") -> Trace:
    return {
        "xref": "x", "yref": "y", "x": x, "y": y, "xanchor": anchor, "yanchor": "middle", "showarrow": False,
        "borderpad": 0, "text": text, "font": {"size": size, "color": ink},
    }  # fmt: skip


def captions(play: Play) -> list[Trace]:
    """Each track's name above it; 0 and the highest value at its left."""
    form, theme, drawn = play.form, play.theme, []
    for track, (name, _) in enumerate(play.tracks):
        upper, lower = play.box(track)
        ink = color(play)[track]
        drawn.append(
            note(
                play,
                form.x0,
                upper - form.title * 0.95,
                escape(play.translate(TITLES[name])),
                form.title,
                ink,
            )
        )
        for y, text in ((upper, number(play.top(track), 2)), (lower, "0")):
            drawn.append(note(play, form.x0 - 6, y, text, form.note, theme.muted, "right"))
    return drawn


def ticks(play: Play) -> list[Trace]:
    """The first moment, powers of ten, and the last."""
    last = int(play.info.steps[-1])
    marked = [0, *(10**power for power in range(1, 9) if last / EVEN < 10**power < last / 2), last]
    said = [f"{step:,}" for step in marked[:-1]] + [play.translate("step {step}").format(step=f"{last:,}")]
    y = play.form.y1 + play.form.note * 1.1
    anchors = ["left", *["center"] * (len(marked) - 2), "right"]
    return [
        note(play, float(x), y, escape(text), play.form.note, play.theme.muted, anchor)
        for x, text, anchor in zip(play.x(marked), said, anchors, strict=True)
    ]


def moments(play: Play) -> list[Trace]:
    """What a player shows of each moment: its step, and the numbers of the head."""
    _, info = play.translate, play.info
    last, drawn = int(info.steps[-1]), []
    for at, step in enumerate(info.steps.tolist()):
        sentence = ", ".join(
            f"{_(TITLES[name])}: {cell_weight(value, wide=True) if play.top(track) == 1.0 else number(value)}"
            for track, (name, values) in enumerate(play.tracks)
            for value in [float(values[at, play.own(track)])]
        )
        heading = _("After {step} of {last} steps").format(step=f"{step:,}", last=f"{last:,}")
        drawn.append({
            "name": str(step), "beat": step, "short": f"{step:,}", "heading": heading,
            "title": heading, "sentence": sentence, "equation": [], "taps": [], "span": [0, play.form.height],
        })  # fmt: skip
    return drawn
