"""A sheet of panels while it is drawn: axes, traces and words, all in the sheet's own pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.figures.boards import Board, Slot
from engine.figures.drawing import CLEAR, Trace
from engine.figures.quantities import TITLES
from engine.figures.theme import FONT, Theme, escape

Translate = Callable[[str], str]


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
        self.shapes: list[Trace] = []

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

    def mark(self, index: int, step: int, until: int) -> None:
        """A dotted line through a panel at a step, and which it is, on the side where there is more room."""
        axis, color = str(index + 1) if index else "", self.theme.query
        place = {"xref": f"x{axis}", "yref": f"y{axis} domain"}
        line = {"color": color, "width": self.board.note / 8, "dash": "dot"}
        self.shapes.append({**place, "type": "line", "x0": step, "x1": step, "y0": 0, "y1": 1, "line": line})
        left = step > until / 2
        self.annotations.append({
            **place, "x": step, "y": 1, "yanchor": "top", "xanchor": "right" if left else "left",
            "xshift": -3 if left else 3, "showarrow": False, "borderpad": 1, "bgcolor": self.theme.ground,
            "text": self.translate("step {step}").format(step=f"{step:,}"),
            "font": {"size": self.board.note, "color": color},
        })  # fmt: skip

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
        if legend:
            self.write(slot.x0, slot.y0 + self.board.title * 2.1, legend, self.board.note, self.theme.muted)

    def layout(self) -> Trace:
        return {
            "width": self.board.width, "height": self.height, "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            **self.axes, "annotations": self.annotations, "shapes": self.shapes,
            "paper_bgcolor": self.theme.ground, "plot_bgcolor": CLEAR,
            "font": {"family": FONT, "color": self.theme.ink}, "showlegend": False, "hovermode": "closest",
            "hoverlabel": {
                "bgcolor": self.theme.surface, "bordercolor": self.theme.rule,
                "font": {"color": self.theme.ink, "size": 13},
            },
            "meta": {"format": self.board.name}, "template": {},
        }  # fmt: skip
