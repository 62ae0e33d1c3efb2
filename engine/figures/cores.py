"""What makes weights of masked scores, in words: the softmax, or a ReLU and the number of keys in sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.head_walk import HeadWalk
from engine.figures.theme import number

Translate = Callable[[str], str]


@dataclass(frozen=True)
class CoreWords:
    """A core in words and signs.

    short: its name below the slider; applied: what is done to one masked score, whose number `{score}` stands for;
    sign, divisor: of what its row is divided by, and that number; formula: around Q Kᵀ, for which `{}` stands; hidden:
    the mask's sentence; first, second: title and sentence of its two strokes; lanes: names and remarks of their rows;
    rows: of all queries; divides: whether there is anything to divide.
    """

    short: str
    applied: str
    sign: str
    divisor: str
    formula: str
    hidden: str
    first: tuple[str, str]
    second: tuple[str, str]
    lanes: dict[str, tuple[str, str]]
    rows: str
    divides: bool = True

    def quotient(self, positive: float) -> str:
        """What a weight is made of: "2.5 / 4 = ", or nothing."""
        return f"{number(positive, 4)} / {self.divisor} = " if self.divides else ""


def softmax(walk: HeadWalk, _: Translate) -> CoreWords:
    return CoreWords(
        short=_("softmax"),
        applied=f"exp({{score}} − {number(walk.top)})".replace("− −", "+ "),
        sign="Σ",
        divisor=number(walk.total, 4),
        formula="softmax({})",
        hidden=_("{hidden} of {total} keys are hidden: minus infinity takes them out before softmax."),
        first=(
            _("Softmax, first stroke: exponentials"),
            _("Subtract the row's maximum and exponentiate: all positive, the largest exactly 1."),
        ),
        second=(
            _("Softmax, second stroke: divide by the sum"),
            _("Divide by the sum: the row now adds up to 1. These are the attention weights."),
        ),
        lanes={
            "positive": (_("exp"), _("minus the maximum")),
            "weights": (_("÷ sum"), _("now they add to 1")),
        },
        rows=_("Every token asks in the same way, all at once: one row each, and each row adds up to 1."),
    )


def relu(walk: HeadWalk, _: Translate) -> CoreWords:
    return CoreWords(
        short="ReLU",
        applied="max(0, {score})",
        sign="n",
        divisor=f"{walk.total:.0f}",
        formula="ReLU({}) / n",
        hidden=_("{hidden} of {total} keys are hidden: minus infinity takes them out before ReLU."),
        first=(
            _("ReLU, first stroke: nothing below zero"),
            _("Scores below 0 become 0, the others stay as they are."),
        ),
        second=(
            _("ReLU, second stroke: divide by the number of keys"),
            _("Divide by n, the number of keys in sight: these attention weights need not add up to 1."),
        ),
        lanes={
            "positive": ("max(0, ·)", _("below 0 becomes 0")),
            "weights": ("÷ n", _("n keys are in sight")),
        },
        rows=_("Every token asks in the same way, all at once: one row each, which need not add up to 1."),
    )


CORES: dict[str, Callable[[HeadWalk, Translate], CoreWords]] = {"softmax": softmax, "relu": relu}


def core_words(walk: HeadWalk, _: Translate) -> CoreWords:
    """The words of the core that this head has."""
    core, sees = CORES[walk.core](walk, _), np.any(walk.visible, axis=1)
    if not sees.all():
        rows = _(
            "Every token asks in the same way, all at once: one row each; a row without keys in sight is 0."
        )
        core = replace(core, rows=rows)
    return core if sees[walk.query] else nowhere(core, _)


def nowhere(core: CoreWords, _: Translate) -> CoreWords:
    """Of a query that may look at no key: nothing adds up to 1, and nothing is divided by 0."""
    names = {lane: name for lane, (name, _remark) in core.lanes.items()}
    return replace(
        core,
        divisor="0",
        divides=False,
        first=(core.first[0], _("No key is in sight of this query: nothing is left of any score.")),
        second=(
            core.second[0],
            _("There is nothing to divide: every weight is 0, and the head reads nothing here."),
        ),
        lanes={
            "positive": (names["positive"], _("no key is in sight")),
            "weights": (names["weights"], _("all are 0")),
        },
    )


def applied(walk: HeadWalk, column: int, digits: int = 3) -> str:
    """What the first stroke does to one score: "exp(2 − 3.97)"."""
    return core_words(walk, str).applied.format(score=number(float(walk.masked[column]), digits))
