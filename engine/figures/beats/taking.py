"""Beats 8 to 10: what the head takes home, for this query, for all of them, and beside the other heads."""

from __future__ import annotations

import numpy as np

from engine.analysis.head_walk import HeadWalk
from engine.figures.beats.equations import products
from engine.figures.beats.step import Step, Translate
from engine.figures.cores import core_words
from engine.figures.scaling import scaling
from engine.figures.theme import number


def weighted_sum(walk: HeadWalk, _: Translate) -> Step:
    dim = int(np.argmax(np.abs(walk.z)))
    order = np.argsort(-np.abs(walk.weighted[:, dim]), kind="stable")[:3]
    read = ((float(walk.weights[column]), float(walk.v[column, dim])) for column in order)
    terms = products(read, ("weight", "value"))
    more = " + …" if len(walk.key_tokens) > 3 else ""
    sentence = _("Each value is scaled by its weight; their sum z is what the head has read for this query.")
    equation = (
        (f"z[{dim}]", "value"),
        (" = ", ""),
        *terms,
        (f"{more} = ", ""),
        (number(walk.z[dim]), "result"),
    )
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
