"""What becomes of scores before the softmax: divided by sqrt(d_k), left as they are (T5), or times a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from engine.analysis.head_walk import HeadWalk
from engine.figures.theme import number

Translate = Callable[[str], str]


@dataclass(frozen=True)
class Scaling:
    """The factor in words and signs.

    sign: its name; formula: what stands behind Q Kᵀ; factors: how one score is scaled, as the paper writes it and in
    numbers; remark, title, sentence: about the row, whose range the sentence takes as low, high, low2 and high2.
    """

    sign: str
    formula: str
    factors: tuple[str, ...]
    remark: str
    title: str
    sentence: str


def scaling(walk: HeadWalk, _: Translate) -> Scaling:
    """What the model at hand does; nothing is called a division by sqrt(d_k) that is none."""
    if math.isclose(walk.scale, len(walk.q) ** -0.5, rel_tol=1e-6):
        return by_root(walk, _)
    return left_alone(_) if walk.scale == 1 else by_factor(walk, _)


def by_root(walk: HeadWalk, _: Translate) -> Scaling:
    d_k = len(walk.q)
    return Scaling(
        sign=_("÷ √d_k"),
        formula=" / √d_k",
        factors=(f" / √{d_k}", f" / {number(d_k**0.5)}"),
        remark=_("the range shrinks"),
        title=_("Divide by √d_k"),
        sentence=_(
            "Divided by √d_k, the row shrinks from {low}…{high} to {low2}…{high2}: "
            "longer vectors shall not sharpen it."
        ),
    )


def left_alone(_: Translate) -> Scaling:
    return Scaling(
        sign=_("× 1"),
        formula="",
        factors=(" × 1",),
        remark=_("nothing is divided"),
        title=_("No division by √d_k"),
        sentence=_(
            "This model takes scores as they are, {low}…{high}: its weights were trained without a division."
        ),
    )


def by_factor(walk: HeadWalk, _: Translate) -> Scaling:
    factor = number(walk.scale)
    sentence = _(
        "Times {factor}, this model's own factor in place of 1/√d_k, the row goes from {low}…{high} to "
        "{low2}…{high2}."
    )
    return Scaling(
        sign=_("× {factor}").format(factor=factor),
        formula=f" × {factor}",
        factors=(f" × {factor}",),
        remark=_("by the model's own factor"),
        title=_("Multiply by a factor"),
        sentence=sentence.replace("{factor}", factor),
    )


def scaled_text(walk: HeadWalk, column: int) -> str:
    """How one score became the scaled one: "2 / 8 = 0.25"."""
    score, scaled = (number(float(row[column]), 4) for row in (walk.scores, walk.scaled))
    return f"{score}{scaling(walk, str).factors[-1]} = {scaled}"
