"""The sheet of a pair: two slots of equal size, beside each other or, on a phone, below each other.

All places are in the sheet's own pixels, y downwards; the axes of both slots are pixels of the sheet too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.config import N_
from engine.figures.drawing import CLEAR, Trace
from engine.figures.theme import FONT, Theme, escape, shorten, text_width

Translate = Callable[[str], str]
TITLE = 12  # ems that a title takes without what is drawn: the name, and a remark
SIDES = {"broken": (N_("broken"), "✗"), "mended": (N_("mended"), "✓")}


@dataclass(frozen=True)
class Form:
    """beside: or below each other. title, note: sizes of words. height: of axes. cell: the largest. tall: of a grid."""

    name: str
    width: int
    beside: bool
    title: float
    note: float
    height: int
    cell: float
    tall: float
    gap: int = 36

    @property
    def slot(self) -> float:
        """Width of one of the two."""
        return (self.width - self.gap) / 2 if self.beside else self.width

    def wraps(self, quantity: str) -> bool:
        """Whether what is drawn needs a line of its own in the titles."""
        return (text_width(quantity) + TITLE) * self.title > self.slot

    def head(self, quantity: str) -> float:
        """Room for a title."""
        return 1.9 * self.title + (1.5 * self.note if self.wraps(quantity) else 0)


FORMS = {
    "wide": Form("wide", 1216, True, title=15, note=13, height=210, cell=46, tall=400),
    "talk": Form("talk", 1216, True, title=26, note=20, height=330, cell=56, tall=400),
    "narrow": Form("narrow", 358, False, title=15, note=12.5, height=170, cell=40, tall=330),
}


def side_color(theme: Theme, side: str) -> str:
    return theme.key if side == "broken" else theme.value


@dataclass
class Pair:
    """What is drawn so far. slot_height: of one of the two; foot: room below both; wrapped: titles take two lines."""

    form: Form
    theme: Theme
    translate: Translate
    slot_height: float
    foot: float = 0
    wrapped: bool = False
    traces: list[Trace] = field(default_factory=list)
    annotations: list[Trace] = field(default_factory=list)

    @property
    def height(self) -> int:
        rows = 1 if self.form.beside else 2
        return round(rows * self.slot_height + (rows - 1) * self.form.gap / 2 + self.foot)

    def origin(self, side: str) -> tuple[float, float]:
        """Left and top of a slot."""
        if side == "broken":
            return 0.0, 0.0
        return (
            (self.form.slot + self.form.gap, 0.0)
            if self.form.beside
            else (0.0, self.slot_height + self.form.gap / 2)
        )

    def write(
        self, x: float, y: float, text: str, size: float, color: str, anchor: str = "left", **more: object
    ) -> None:
        """Words at a place; anchor: which side of them stands there."""
        self.annotations.append({
            "xref": "x", "yref": "y", "x": round(x, 1), "y": round(y, 1), "xanchor": anchor, "yanchor": "middle",
            "align": "left", "showarrow": False, "borderpad": 0, "text": text, "font": {"size": size, "color": color},
            **more,
        })  # fmt: skip

    def title(self, side: str, quantity: str, remark: str = "") -> None:
        """Which of the two it is, what is drawn, and a remark on this one."""
        (x, y), (name, sign), size = self.origin(side), SIDES[side], self.form.title
        color = side_color(self.theme, side)
        words = [
            f"<span style='color:{color}'><b>{sign} {escape(self.translate(name))}</b></span>",
            "" if self.wrapped else escape(quantity),
            f"<b>{escape(remark)}</b>" if remark else "",
        ]
        self.write(x, y + 0.8 * size, "  ".join(filter(None, words)), size, self.theme.ink)
        if self.wrapped:
            text = escape(shorten(quantity, self.form.slot / self.form.note))
            self.write(x, y + 1.8 * size + 0.5 * self.form.note, text, self.form.note, self.theme.ink)

    def line(
        self, xs: list, ys: list, color: str, width: float = 1, dash: str = "solid", **more: object
    ) -> None:
        self.traces.append({
            "type": "scatter", "mode": "lines", "x": xs, "y": ys, "hoverinfo": "skip",
            "line": {"color": color, "width": width, "dash": dash}, **more,
        })  # fmt: skip

    def spec(self) -> dict:
        """The figure as plotly.js reads it."""
        theme = self.theme
        layout = {
            "width": self.form.width, "height": self.height, "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "xaxis": {"range": [0, self.form.width], "visible": False, "fixedrange": True},
            "yaxis": {"range": [self.height, 0], "visible": False, "fixedrange": True},
            "annotations": self.annotations, "paper_bgcolor": theme.ground, "plot_bgcolor": CLEAR,
            "font": {"family": FONT, "color": theme.ink}, "showlegend": False, "hovermode": "closest",
            "hoverlabel": {
                "bgcolor": theme.surface, "bordercolor": theme.rule, "font": {"color": theme.ink, "size": 13},
            },
            "meta": {"format": self.form.name}, "template": {},
        }  # fmt: skip
        return {"data": self.traces, "layout": layout, "frames": []}
