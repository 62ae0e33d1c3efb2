"""A small drawing for each symptom, in lines of the theme's own colours: drawings, not measurements."""

from __future__ import annotations

import base64

from engine.figures.theme import THEMES
from pages.components.plot import theme_name

FRAME = "M7 5V39H77"  # two axes
CELLS = "h9v9h-9z"
CROSS = "l9 9m0-9l-9 9"


DASHES = " stroke-dasharray='3 4'"
ROLES = {"quiet": "hatch", "dashed": "hatch", "loud": "key", "good": "value"}  # of the theme


def sign(symptom: str) -> str:
    """Its drawing as an image: what is wrong in orange, what would be right in teal."""
    theme = THEMES[theme_name()]
    lines = "".join(
        f"<path d='{path}' stroke='{getattr(theme, ROLES[role])}'{DASHES if role == 'dashed' else ''}/>"
        for role, path in SIGNS[symptom].items()
    )
    drawing = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 84 44' fill='none' stroke-width='1.6' "
        f"stroke-linecap='round' stroke-linejoin='round'>{lines}</svg>"
    )
    data = base64.b64encode(drawing.encode()).decode()
    return f"<img class='atlas-sign' alt='' width='84' height='44' src='data:image/svg+xml;base64,{data}'>"


def at(shape: str, *corners: tuple[float, float]) -> str:
    """The same shape at several places."""
    return "".join(f"M{x} {y}{shape}" for x, y in corners)


LOST = ((34, 18), (46, 6), (46, 18), (46, 30), (58, 18), (58, 30))
FAR = ((46, 18), (58, 18), (70, 18))
OTHER = ((50, 18), (62, 18))
PLAIN = "M8 6h9v9h-9zM20 6h9v9h-9zM50 6h9v9h-9zM62 6h9v9h-9zM8 30h9v9h-9zM20 30h9v9h-9zM50 30h9v9h-9zM62 30h9v9h-9z"
SIGNS: dict[str, dict[str, str]] = {
    "loss_stays": {
        "quiet": FRAME, "dashed": "M10 10C22 28 40 35 75 36",
        "loud": "M10 14L18 12 25 15 33 12 41 14 49 12 57 15 65 13 75 14",
    },
    "nan": {
        "quiet": at(CELLS, (10, 6), (22, 6), (34, 6), (10, 18), (22, 18), (10, 30), (22, 30), (34, 30), (58, 6)),
        "loud": at(CELLS, *LOST) + at(CROSS, *LOST),
    },
    "repeats": {
        "quiet": "M8 10h20M34 10h10M50 10h14M8 22h12",
        "loud": "M26 22h10M42 22h10M58 22h10M8 34h10M24 34h10M40 34h10M56 34h10",
    },
    "endless": {"quiet": "M8 10h12M26 10h20M52 10h10M8 22h18M32 22h10M48 22h18", "loud": "M8 34h62M64 28l7 6-7 6"},
    "good_loss_bad_text": {
        "quiet": "M7 5V39H40", "good": "M10 9C15 30 24 35 39 36",
        "loud": "M50 10l7 7m0-7l-7 7M62 13h8M74 10l4 7M50 26h5M60 22l7 8m0-8l-7 8M73 23v8M50 38h9M64 34l5 6M74 38h5",
    },
    "slow": {
        "quiet": "M25 22a17 17 0 1 0 34 0a17 17 0 1 0-34 0M42 5v3M42 36v3M25 22h3M56 22h3", "loud": "M42 11V22L51 28",
    },
    "long_inputs": {
        "quiet": at(CELLS, (6, 18), (18, 18), (30, 18)), "dashed": "M42.5 6v34",
        "loud": at(CELLS, *FAR) + at(CROSS, *FAR),
    },
    "overfits": {"quiet": FRAME, "good": "M10 9C20 31 40 36 75 37", "loud": "M10 8C22 26 34 30 75 12"},
    "batch": {
        "quiet": PLAIN, "good": at(CELLS, (8, 18), (20, 18)), "loud": at(CELLS, *OTHER) + at(CROSS, *OTHER),
    },
    "elsewhere": {
        "quiet": "M8 8h28v20h-28zM17 36h10M22 28v8M50 8h28v20h-28zM59 36h10M64 28v8",
        "good": "M16 18l5 5 8-9", "loud": "M59 13l10 10m0-10l-10 10",
    },
}  # fmt: skip
