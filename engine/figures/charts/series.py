"""The series of a chart as traces. What belongs together has one colour.

Measurements of one kind are a line, with a band where they lie apart; a formula's line is dotted, a histogram filled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.analysis.charts import Series
from engine.figures.axes import said
from engine.figures.drawing import Trace
from engine.figures.panel_sheet import Sheet
from engine.figures.strips import typed
from engine.figures.theme import escape, mix, number, series_color

DOTTED = 24  # points, up to which each has a dot


@dataclass(frozen=True)
class Pen:
    """What a series is drawn with. thick: width of a line that was measured, in pixels of the sheet."""

    color: str
    ground: str
    thick: float

    def mixed(self, share: float) -> str:
        return mix(self.ground, self.color, share)


def drawn(series: Series, sheet: Sheet) -> list[Trace]:
    """The traces of a series: its band below it, where there is one."""
    pen = Pen(series_color(sheet.theme, series.hue), sheet.theme.ground, sheet.board.note / 5.2)
    name = escape(sheet.translate(series.label))
    words = [
        f"{name} {said(float(x))}: {number(float(y), 4)}".strip()
        for x, y in zip(series.x, series.y, strict=True)
    ]
    trace: Trace = {
        "type": "scatter", "x": typed(series.x), "y": typed(series.y), "customdata": words,
        "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip
    return [*band(series, pen), trace | LOOKS[series.drawn](pen, len(series.x))]


def band(series: Series, pen: Pen) -> list[Trace]:
    if series.low is None or series.high is None:
        return []
    there = np.isfinite(series.low) & np.isfinite(series.high)
    x = np.concatenate([series.x[there], series.x[there][::-1]])
    y = np.concatenate([series.high[there], series.low[there][::-1]])
    return [{
        "type": "scatter", "mode": "lines", "x": typed(x), "y": typed(y), "fill": "toself",
        "fillcolor": pen.mixed(0.22), "line": {"width": 0}, "hoverinfo": "skip",
    }]  # fmt: skip


def line(pen: Pen, points: int) -> Trace:
    strokes = {"line": {"color": pen.color, "width": pen.thick}}
    return (
        dots(pen, points) | strokes | {"mode": "lines+markers"}
        if points <= DOTTED
        else {"mode": "lines"} | strokes
    )


def dots(pen: Pen, points: int) -> Trace:
    return {"mode": "markers", "marker": {"color": pen.color, "size": 2.3 * pen.thick}}


def theory(pen: Pen, points: int) -> Trace:
    return {"mode": "lines", "line": {"color": pen.mixed(0.75), "width": 0.7 * pen.thick, "dash": "dot"}}


def bars(pen: Pen, points: int) -> Trace:
    return {
        "mode": "lines", "line": {"color": pen.color, "width": 0.55 * pen.thick, "shape": "hvh"}, "fill": "tozeroy",
        "fillcolor": pen.mixed(0.3),
    }  # fmt: skip


LOOKS = {"line": line, "dots": dots, "theory": theory, "bars": bars}
