"""Beats 1 to 3: what the head reads, what it makes of it, and where position enters."""

from __future__ import annotations

import numpy as np

from engine.analysis.head_walk import HeadWalk, Rotation
from engine.figures.beats.equations import key_name, of, pair_of, query_name, vector
from engine.figures.beats.step import Step, Translate
from engine.figures.theme import number

NOTICED = 1.001  # times as long; less is what rounding leaves


def tokens(walk: HeadWalk, _: Translate) -> Step:
    width = len(walk.x_query)
    if walk.place.kind == "cross":
        sentence = _(
            "The query comes from a token being written, keys and values from the source: {width} numbers each."
        )
    else:
        sentence = _(
            "Each token reaches layer {layer} as a vector of {width} numbers: all that this head can read."
        )
    equation = (
        ("x", ""), *of(query_name(walk), "query"), (" = ", ""), (vector(walk.x_query), ""),
        ("     x", ""), *of(key_name(walk), "key"), (" = ", ""), (vector(walk.x[walk.column]), ""),
    )  # fmt: skip
    return Step(
        "1", _("tokens"), _("Tokens and their vectors"), sentence.format(layer=walk.place.layer, width=width),
        equation, "x", ("normed",),
    )  # fmt: skip


def projections(walk: HeadWalk, _: Translate) -> Step:
    sentence = _(
        "Three learned matrices make of each vector what it asks (q), what it offers (k) and what it gives (v)."
    )
    b = " + b" if walk.projected_with_bias else ""
    q_made, k_made = (
        f"norm(x W_{part}{b})" if walk.projected_then_normed else f"x W_{part}{b}" for part in "qk"
    )
    key, k, v = of(key_name(walk), "key"), vector(walk.k[walk.column]), vector(walk.v[walk.column])
    equation = (
        ("q", "query"), *of(query_name(walk), "query"), (f" = {q_made} = ", ""), (vector(walk.q), "query"),
        ("     k", "key"), *key, (f" = {k_made} = ", ""), (k, "key"),
        ("     v", "value"), *key, (f" = x W_v{b} = ", ""), (v, "value"),
    )  # fmt: skip
    return Step("2", _("q k v"), _("Query, keys and values"), sentence, equation, "k", ("q", "k", "v"))


def position(walk: HeadWalk, _: Translate) -> Step:
    if walk.rotation is None:
        sentence = unturned(walk, _)
        equation = (("q, k", ""), (" = ", ""), (_("unchanged"), "result"))
        return Step("3", _("position"), _("Position"), sentence, equation, "k", ("q_rotated", "k_rotated"))
    half = len(walk.rotation.frequencies)
    turned = walk.rotation.k[walk.column]
    before = walk.k[walk.column]
    moved = before - turned
    pair = int(np.argmax(np.hypot(moved[:half], moved[half : 2 * half])))
    angle = walk.focus * walk.rotation.frequencies[pair]
    if 2 * half < len(before):
        sentence = _(
            "The first {count} of {width} numbers in q and k turn in pairs, by an angle that grows with position; the "
            "others stay."
        ).format(count=2 * half, width=len(before))
    else:
        sentence = _(
            "Pairs of numbers in q and k turn by an angle that grows with position: scores then feel distance."
        )
    sentence = " ".join(filter(None, (sentence, longer(walk.rotation.stretched, _))))
    equation = (
        ("k", "key"), *of(key_name(walk), "key"), (f" [{pair}, {pair + half}] = ", ""),
        (pair_of(before, pair, half), "key"),
        (f"  → {walk.focus} × {per_position(walk.rotation, pair)} = {number(angle)} rad →  ", ""),
        (pair_of(turned, pair, half), "result"),
    )  # fmt: skip
    return Step(
        "3", _("rotate"), _("Rotation by position"), sentence, equation, "rotated", ("q_rotated", "k_rotated")
    )


def longer(stretched: np.ndarray, _: Translate) -> str:
    """How far waves are stretched, for a model that was made ready for longer texts; nothing for another."""
    slow, count = int((stretched > NOTICED).sum()), len(stretched)
    if not slow:
        return ""
    if slow == count and stretched.max() < NOTICED * stretched.min():
        words = _("For longer texts all wavelengths are stretched {factor} times.")
    elif slow == count:
        words = _("For longer texts all wavelengths are stretched, {least} to {factor} times.")
    else:
        words = _("For longer texts {slow} of {count} wavelengths are stretched, up to {factor} times.")
    return words.format(
        slow=slow, count=count, least=f"{stretched.min():.3g}", factor=f"{stretched.max():.3g}"
    )


def per_position(rotation: Rotation, pair: int) -> str:
    """By how much a pair turns from one position to the next; of a stretched wave, from what that comes."""
    frequency, stretched = rotation.frequencies[pair], rotation.stretched[pair]
    if stretched <= NOTICED:
        return number(frequency)
    return f"{number(frequency * stretched)} / {stretched:.3g}"


def unturned(walk: HeadWalk, _: Translate) -> str:
    """Where position enters instead, for a head that turns nothing."""
    if walk.place.kind == "cross":
        return _(
            "Nothing turns here: query and key stand in two texts, between which nothing counts distances."
        )
    if walk.bias is not None:
        return _(
            "Nothing turns here: this model knows order by a bias that is added to the scores, two beats on."
        )
    return _("Nothing turns here: if this model knows order, its position vectors were added before layer 0.")
