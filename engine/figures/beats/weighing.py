"""Beats 4 to 7: from products to scores, and from scores to weights."""

from __future__ import annotations

import numpy as np

from engine.analysis.head_walk import HeadWalk
from engine.figures.beats.equations import extent, key_name, products, query_name, score_name, share
from engine.figures.beats.step import Part, Step, Translate
from engine.figures.cores import applied, core_words
from engine.figures.scaling import scaling
from engine.figures.theme import MINUS_INFINITY, number


def one_product(walk: HeadWalk, _: Translate) -> Step:
    values = walk.products[walk.column]
    q, k = rotated(walk)
    largest = np.argsort(-np.abs(values), kind="stable")[:4]
    terms = products(((float(q[index]), float(k[index])) for index in largest), ("query", "key"))
    if rest := len(values) - len(largest):
        terms += [(" + ", ""), (_("{count} more products").format(count=rest), "")]
    sentence = _(
        "Multiply q and k number by number; the products add up to one score (the largest come first)."
    )
    equation = (
        *score_name(walk),
        (" = ", ""),
        *terms,
        (" = ", ""),
        (number(walk.scores[walk.column]), "result"),
    )
    return Step("4a", _("q · k"), _("One dot product"), sentence, equation, "scores", ("scores",))


def score_row(walk: HeadWalk, _: Translate) -> Step:
    sentence = _("The same for every key: a large score says that the key offers what the query asks for.")
    equation = (
        *score_name(walk), (" = q·k = ", ""), (number(walk.scores[walk.column]), "result"),
        (_("     the row: {low} to {high}").format(**extent(walk.score_range)), ""),
    )  # fmt: skip
    return Step("4", _("q · k"), _("A score for every key"), sentence, equation, "scores", ("scores",))


def scale(walk: HeadWalk, _: Translate) -> Step:
    before, after, said = extent(walk.score_range), extent(walk.scaled_range), scaling(walk, _)
    equation: list[Part] = []
    for factor in said.factors:
        equation += [(number(walk.scores[walk.column]), ""), (f"{factor} = ", "")]
    words = said.sentence.format(
        low=before["low"], high=before["high"], low2=after["low"], high2=after["high"]
    )
    return Step(
        "5" if walk.bias is None else "5a", said.sign, said.title, words,
        (*equation, (number(walk.scaled[walk.column]), "result")), "scaled", ("scaled",),
    )  # fmt: skip


def bias(walk: HeadWalk, _: Translate) -> Step | None:
    if walk.bias is None:
        return None
    added, before = walk.bias[walk.column], walk.scaled[walk.column]
    equation = (
        (number(before), ""),
        (" + ", ""),
        (number(added), ""),
        (" = ", ""),
        (number(before + added), "result"),
    )
    sentence = _("A bias that depends only on the two positions is added.")
    return Step("5", _("+ bias"), _("Position bias"), sentence, equation, "biased", ("biased",))


def mask(walk: HeadWalk, _: Translate) -> Step:
    row = walk.visible[walk.query]
    hidden = int((~row).sum())
    later = int((~row[walk.query + 1 :]).sum()) if walk.place.kind == "masked" else 0
    why = walk.hidden[walk.column]
    reasons = {
        "future": _("it comes after the query"),
        "window": _("it lies outside the window"),
        "padding": _("the mask hides it"),
    }
    if hidden:
        sentence = core_words(walk, _).hidden
        if "window" in walk.hidden:
            sentence += " " + _("{far} of them lie outside this layer's window.")
    else:
        sentence = _("Nothing is hidden from this query: it may read all {total} keys.")
    result = f"{MINUS_INFINITY} ({reasons[why]})" if why else number(walk.masked[walk.column])
    equation = (
        *score_name(walk),
        (": ", ""),
        (number(walk.biased[walk.column]), ""),
        (" → ", ""),
        (result, "result"),
    )
    return Step(
        "6",
        _("mask"),
        _("Mask"),
        sentence.format(hidden=hidden, total=len(row), far=hidden - later),
        equation,
        "masked",
        ("masked",),
    )


def first_stroke(walk: HeadWalk, _: Translate) -> Step:
    core = core_words(walk, _)
    equation = (
        (f"{applied(walk, walk.column)} = ", ""), (number(walk.positive[walk.column], 4), "weight"),
        (f"     {core.sign} = ", ""), (core.divisor, "result"),
    )  # fmt: skip
    return Step("7a", core.short, *core.first, equation, "positive", ("weights",))


def divide(walk: HeadWalk, _: Translate) -> Step:
    core = core_words(walk, _)
    equation = (
        ("weight(", "weight"), (query_name(walk), "query"), (" → ", ""), (key_name(walk), "key"), (") = ", "weight"),
        (core.quotient(walk.positive[walk.column]), ""),
        (share(float(walk.weights[walk.column])), "result"),
    )  # fmt: skip
    return Step("7", core.short, *core.second, equation, "weights", ("weights",))


def rotated(walk: HeadWalk) -> tuple[np.ndarray, np.ndarray]:
    if walk.rotation:
        return walk.rotation.q, walk.rotation.k[walk.column]
    return walk.q, walk.k[walk.column]
