"""Curves of runs, one panel a quantity, side by side on a sheet: lines over steps, and maps of layers over steps.

What a line is shows in its width, its dots and dashes; whose it is, where there are several runs, in its colour. The
axis of steps is as long as the run will be, so that nothing moves while the lines grow. Where a running mean is drawn,
what was measured stays in sight behind it, and the sheet says what the mean is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.analysis.lines import LayerMap, Line, Panel
from engine.config import N_
from engine.figures.axes import step_axis, value_axis
from engine.figures.boards import Board
from engine.figures.drawing import Trace
from engine.figures.layer_map import draw_map
from engine.figures.panel_sheet import Sheet, Translate
from engine.figures.quantities import LEGENDS
from engine.figures.strips import typed
from engine.figures.theme import Theme, escape, mix, series_color, shorten, text_width

if TYPE_CHECKING:
    import plotly.graph_objects as go

LEADING = 1.75  # height of a line of words, over their size
MEANS = N_("Faint: as measured. Strong: exponential mean up to there, debiased, half-life {half_life} steps.")
SIGNS = {"batch": "—", "head": "—", "held_out": "●", "written": "◆", "best": "━"}


def curves(
    parts: Sequence[Panel | LayerMap], *, theme: Theme, board: Board, translate: Translate
) -> go.Figure:
    """The figure, for a notebook."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    return go.Figure(curves_spec(parts, theme=theme, board=board, translate=translate))


def curves_spec(
    parts: Sequence[Panel | LayerMap],
    *,
    theme: Theme,
    board: Board,
    translate: Translate,
    mark: int | None = None,
) -> dict:
    """The figure as plotly.js reads it, panels in rows of `board.columns`; what holds for all of them on top.

    mark: a step that somebody is led to, marked in each panel whose axis has it.
    """
    shared = [*names_of_runs(parts, theme, board), *means(parts, translate)]
    board = replace(board, head=board.head + round(LEADING * board.note * len(shared)))
    sheet = Sheet(theme, board, translate, len(parts))
    for index, part in enumerate(parts):
        draw_map(sheet, index, part) if isinstance(part, LayerMap) else draw_lines(sheet, index, part)
        if mark is not None and mark <= part.until:
            sheet.mark(index, mark, part.until)
    for row, words in enumerate(shared):
        sheet.write(0, LEADING * board.note * (row + 0.45), words, board.note, theme.muted)
    return {"data": sheet.traces, "layout": sheet.layout(), "frames": []}


def names_of_runs(parts: Sequence[Panel | LayerMap], theme: Theme, board: Board) -> list[str]:
    """Lines with the colour of each run, where there are several; as many in a line as fit."""
    named = {line.run: line.label for part in parts if isinstance(part, Panel) for line in part.lines}
    rows, left = [[]], 0.0
    for run, label in named.items() if len(named) > 1 else ():
        label = shorten(label, 30)
        width = (text_width(label) + 3.4) * board.note
        if left + width > board.width and rows[-1]:
            rows, left = [*rows, []], 0.0
        left += width
        rows[-1].append(f"<span style='color:{series_color(theme, run)}'>━</span> {escape(label)}")
    return ["    ".join(row) for row in rows if row]


def means(parts: Sequence[Panel | LayerMap], translate: Translate) -> list[str]:
    """How lines were calmed, where some were."""
    panels = [part for part in parts if isinstance(part, Panel)]
    lives = {line.half_life for panel in panels for line in panel.lines if line.half_life}
    return [translate(MEANS).format(half_life=f"{life:g}") for life in sorted(lives)]


def draw_lines(sheet: Sheet, index: int, panel: Panel) -> None:
    slot = sheet.board.slot(index)
    axes = sheet.add_axes(index, slot, step_axis(panel.until, sheet.translate), value_axis(panel))
    several = len({line.run for line in panel.lines}) > 1
    calmed = any(line.half_life for line in panel.lines)
    for line in panel.lines:
        trace = stroke(line, sheet.theme, several)
        sheet.traces.append((faint(trace, sheet.theme) if calmed and not line.half_life else trace) | axes)
    sheet.title(slot, panel.quantity, "" if several else legend(panel, sheet))


def faint(trace: Trace, theme: Theme) -> Trace:
    """What was measured, behind its running mean."""
    return {**trace, "line": {**trace["line"], "color": mix(theme.ground, trace["line"]["color"], 0.28)}}


def stroke(line: Line, theme: Theme, several: bool) -> Trace:
    """One line. Held-out values were measured at few steps: dots say where; and a line of one point is a dot."""
    color = series_color(theme, line.run) if several else mark_color(theme, line.mark)
    alone = {"size": 4} if len(line.steps) == 1 else None
    dots = {"held_out": {"size": 5}, "written": {"size": 6, "symbol": "diamond"}}.get(line.mark, alone)
    return {
        "type": "scatter", "mode": "lines+markers" if dots else "lines",
        "x": line.steps.tolist(), "y": typed(line.values),
        "line": {
            "color": color,
            "width": 1.8 if line.half_life else {"batch": 1, "head": 1, "best": 3}.get(line.mark, 1.6),
            "dash": "dot" if line.mark == "written" else "solid",
        },
        "text": escape(line.label), "hovertemplate": "%{text}<br>%{x}:\u00a0%{y:.4g}<extra></extra>",
        **({"marker": {"color": color, **dots}} if dots else {}),
    }  # fmt: skip


def mark_color(theme: Theme, mark: str) -> str:
    """Of a single run: what it learns from is quiet, what it was not shown is not."""
    quiet = mix(theme.ground, theme.muted, 0.7)
    return {"held_out": theme.accent, "written": theme.value, "best": theme.accent}.get(mark, quiet)


def legend(panel: Panel, sheet: Sheet) -> str:
    """Of a single run: signs with their words, of each kind of line."""
    drawn = {line.mark for line in panel.lines if len(line.steps)}
    return "   ".join(
        f"<span style='color:{mark_color(sheet.theme, mark)}'>{SIGNS[mark]}</span> {escape(sheet.translate(said))}"
        for mark, said in LEGENDS.get(panel.quantity, {}).items()
        if mark in drawn
    )
