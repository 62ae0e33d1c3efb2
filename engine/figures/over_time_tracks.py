"""The tracks of attention over training time: loss and scores of all heads, one below the other on one axis of time."""

from __future__ import annotations

from engine.figures.drawing import Trace
from engine.figures.over_time_play import EVEN, Play
from engine.figures.quantities import SCORES
from engine.figures.theme import escape, mix, number
from engine.figures.words import words


def curves(play: Play) -> list[Trace]:
    """All heads of a track quietly, the one that is shown over them."""
    drawn = []
    for track, (_, values) in enumerate(play.tracks):
        own = play.own(track)
        rest = [head for head in range(values.shape[1]) if head != own]
        quiet = mix(play.theme.ground, play.theme.muted, 0.45)
        drawn += [stroke(play, track, head, quiet, 1) for head in rest]
        drawn.append(stroke(play, track, own, color(play)[track], 2))
    return drawn


def stroke(play: Play, track: int, head: int, ink: str, width: float) -> Trace:
    name, values = play.tracks[track]
    place = play.look.places[head]
    whose = (
        ""
        if name == "loss"
        else play.translate("layer {layer}, head {head}").format(layer=place.layer, head=place.head)
    )
    numbers = [
        f"{step:,}: {number(float(value))}"
        for step, value in zip(play.info.steps, values[:, head], strict=True)
    ]
    return {
        "type": "scatter", "mode": "lines", "line": {"color": ink, "width": width},
        "x": play.xs.round(1).tolist(), "y": play.y(track, values[:, head]).round(1).tolist(),
        "text": numbers, "hovertemplate": f"{escape(whose)}{'<br>' if whose else ''}%{{text}}<extra></extra>",
    }  # fmt: skip


def half_mark(play: Play) -> list[Trace]:
    """Where the telling score first passes half of its final value."""
    half = play.info.half(play.kind, play.head, play.look.telling)
    track = [name for name, _ in play.tracks].index(play.look.telling)
    if half is None:
        return []
    (x,), (upper, lower) = play.x([half]), play.box(track)
    line: Trace = {
        "type": "scatter", "mode": "lines", "x": [float(x)] * 2, "y": [upper, lower], "hoverinfo": "skip",
        "line": {"color": play.theme.accent, "width": 1.6, "dash": "dot"},
    }  # fmt: skip
    said = play.translate("half at step {step}").format(step=f"{half:,}")
    right = x > (play.form.x0 + play.form.x1) / 2
    side = "middle left" if right else "middle right"
    at = float(x) + (-4 if right else 4)
    return [
        line,
        words([at], [upper + play.form.note * 0.4], [escape(said)], play.form.note, play.theme.accent, side),
    ]


def color(play: Play) -> list[str]:
    return [play.theme.value if name == "loss" else play.theme.accent for name, _ in play.tracks]


def baseline(play: Play, track: int) -> Trace:
    _, lower = play.box(track)
    return {
        "type": "line", "x0": play.form.x0, "x1": play.form.x1, "y0": lower, "y1": lower, "layer": "below",
        "line": {"width": 1, "color": play.theme.rule},
    }  # fmt: skip


def captions(play: Play) -> list[Trace]:
    """Each track's name above it; 0 and the highest value at its left."""
    form, theme, drawn = play.form, play.theme, []
    for track, (name, _) in enumerate(play.tracks):
        upper, lower = play.box(track)
        ink = color(play)[track]
        drawn.append(
            note(
                play,
                form.x0,
                upper - form.title * 0.95,
                escape(play.translate(SCORES[name])),
                form.title,
                ink,
            )
        )
        for y, text in ((upper, number(play.top(track), 2)), (lower, "0")):
            drawn.append(note(play, form.x0 - 6, y, text, form.note, theme.muted, "right"))
    return drawn


def ticks(play: Play) -> list[Trace]:
    """The first moment, powers of ten, and the last."""
    last = int(play.info.steps[-1])
    marked = [0, *(10**power for power in range(1, 9) if last / EVEN < 10**power < last / 2), last]
    said = [f"{step:,}" for step in marked[:-1]] + [play.translate("step {step}").format(step=f"{last:,}")]
    y = play.form.y1 + play.form.note * 1.1
    anchors = ["left", *["center"] * (len(marked) - 2), "right"]
    return [
        note(play, float(x), y, escape(text), play.form.note, play.theme.muted, anchor)
        for x, text, anchor in zip(play.x(marked), said, anchors, strict=True)
    ]


def note(play: Play, x: float, y: float, text: str, size: float, ink: str, anchor: str = "left") -> Trace:
    return {
        "xref": "x", "yref": "y", "x": x, "y": y, "xanchor": anchor, "yanchor": "middle", "showarrow": False,
        "borderpad": 0, "bgcolor": play.theme.ground, "text": text, "font": {"size": size, "color": ink},
    }  # fmt: skip
