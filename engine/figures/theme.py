"""Colours, text sizes and number formats: one hand for every figure.

Two palettes, light and dark, share their roles: query is blue, key is orange, value is teal, weights are purple,
signed numbers diverge around zero. The pairs were chosen to stay apart for readers with red-green blindness.
`assets/style.css` repeats the same values for the page around the figures (a test holds them equal).
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

MINUS = "\u2212"
MINUS_INFINITY = "\u2212∞"

FONT = "Source Sans, Source Sans Pro, Noto Sans, Noto Sans SC, Noto Sans CJK SC, system-ui, sans-serif"

ThemeName = Literal["light", "dark"]


@dataclass(frozen=True)
class Theme:
    """The colours of one appearance, as `#rrggbb`."""

    name: ThemeName
    ground: str
    surface: str
    ink: str
    muted: str
    rule: str
    accent: str
    query: str
    key: str
    value: str
    faint: str
    hatch: str
    signed: tuple[str, str, str]
    weight: tuple[str, str]

    def signed_color(self, value: float, limit: float) -> str:
        """Colour of a signed number on the scale -limit..limit, neutral at zero."""
        share = 0.0 if limit <= 0 else max(-1.0, min(1.0, value / limit))
        end = self.signed[2] if share > 0 else self.signed[0]
        return mix(self.signed[1], end, abs(share))

    def weight_color(self, weight: float) -> str:
        """Colour of an attention weight; the scale is always 0..1."""
        return mix(*self.weight, max(0.0, min(1.0, weight)))

    def text_on(self, fill: str) -> str:
        """A colour for words on `fill` with a contrast of at least 4.5 (WCAG AA): ink or ground where they do."""
        inks = (self.ink, self.ground, "#000000", "#ffffff")
        return next(ink for ink in inks if contrast(ink, fill) >= 4.5)  # black or white always does


LIGHT = Theme(
    name="light",
    ground="#FCFBF7", surface="#FFFFFF", ink="#1A1F2B", muted="#626875", rule="#E4E2DA",
    accent="#5B2A86", query="#0B5CAD", key="#A94B06", value="#0B6E66",
    faint="#F3F1EA", hatch="#B9B5A8",
    signed=("#1F6FB2", "#F4F1EA", "#CF6A14"),
    weight=("#F3EEF9", "#54237F"),
)  # fmt: skip

DARK = Theme(
    name="dark",
    ground="#14161B", surface="#1C1F26", ink="#ECEAE4", muted="#A3A9B5", rule="#2E323B",
    accent="#C3A2F0", query="#7CB8F7", key="#F2A866", value="#57D3B9",
    faint="#1C1F26", hatch="#5A606D",
    signed=("#5AA9EE", "#23262E", "#EE9A4D"),
    weight=("#23212B", "#C9A8F5"),
)  # fmt: skip

THEMES: dict[str, Theme] = {"light": LIGHT, "dark": DARK}


def channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


@lru_cache(maxsize=4096)
def mix(start: str, end: str, share: float) -> str:
    """The colour `share` (0..1) of the way from `start` to `end`, in sRGB."""
    return "#" + "".join(
        f"{round(a + (b - a) * share):02x}" for a, b in zip(channels(start), channels(end), strict=True)
    )


@lru_cache(maxsize=4096)
def luminance(color: str) -> float:
    """Relative luminance, 0..1 (WCAG 2.2)."""
    shares = [channel / 255 for channel in channels(color)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1..21 (WCAG 2.2)."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def series_color(theme: Theme, index: int) -> str:
    """The colour of what has a number among others on one chart: a run, a kind of series."""
    colors = (theme.accent, theme.key, theme.value, theme.query, theme.muted)
    return colors[index % len(colors)]


def escape(text: str) -> str:
    """Token text, safe inside Plotly's labels, which read tags and entities; & first.

    Quotes stay: Plotly would print their entities.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_width(text: str) -> float:
    """Rough width of `text` in ems: 1 for East Asian wide characters, 0 for combining marks, 0.56 otherwise."""
    return sum(
        0.0 if unicodedata.combining(c) else 1.0 if unicodedata.east_asian_width(c) in "WF" else 0.56
        for c in text
    )


def shorten(text: str, ems: float) -> str:
    """`text` cut with an ellipsis to at most `ems`; the whole text stays in hover and pickers."""
    if text_width(text) <= ems:
        return text
    while text and text_width(text) > ems - 0.8:
        text = text[:-1]
    return text + "…"


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits and a real minus sign; infinities as ∞, tiny numbers as powers."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return MINUS_INFINITY if value < 0 else "∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10**6 or size < 10**-4:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{value:.{min(decimals, 6)}f}".replace("-", MINUS)


def cell_number(value: float, wide: bool) -> str:
    """`value` in the few characters a cell holds: two significant digits when narrow, three when wide."""
    if not math.isfinite(value):
        return number(value)
    size = abs(value)
    if size >= 10**4:
        return number(value, 2 if wide else 1)
    decimals = (2 if wide else 1) if size < 9.95 else (1 if wide and size < 99.5 else 0)
    text = f"{value:.{decimals}f}".replace("-", MINUS)
    return text if float(text.replace(MINUS, "-")) != 0 else "0"


def cell_weight(weight: float, wide: bool) -> str:
    """A number of 0..1 without its leading zero: `.750`, `1.00`; `.000` is a small weight, `0` is none at all."""
    if weight == 0:
        return "0"
    text = f"{weight:.{3 if wide else 2}f}"
    return text[1:] if text.startswith("0") else f"{weight:.{2 if wide else 1}f}"
