"""A map of layers over the steps of a run, one row a layer."""

from __future__ import annotations

import math

import numpy as np

from engine.analysis.lines import LayerMap
from engine.config import N_
from engine.figures.axes import step_axis
from engine.figures.panel_sheet import Sheet, Translate
from engine.figures.strips import typed
from engine.figures.theme import escape, number, text_width

STACKS = {"encoder": N_("encoder"), "decoder": N_("decoder")}
PARTS = {  # of a stack, beside its layers
    "norm": N_("{stack} final norm"),
    "positions": N_("{stack} positions"),
    "segments": N_("{stack} segments"),
    "": N_("{stack} outside its layers"),  # so it was told once
}
ALONE = {"embedding": N_("embedding"), "head": N_("output")}


def draw_map(sheet: Sheet, index: int, layers: LayerMap) -> None:
    """Darker is more, by the logarithm; the range is that of the numbers, and stands beside the title."""
    names = [escape(named(layer, sheet.translate)) for layer in layers.layers]
    room = max([sheet.board.names, *((text_width(name) + 0.8) * sheet.board.note for name in names)])
    slot, theme = sheet.board.slot(index, room), sheet.theme
    rows = list(range(len(names)))
    # of many layers as many are named, from the first one on, as stand below each other without touching
    every = max(1, math.ceil(len(names) * 1.2 * sheet.board.note / (slot.bottom - slot.top)))
    ticks = {"tickvals": rows[::every], "ticktext": names[::every]}
    axes = sheet.add_axes(
        index, slot, step_axis(layers.until, sheet.translate),
        {"range": [len(names) - 0.5, -0.5], **ticks, "showgrid": False},
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


def named(layer: str, translate: Translate) -> str:
    """A layer as a run tells of it, "encoder.layers.0" or "encoder.norm", in words; what has none stays as it is."""
    stack, _dot, rest = layer.partition(".")
    if stack not in STACKS:
        return translate(ALONE.get(layer, layer))
    told, number_of = translate(STACKS[stack]), rest.removeprefix("layers.")
    return translate(PARTS[rest]).format(stack=told) if rest in PARTS else f"{told} {number_of}"
