"""The words on the sheet: names of the lanes, sums of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.cores import core_words
from engine.figures.drawing import CLEAR, Drawing, Part, Trace, each, still
from engine.figures.scaling import scaling

MOST = 64  # numbers of a residual vector that a strip shows

BEAT = {
    "x": 1, "k": 2, "rotated": 3, "products": 4, "scores": 4, "scaled": 5, "biased": 5, "masked": 6, "positive": 7,
    "weights": 7, "values": 8, "heads": 10,
}  # fmt: skip


def words(
    xs: Sequence[float],
    ys: Sequence[float],
    text: Sequence[str],
    size: float,
    color: str | list[str],
    align: str,
) -> Trace:
    """Text on the sheet; `align` is Plotly's textposition, which says on which side of the point the text stands."""
    return {
        "type": "scatter", "mode": "text", "x": list(xs), "y": list(ys), "text": list(text), "textposition": align,
        "hoverinfo": "skip", "textfont": {"size": size, "color": color if isinstance(color, str) else each(color)},
    }  # fmt: skip


def lane_words(drawing: Drawing) -> dict[str, tuple[str, str]]:
    """Name and remark of each lane."""
    _, width = drawing.translate, len(drawing.walk.x_query)
    scaled = scaling(drawing.walk, _)
    hides = not drawing.walk.visible[drawing.walk.query].all()
    return {
        "x": (_("vectors x"), _("{shown} of {width} numbers").format(shown=min(MOST, width), width=width)),
        "k": (_("q and keys k"), _("asked, and offered")),
        "rotated": (_("rotated"), _("by their position")),
        "products": (_("q × k"), _("number by number")),
        "scores": (_("q · k"), _("one sum per key")),
        "scaled": (scaled.sign, scaled.remark),
        "biased": (_("+ bias"), _("by distance")),
        "masked": (_("mask"), _("hidden: minus infinity") if hides else _("nothing is hidden")),
        **core_words(drawing.walk, _).lanes,
        "values": (_("weight × v"), _("what tokens give")),
        "heads": (_("heads → W_O"), _("joined, then added")),
    }


def lane_names(drawing: Drawing) -> list[Part]:
    """Names beside the lanes (above them on a phone); the one on its beat in ink, the others quieter."""
    sheet, theme, form, _ = drawing.sheet, drawing.theme, drawing.sheet.format, drawing.translate
    lanes, boxes = list(sheet.lanes), list(sheet.lanes.values())
    said, zeros = lane_words(drawing), [0.0] * len(lanes)
    shift = form.note * 0.65 if form.remarks else 0
    ys = [box.y0 - form.title * 0.62 if form.labels_above else box.y - shift for box in boxes]

    def titles(step: int) -> Trace:
        now = [BEAT[lane] == drawing.beats[step] or is_values(drawing, lane, step) for lane in lanes]
        names = [
            _("values v") if lane == "values" and step < drawing.at("8") else said[lane][0] for lane in lanes
        ]
        ink = [theme.ink if n else theme.muted for n in now]
        return words(zeros, ys, [f"<b>{name}</b>" for name in names], form.title, ink, "middle right")

    if not form.remarks:
        return [titles]
    below = [box.y + form.title * 0.62 for box in boxes]
    remarks = [said[lane][1] for lane in lanes]
    return [titles, still(words(zeros, below, remarks, form.note, theme.muted, "middle right"))]


def is_values(drawing: Drawing, lane: str, step: int) -> bool:
    """Whether this is the values' lane on the beat that projects them; it has a second beat, its own."""
    return lane == "values" and drawing.beats[step] == 2


def row_sums(drawing: Drawing) -> Part:
    """At the right of the core's two lanes what the first is divided by and the sum of the second, and before z its
    letter.
    """
    walk, sheet, theme = drawing.walk, drawing.sheet, drawing.theme
    core = core_words(walk, str)
    items = [
        ("positive", f"{core.sign} {core.divisor}", drawing.first(7), theme.muted),
        ("weights", f"<b>Σ {walk.row_sum:.3f}</b>", drawing.at("7"), theme.accent),
        ("values", "<b>z</b>", drawing.at("8"), theme.value),
    ]
    ys = [sheet.lanes[lane].y for lane, *_ in items]
    texts = [text for _, text, *_ in items]

    def build(step: int) -> Trace:
        ink = [color if step >= at else CLEAR for *_, at, color in items]
        return words([sheet.sigma] * len(items), ys, texts, sheet.format.title, ink, "middle right")

    return build
