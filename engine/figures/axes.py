"""The axes of a panel of curves: where they begin and end, and which numbers stand beside them."""

from __future__ import annotations

import math

import numpy as np

from engine.analysis.lines import Panel
from engine.figures.drawing import Trace
from engine.figures.panel_sheet import Translate
from engine.figures.theme import MINUS, number

SHARES = ("right", "accuracy", "exact", "alignment")
LOGARITHMIC = ("gradient_norm",)


def step_axis(until: int, translate: Translate) -> Trace:
    last = translate("step {step}").format(step=f"{until:,}")
    return {
        "range": [0, until],
        "tickvals": [0, until / 2, until],
        "ticktext": ["0", f"{until / 2:,.0f}", last],
    }


def value_axis(panel: Panel) -> Trace:
    """Shares from 0 to 1, logarithms by whole powers of ten, everything else from 0 to a little above the highest."""
    if panel.quantity in SHARES:
        return {"range": [-0.02, 1.02], "tickvals": [0, 0.5, 1], "ticktext": ["0", ".5", "1"]}
    values = np.concatenate([np.zeros(0), *(line.values for line in panel.lines)])
    if panel.quantity in LOGARITHMIC:
        low, high = powers(values)
        ticks = [10.0**power for power in range(low, high + 1, 1 if high - low < 6 else 2)]
        return {
            "type": "log",
            "range": [low, high],
            "tickvals": ticks,
            "ticktext": [number(tick, 1) for tick in ticks],
        }
    values = values[np.isfinite(values)]
    top = float(values.max()) if values.size and values.max() > 0 else 1.0
    ticks = [0.0, round_half(top), 2 * round_half(top)]
    return {
        "range": [0, top * 1.05],
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" for tick in ticks],
    }


def round_half(top: float) -> float:
    """The largest of 1, 2, 2.5 and 5 times a power of ten that is at most half of `top`."""
    power = 10.0 ** math.floor(math.log10(top / 2))
    return max(step for step in (power, 2 * power, 2.5 * power, 5 * power) if step <= top / 2)


def powers(values: np.ndarray) -> tuple[int, int]:
    """The powers of ten around all positive values."""
    positive = values[np.isfinite(values) & (values > 0)]
    if not positive.size:
        return -1, 1
    low, high = math.floor(math.log10(positive.min())), math.ceil(math.log10(positive.max()))
    return low, max(high, low + 1)


def ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """Round numbers from low to high: multiples of 1, 2 or 5 times a power of ten, at most so many."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(s for s in (power, 2 * power, 5 * power, 10 * power) if (high - low) / s < most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def said(tick: float) -> str:
    """A tick in few characters."""
    return f"{tick:,.12g}".replace("-", MINUS) if 1e-3 <= abs(tick) < 1e6 or tick == 0 else number(tick, 1)
