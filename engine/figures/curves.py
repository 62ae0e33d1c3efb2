"""Curves of runs, one panel a quantity, side by side on a sheet: lines over steps, and maps of layers over steps.

What a line is shows in its width, its dots and dashes; whose it is, where there are several runs, in its colour. The
axis of steps is as long as the run will be, so that nothing moves while the lines grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.curves import LayerMap, Line, Panel
from engine.config import N_
from engine.figures.boards import Board, Slot
from engine.figures.drawing import CLEAR, Trace
from engine.figures.strips import typed
from engine.figures.theme import FONT, Theme, escape, mix, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

Translate = Callable[[str], str]
TITLES = {
    "loss": (N_("Loss"), N_("nats a token")),
    "held_out_loss": (N_("Loss, held out"), N_("nats a token")),
    "right": (N_("Right"), N_("share")),
    "accuracy": (N_("Right tokens, held out"), N_("share")),
    "exact": (N_("Right answers, held out"), N_("share")),
    "alignment": (N_("Heads on the true place"), N_("share")),
    "entropy": (N_("Entropy of each head"), N_("nats")),
    "learning_rate": (N_("Learning rate"), ""),
    "gradient_norm": (N_("Norm of the gradient"), N_("log scale")),
    "gradient_norms": (N_("Norm of the gradient, by layer"), N_("log scale")),
    "update_ratios": (N_("Length of a step over that of the weights"), N_("log scale")),
}
LEGENDS = {
    "loss": {"batch": N_("this batch"), "held_out": N_("held out")},
    "right": {"batch": N_("tokens"), "held_out": N_("held out"), "written": N_("whole answers")},
    "alignment": {"best": N_("best head"), "head": N_("others")},
    "entropy": {"head": N_("heads")},
}
SHARES = ("right", "accuracy", "exact", "alignment")
LOGARITHMIC = ("gradient_norm",)
SIGNS = {"batch": "—", "head": "—", "held_out": "●", "written": "◆", "best": "━"}


def curves(
    parts: Sequence[Panel | LayerMap], *, theme: Theme, board: Board, translate: Translate
) -> go.Figure:
    """The figure, for a notebook."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    return go.Figure(curves_spec(parts, theme=theme, board=board, translate=translate))


def curves_spec(
    parts: Sequence[Panel | LayerMap], *, theme: Theme, board: Board, translate: Translate
) -> dict:
    """The figure as plotly.js reads it, panels in rows of `board.columns`."""
    sheet = Sheet(theme, board, translate, len(parts))
    for index, part in enumerate(parts):
        draw_map(sheet, index, part) if isinstance(part, LayerMap) else draw_lines(sheet, index, part)
    return {"data": sheet.traces, "layout": sheet.layout(), "frames": []}


@dataclass
class Sheet:
    """What is drawn so far."""

    theme: Theme
    board: Board
    translate: Translate
    count: int

    def __post_init__(self) -> None:
        self.traces: list[Trace] = []
        self.axes: dict[str, Trace] = {}
        self.annotations: list[Trace] = []

    @property
    def height(self) -> int:
        return self.board.height(self.count)

    def add_axes(self, index: int, slot: Slot, x: Trace, y: Trace) -> dict[str, str]:
        """Axes of the panel, in the slot's pixels; what a trace needs to be drawn on them."""
        number = str(index + 1) if index else ""
        plain = {
            "tickfont": {"size": self.board.note, "color": self.theme.muted}, "fixedrange": True, "zeroline": False,
            "tickcolor": self.theme.rule, "linecolor": self.theme.rule, "gridcolor": self.theme.rule,
        }  # fmt: skip
        across = [slot.left / self.board.width, slot.right / self.board.width]
        up = [1 - slot.bottom / self.height, 1 - slot.top / self.height]
        self.axes[f"xaxis{number}"] = {
            **plain, "showgrid": False, "ticks": "outside", "ticklen": 3, "domain": across, "anchor": f"y{number}", **x,
        }  # fmt: skip
        self.axes[f"yaxis{number}"] = {**plain, "domain": up, "anchor": f"x{number}", **y}
        return {"xaxis": f"x{number}", "yaxis": f"y{number}"}

    def write(self, x: float, y: float, text: str, size: float, color: str) -> None:
        """Words that begin at a place of the sheet, in pixels."""
        self.annotations.append({
            "xref": "paper", "yref": "paper", "x": x / self.board.width, "y": 1 - y / self.height,
            "xanchor": "left", "yanchor": "middle", "align": "left", "showarrow": False, "borderpad": 0,
            "text": text, "font": {"size": size, "color": color},
        })  # fmt: skip

    def title(self, slot: Slot, quantity: str, legend: str, remark: str = "") -> None:
        title, unit = TITLES[quantity]
        words = [
            f"<b>{escape(self.translate(title))}</b>",
            remark or (escape(self.translate(unit)) if unit else ""),
        ]
        self.write(
            slot.x0,
            slot.y0 + self.board.title * 0.7,
            "  ".join(filter(None, words)),
            self.board.title,
            self.theme.ink,
        )
        self.write(slot.x0, slot.y0 + self.board.title * 2.1, legend, self.board.note, self.theme.muted)

    def layout(self) -> Trace:
        return {
            "width": self.board.width, "height": self.height, "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            **self.axes, "annotations": self.annotations, "paper_bgcolor": self.theme.ground, "plot_bgcolor": CLEAR,
            "font": {"family": FONT, "color": self.theme.ink}, "showlegend": False, "hovermode": "closest",
            "hoverlabel": {
                "bgcolor": self.theme.surface, "bordercolor": self.theme.rule,
                "font": {"color": self.theme.ink, "size": 13},
            },
            "meta": {"format": self.board.name}, "template": {},
        }  # fmt: skip


def draw_lines(sheet: Sheet, index: int, panel: Panel) -> None:
    slot = sheet.board.slot(index)
    axes = sheet.add_axes(index, slot, step_axis(panel.until, sheet.translate), value_axis(panel))
    several = len({line.run for line in panel.lines}) > 1
    for line in panel.lines:
        sheet.traces.append(stroke(line, sheet.theme, several) | axes)
    sheet.title(slot, panel.quantity, legend(panel, sheet, several))


def stroke(line: Line, theme: Theme, several: bool) -> Trace:
    """One line. Held-out values were measured at few steps: dots say where."""
    color = run_color(theme, line.run) if several else mark_color(theme, line.mark)
    dots = {"held_out": {"size": 5}, "written": {"size": 6, "symbol": "diamond"}}.get(line.mark)
    return {
        "type": "scatter", "mode": "lines+markers" if dots else "lines",
        "x": line.steps.tolist(), "y": typed(line.values),
        "line": {
            "color": color, "width": {"batch": 1, "head": 1, "best": 3}.get(line.mark, 1.6),
            "dash": "dot" if line.mark == "written" else "solid",
        },
        "text": escape(line.label), "hovertemplate": "%{text}<br>%{x}:\u00a0%{y:.4g}<extra></extra>",
        **({"marker": {"color": color, **dots}} if dots else {}),
    }  # fmt: skip


def mark_color(theme: Theme, mark: str) -> str:
    """Of a single run: what it learns from is quiet, what it was not shown is not."""
    quiet = mix(theme.ground, theme.muted, 0.7)
    return {"held_out": theme.accent, "written": theme.value, "best": theme.accent}.get(mark, quiet)


def run_color(theme: Theme, run: int) -> str:
    colors = (theme.accent, theme.key, theme.value, theme.query, theme.muted)
    return colors[run % len(colors)]


def legend(panel: Panel, sheet: Sheet, several: bool) -> str:
    """Signs with their words: of each run where there are several, of each kind of line else."""
    if several:
        signs = {
            line.run: (run_color(sheet.theme, line.run), SIGNS[line.mark], line.label) for line in panel.lines
        }
        items = list(signs.values())
    else:
        drawn = {line.mark for line in panel.lines if len(line.steps)}
        words = LEGENDS.get(panel.quantity, {})
        items = [
            (mark_color(sheet.theme, mark), SIGNS[mark], sheet.translate(said))
            for mark, said in words.items()
            if mark in drawn
        ]
    return "   ".join(
        f"<span style='color:{color}'>{sign}</span> {escape(said)}" for color, sign, said in items
    )


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


def draw_map(sheet: Sheet, index: int, layers: LayerMap) -> None:
    """Darker is more, by the logarithm; the range is that of the numbers, and stands beside the title."""
    slot, theme = sheet.board.slot(index, sheet.board.names), sheet.theme
    names = [escape(layer.replace(".layers.", " ")) for layer in layers.layers]
    rows = list(range(len(names)))
    axes = sheet.add_axes(
        index, slot, step_axis(layers.until, sheet.translate),
        {"range": [len(names) - 0.5, -0.5], "tickvals": rows, "ticktext": names, "showgrid": False},
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
