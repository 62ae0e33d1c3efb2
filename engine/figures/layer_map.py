"""A map of layers over the steps of a run, one row a layer."""

from __future__ import annotations

import math

import numpy as np

from engine.analysis.lines import LayerMap
from engine.figures.axes import step_axis
from engine.figures.panel_sheet import Sheet
from engine.figures.strips import typed
from engine.figures.theme import escape, number


def draw_map(sheet: Sheet, index: int, layers: LayerMap) -> None:
    """Darker is more, by the logarithm; the range is that of the numbers, and stands beside the title."""
    slot, theme = sheet.board.slot(index, sheet.board.names), sheet.theme
    names = [escape(layer.replace(".layers.", " ")) for layer in layers.layers]
    rows = list(range(len(names)))
    # of many layers as many are named, from the first one on, as stand below each other without touching
    every = max(1, math.ceil(len(names) * 1.2 * sheet.board.note / (slot.bottom - slot.top)))
    named = {"tickvals": rows[::every], "ticktext": names[::every]}
    axes = sheet.add_axes(
        index, slot, step_axis(layers.until, sheet.translate),
        {"range": [len(names) - 0.5, -0.5], **named, "showgrid": False},
    )  # fmt: skip
    positive = layers.values[np.isfinite(layers.values) & (layers.values > 0)]
    if positive.size:
        with np.errstate(divide="ignore"):
            z = np.where(layers.values > 0, np.log10(layers.values), np.nan)
        sheet.traces.append({
            "type": "heatmap", "x": layers.steps.tolist(), "y": rows, "z": typed(z), "customdata": typed(layers.values),
            "colorscale": [[0, theme.faint], [1, theme.ink]], "showscale": False, "hoverongaps": False,
            "hovertemplate": "%{x}:\u00a0%{customdata:.4g}<extra></extra>", **axes,
        })  # fmt: skip
    span = f"{number(float(positive.min()), 2)} … {number(float(positive.max()), 2)}" if positive.size else ""
    scale = f"<span style='color:{theme.hatch}'>■</span> … <span style='color:{theme.ink}'>■</span>  {span}"
    sheet.title(slot, layers.quantity, scale if span else "")
