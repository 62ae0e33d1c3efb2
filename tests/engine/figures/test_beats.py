"""What the beats say: the products and turns that this model makes, in its own numbers."""

from __future__ import annotations

import pytest

from engine.analysis.head_walk import HeadWalk, walk_head
from engine.config import Factors, Linear, Llama3, Rope
from engine.figures.beats.reading import per_position, position, projections
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
    ("scaling", "said", "turned"),
    [
        (
            None,
            "scores then feel distance.",
            ["3 × 1.00 = ", "3 × 0.119 = ", "3 × 0.0141 = ", "3 × 0.00168 = "],
        ),
        (
            Linear(factor=4),
            "feel distance. For longer texts all wavelengths are stretched 4 times.",
            ["3 × 1.00 / 4 = ", "3 × 0.119 / 4 = ", "3 × 0.0141 / 4 = ", "3 × 0.00168 / 4 = "],
        ),
        # in 1885 = 2 pi x 300 positions waves turn 300, 36, 4.24 and 0.5 times: two stay, one is 8 times as long, and
        # of one (4.24 - 1) / (5 - 1) = 0.81 of its frequency stays and 0.19 / 8 is added: it is 1 / 0.834 as long
        (
            Llama3(factor=8, low=1, high=5, original=1885),
            "For longer texts 2 of 4 wavelengths are stretched, up to 8 times.",
            ["3 × 1.00 = ", "3 × 0.119 = ", "3 × 0.0141 / 1.2 = ", "3 × 0.00168 / 8 = "],
        ),
        (
            Factors(factors=(2, 2, 3, 8)),
            "For longer texts all wavelengths are stretched, 2 to 8 times.",
            ["3 × 1.00 / 2 = ", "3 × 0.119 / 2 = ", "3 × 0.0141 / 3 = ", "3 × 0.00168 / 8 = "],
        ),
    ],
)
def test_stretched_waves_are_told_with_their_numbers(scaling, said, turned):
    walk = walk_of(positions=Rope(base=5000, scaling=scaling))
    told = position(walk, str)
    equation = "".join(words for words, _ in told.equation)
    pair = next(i for i in range(4) if f" [{i}, {i + 4}] = " in equation)
    assert told.sentence.endswith(said)
    assert turned[pair] in equation
    assert walk.rotation is not None
    assert [f"3 × {per_position(walk.rotation, at)} = " for at in range(4)] == turned


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
