"""What the beats say: the products and turns that this model makes, in its own numbers."""

from __future__ import annotations

import pytest

from engine.analysis.head_walk import HeadWalk, walk_head
from engine.config import Rope
from engine.figures.beats.reading import position, projections
from engine.figures.beats.weighing import mask
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import LIGHT, number
from tests.engine import recipes


def walk_of(**changes) -> HeadWalk:
    config = recipes.llama(d_k=8)
    decoder = config.stacks["decoder"].model_copy(update=changes)
    lm = recipes.language_model(config.model_copy(update={"decoder": decoder}))
    return walk_head(lm, lm.trace("abcdef"), kind="masked", layer=1, head=0, query=5, focus=3)


@pytest.mark.parametrize(("normed", "made"), [(False, " = x W_q = "), (True, " = norm(x W_q) = ")])
def test_queries_and_keys_are_told_as_they_are_made(normed, made):
    told = [words for words, _ in projections(walk_of(qk_norm=normed), str).equation]
    assert [words for words in told if "W_" in words] == [made, made.replace("W_q", "W_k"), " = x W_v = "]


@pytest.mark.parametrize(("fraction", "partner"), [(1.0, 4), (0.5, 2), (0.25, 1)])
def test_the_pair_that_turns_is_one_that_does(fraction, partner):
    walk = walk_of(positions=Rope(fraction=fraction))
    told = "".join(words for words, _ in position(walk, str).equation)
    assert walk.rotation is not None
    before, after = walk.k[3], walk.rotation.k[3]
    pair = next(i for i in range(partner) if f" [{i}, {i + partner}] = " in told)
    assert f"({number(before[pair])}, {number(before[pair + partner])})" in told
    said = position(walk, str).sentence
    assert said.startswith(
        "Pairs of" if partner == 4 else f"The first {2 * partner} of 8 numbers in q and k turn"
    )
    assert told.endswith(f"({number(after[pair])}, {number(after[pair + partner])})")


@pytest.mark.parametrize(
    ("window", "query", "begins", "ends", "remark"),
    [
        (
            1,
            3,
            "4 of 6 keys are hidden:",
            "2 of them lie outside this layer's window.",
            "hidden: minus infinity",
        ),
        (None, 3, "2 of 6 keys are hidden:", "takes them out before softmax.", "hidden: minus infinity"),
        (None, 5, "Nothing is hidden from this query:", "it may read all 6 keys.", "nothing is hidden"),
    ],
)
def test_the_mask_says_what_hides_how_many_keys(window, query, begins, ends, remark):
    lm = recipes.language_model(recipes.llama(window=window))
    walk = walk_head(lm, lm.trace("abcdef"), kind="masked", layer=1, head=0, query=query, focus=3)
    said = mask(walk, str).sentence
    assert (said[: len(begins)], said[-len(ends) :]) == (begins, ends)
    drawn = ledger_spec(walk, theme=LIGHT, form=FORMATS["wide"], translate=str)["data"]
    assert any(remark in trace.get("text", []) for trace in drawn)
