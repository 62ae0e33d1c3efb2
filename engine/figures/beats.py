"""The words of the Attention screen: ten beats, each with a title, one sentence and its equation in real numbers.

A beat may have two strokes (one product, then the row of scores; nothing negative, then the division), each a Step.
`_` is the translator of the reader's language, as gettext gives it; English is the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.analysis.head_walk import HeadWalk
from engine.figures.cores import applied, core_words
from engine.figures.scaling import scaling
from engine.figures.theme import MINUS_INFINITY, number

Translate = Callable[[str], str]
Part = tuple[str, str]  # (text, role): role is "", "query", "key", "value", "weight" or "result"


@dataclass(frozen=True)
class Step:
    """One stop of the walk. `name` is the beat's number, with an `a` for the first of two strokes."""

    name: str
    short: str
    title: str
    sentence: str
    equation: tuple[Part, ...]
    lane: str  # the lane of the sheet it is about, or "matrix"
    taps: tuple[str, ...]  # the taps whose lines of source are lit

    @property
    def beat(self) -> int:
        return int(self.name.rstrip("a"))


def steps(walk: HeadWalk, _: Translate) -> tuple[Step, ...]:
    """The walk's steps, in order; a step for the position bias only where the model has one."""
    parts = [tokens, projections, position, one_product, score_row, scale, bias, mask, first_stroke, divide]
    parts += [weighted_sum, all_queries, heads_together]
    return tuple(step for part in parts if (step := part(walk, _)) is not None)


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
    equation = (
        ("k", "key"), *of(key_name(walk), "key"), (f" [{pair}, {pair + half}] = ", ""),
        (pair_of(before, pair, half), "key"),
        (f"  → {walk.focus} × {number(walk.rotation.frequencies[pair])} = {number(angle)} rad →  ", ""),
        (pair_of(turned, pair, half), "result"),
    )  # fmt: skip
    return Step(
        "3", _("rotate"), _("Rotation by position"), sentence, equation, "rotated", ("q_rotated", "k_rotated")
    )


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


def one_product(walk: HeadWalk, _: Translate) -> Step:
    products = walk.products[walk.column]
    q, k = rotated(walk)
    largest = np.argsort(-np.abs(products), kind="stable")[:4]
    terms: list[Part] = []
    for index in largest:
        terms += [
            (number(float(q[index])), "query"),
            (" × ", ""),
            (number(float(k[index])), "key"),
            (" + ", ""),
        ]
    rest = len(products) - len(largest)
    tail = [(_("{count} more products").format(count=rest), ""), (" = ", "")] if rest else [(" = ", "")]
    if not rest:
        terms.pop()
    sentence = _(
        "Multiply q and k number by number; the products add up to one score (the largest come first)."
    )
    equation = (*score_name(walk), (" = ", ""), *terms, *tail, (number(walk.scores[walk.column]), "result"))
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
        first_of_two("5", walk.bias is not None), said.sign, said.title, words,
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


def weighted_sum(walk: HeadWalk, _: Translate) -> Step:
    dim = int(np.argmax(np.abs(walk.z)))
    order = np.argsort(-np.abs(walk.weighted[:, dim]), kind="stable")[:3]
    terms: list[Part] = []
    for column in order:
        terms += [
            (number(float(walk.weights[column])), "weight"),
            (" × ", ""),
            (number(float(walk.v[column, dim])), "value"),
            (" + ", ""),
        ]
    terms[-1:] = [(" + … = ", "")] if len(walk.key_tokens) > 3 else [(" = ", "")]
    sentence = _("Each value is scaled by its weight; their sum z is what the head has read for this query.")
    equation = ((f"z[{dim}]", "value"), (" = ", ""), *terms, (number(walk.z[dim]), "result"))
    return Step("8", _("Σ w·v"), _("Weights meet values"), sentence, equation, "values", ("z",))


def all_queries(walk: HeadWalk, _: Translate) -> Step:
    rows, keys = walk.matrix.shape
    core = core_words(walk, _)
    added = (" + bias" if walk.bias is not None else "") + ("" if walk.visible.all() else " + mask")
    equation = (
        ("A", "weight"),
        (f" = {core.formula.format(f'Q Kᵀ{scaling(walk, _).formula}{added}')}", ""),
        (f"     {rows} × {keys}", "result"),
    )
    return Step("9", _("all rows"), _("All queries"), core.rows, equation, "matrix", ("weights",))


def heads_together(walk: HeadWalk, _: Translate) -> Step:
    pre, out, post = (number(float(np.linalg.norm(x))) for x in (walk.resid_pre, walk.out, walk.resid_post))
    share = number(float(walk.shares[walk.place.head]))
    if walk.normed_after:
        sentence = _(
            "The {count} heads are joined, W_O mixes them, the result is added to the stream and normalised."
        )
        total = "norm(resid + out)"
    else:
        sentence = _(
            "The {count} heads are joined, W_O mixes them, and the result is added to the residual stream."
        )
        total = "resid + out"
    equation = (
        (_("head {head}").format(head=walk.place.head), ""), (" ‖z W_O‖ = ", ""), (share, "value"),
        ("     ‖resid‖ = ", ""), (pre, ""), ("     ‖out‖ = ", ""), (out, ""),
        (f"     ‖{total}‖ = ", ""), (post, "result"),
    )  # fmt: skip
    if walk.place.n_heads == 1:
        sentence = _("W_O turns what the one head has read, and the result is added to the residual stream.")
    words = sentence.format(count=walk.place.n_heads)
    return Step(
        "10", "W_O", _("Heads joined, W_O, residual"), words, equation, "heads", ("out", "resid_post")
    )


def first_of_two(name: str, two: bool) -> str:
    return f"{name}a" if two else name


def query_name(walk: HeadWalk) -> str:
    return walk.query_tokens[walk.query].label


def key_name(walk: HeadWalk) -> str:
    return walk.key_tokens[walk.focus].label


def score_name(walk: HeadWalk) -> tuple[Part, ...]:
    return (("score(", ""), (query_name(walk), "query"), (" → ", ""), (key_name(walk), "key"), (")", ""))


def of(name: str, role: str) -> tuple[Part, ...]:
    return (("(", ""), (name, role), (")", ""))


def rotated(walk: HeadWalk) -> tuple[np.ndarray, np.ndarray]:
    if walk.rotation:
        return walk.rotation.q, walk.rotation.k[walk.column]
    return walk.q, walk.k[walk.column]


def vector(values: np.ndarray, count: int = 4) -> str:
    """The first numbers of a vector, `[0.12 −0.30 …]`, all of them when there are few."""
    head = " ".join(number(float(value)) for value in values[:count])
    return f"[{head}{' …' if len(values) > count else ''}]"


def pair_of(values: np.ndarray, pair: int, half: int) -> str:
    return f"({number(values[pair])}, {number(values[pair + half])})"


def share(weight: float) -> str:
    """A weight with four decimals; one that they would round to nothing keeps two digits."""
    return f"{weight:.4f}" if weight == 0 or weight >= 5e-5 else number(weight, 2)


def extent(span: tuple[float, float]) -> dict[str, str]:
    return {"low": number(span[0]), "high": number(span[1])}
