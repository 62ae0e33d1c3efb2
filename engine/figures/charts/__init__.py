"""Charts and matrices side by side on a sheet: `engine.analysis.charts`, drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.analysis.charts import Chart, Mark, Matrix, Series
from engine.figures.boards import Board, Slot
from engine.figures.charts.axes import across, upwards
from engine.figures.charts.matrix import draw_matrix
from engine.figures.charts.series import drawn
from engine.figures.drawing import Trace
from engine.figures.panel_sheet import Sheet, Translate
from engine.figures.theme import Theme, escape, series_color, shorten, text_width

if TYPE_CHECKING:
    import plotly.graph_objects as go

SIGNS = {"line": "━", "dots": "●", "bars": "■", "theory": "┅"}
BOARDS = {  # three in a row
    "wide": Board("wide", 1216, 3, 236, title=13.5, note=11.5, names=86, gap=34),
    "talk": Board("talk", 1856, 3, 384, title=25, note=20, names=150, gap=56),
    "narrow": Board("narrow", 358, 1, 236, title=13.5, note=11.5, names=86),
}
FOURS = BOARDS | {
    "wide": replace(BOARDS["wide"], columns=4, panel=262),
    "talk": replace(BOARDS["talk"], columns=4),
}


def charts(parts: Sequence[Chart | Matrix], *, theme: Theme, board: Board, translate: Translate) -> go.Figure:
    """The figure, for a notebook."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    return go.Figure(charts_spec(parts, theme=theme, board=board, translate=translate))


def charts_spec(parts: Sequence[Chart | Matrix], *, theme: Theme, board: Board, translate: Translate) -> dict:
    """The figure as plotly.js reads it, in rows of `board.columns`."""
    sheet = Sheet(theme, board, translate, len(parts))
    for index, part in enumerate(parts):
        slot = board.slot(index, board.names if isinstance(part, Matrix) else None)
        draw_matrix(sheet, index, slot, part) if isinstance(part, Matrix) else draw_chart(
            sheet, index, slot, part
        )
        heading(sheet, slot, part)
    return {"data": sheet.traces, "layout": sheet.layout(), "frames": []}


def draw_chart(sheet: Sheet, index: int, slot: Slot, chart: Chart) -> None:
    x, y = across(chart, sheet), upwards(chart)
    axes = sheet.add_axes(index, slot, x, y)
    for mark in chart.marks:
        sheet.traces.append(mark_line(mark.at, y["range"], "log" in y.get("type", ""), sheet.theme) | axes)
    for series in chart.series:
        sheet.traces += [trace | axes for trace in drawn(series, sheet)]
    for row, mark in enumerate(chart.marks):
        name_mark(sheet, slot, mark, row, x)


def heading(sheet: Sheet, slot: Slot, part: Chart | Matrix) -> None:
    size = sheet.board.title
    title = shorten(sheet.translate(part.title), (slot.right - slot.x0) / size)
    sheet.write(slot.x0, slot.y0 + size * 0.7, f"<b>{escape(title)}</b>", size, sheet.theme.ink)
    below = escape(part.remark) if isinstance(part, Matrix) else legend(part.series, sheet)
    sheet.write(slot.x0, slot.y0 + size * 2.1, below, sheet.board.note, sheet.theme.muted)


def legend(series: Sequence[Series], sheet: Sheet) -> str:
    """Signs with their words; one word for what measured and theory have in common."""
    return "   ".join(
        f"<span style='color:{series_color(sheet.theme, one.hue)}'>{SIGNS[one.drawn]}</span> "
        f"{escape(sheet.translate(one.label))}"
        for one in series
        if one.label
    )


def mark_line(at: float, span: Sequence[float], log: bool, theme: Theme) -> Trace:
    ends = [10.0**end for end in span] if log else [*span]
    return {
        "type": "scatter", "mode": "lines", "x": [at, at], "y": ends, "hoverinfo": "skip",
        "line": {"color": theme.hatch, "width": 1.2, "dash": "dash"},
    }  # fmt: skip


def name_mark(sheet: Sheet, slot: Slot, mark: Mark, row: int, axis: Trace) -> None:
    """The words of a mark at its upper end, each in a row of its own, on the side where there is room."""
    low, high = axis["range"]
    place = math.log10(mark.at) if axis.get("type") == "log" else mark.at
    x = slot.left + (place - low) / (high - low) * (slot.right - slot.left)
    words = sheet.translate(mark.label) if mark.label else ""
    wide = text_width(words) * sheet.board.note
    x = x + 4 if x + wide + 4 < slot.right else x - wide - 4
    y = slot.top + sheet.board.note * (0.7 + 1.3 * row)
    sheet.write(x, y, escape(words), sheet.board.note, sheet.theme.muted)
