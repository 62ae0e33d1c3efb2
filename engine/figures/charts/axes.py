"""The axes of a chart: where they begin and end, and which numbers stand beside them."""

from __future__ import annotations

import math

import numpy as np

from engine.analysis.charts import Chart
from engine.figures.axes import powers, said, ticks
from engine.figures.drawing import Trace
from engine.figures.panel_sheet import Sheet
from engine.figures.theme import escape

MOST = 6  # numbers of an axis, less one
FEW = 24  # points of a logarithmic axis, up to which its numbers are those that were measured


def across(chart: Chart, sheet: Sheet) -> Trace:
    """The horizontal axis; what it is stands after its last number."""
    x = np.concatenate([one.x for one in chart.series])
    ticks = places(float(x.min()), float(x.max()), x if "x" in chart.log else None)
    texts = [said(tick) for tick in ticks]
    texts[-1] = f"{escape(sheet.translate(chart.over))} {texts[-1]}"
    axis: Trace = {"tickvals": ticks, "ticktext": texts, "range": [float(x.min()), float(x.max())]}
    if "x" in chart.log:
        axis |= {"type": "log", "range": [math.log10(x.min()), math.log10(x.max())]}
    return axis


def upwards(chart: Chart) -> Trace:
    """Shares from 0 to 1, logarithms by whole powers of ten, everything else from 0 or what lies below it."""
    if chart.share:
        return {"range": [-0.02, 1.02], "tickvals": [0, 0.5, 1], "ticktext": ["0", ".5", "1"]}
    y = np.concatenate(
        [part for one in chart.series for part in (one.y, one.low, one.high) if part is not None]
    )
    y = y[np.isfinite(y)]
    if "y" in chart.log:
        low, high = powers(y)
        ticks = [10.0**power for power in range(low, high + 1, max(1, (high - low) // 4))]
        return {
            "type": "log",
            "range": [low, high],
            "tickvals": ticks,
            "ticktext": [said(tick) for tick in ticks],
        }
    low, high = (min(0.0, float(y.min())), max(0.0, float(y.max()))) if y.size else (0.0, 1.0)
    high = high if high > low else low + 1.0
    ticks = places(low, high)
    room = 0.05 * (high - low)
    return {
        "range": [low - room if low < 0 else low, high + room], "tickvals": ticks,
        "ticktext": [said(tick) for tick in ticks],
    }  # fmt: skip


def places(low: float, high: float, points: np.ndarray | None = None) -> list[float]:
    """Round numbers from low to high; of a logarithmic axis of few points every second or third of these."""
    if points is not None:
        known = np.unique(points)
        if len(known) > FEW:
            known = 10.0 ** np.arange(
                math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1
            )
        every = -(-len(known) // 5)
        return [float(one) for one in known[::-1][::every][::-1]]
    return [*ticks(low, high, MOST)] if high > low else [low]
