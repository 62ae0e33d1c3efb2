"""A head whose core is no softmax speaks of none: its strokes, its sums and its words are its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine.analysis.head_walk import HeadWalk, walk_head
from engine.analysis.strokes import STROKES
from engine.analysis.tables import row_table
from engine.figures.beats import Step, steps
from engine.figures.cells import equations
from engine.figures.cores import CORES
from engine.figures.drawing import Drawing
from engine.figures.ledger import lanes_of, ledger_spec
from engine.figures.sheet import FORMATS, lay_out
from engine.figures.theme import LIGHT
from engine.figures.words import lane_words
from engine.model import attention
from tests.engine import recipes


def walk_of(core: str, query: int = 3, focus: int = 1) -> HeadWalk:
    config = recipes.llama()
    decoder = config.stacks["decoder"].model_copy(update={"core": core})
    lm = recipes.language_model(config.model_copy(update={"decoder": decoder}), seed=3)
    return walk_head(lm, lm.trace("abcdef"), kind="masked", layer=1, head=0, query=query, focus=focus)


@pytest.fixture(scope="module")
def relu() -> HeadWalk:
    return walk_of("relu")


def told(walk: HeadWalk, name: str) -> tuple[Step, str]:
    step = next(step for step in steps(walk, str) if step.name == name)
    return step, "".join(words for words, _ in step.equation)


def test_every_core_of_the_model_has_its_strokes_and_words():
    assert set(attention.CORES) == set(STROKES) == set(CORES)


@pytest.mark.parametrize(
    ("masked", "positive", "divisor"),
    [
        ([1.0, -2.0, 0.5, -math.inf], [1.0, 0, 0.5, 0], 3),
        ([-1.0, -3.0], [0, 0], 2),
        ([-math.inf] * 2, [0, 0], 1),
    ],
)  # fmt: skip
def test_relu_by_hand(masked, positive, divisor):
    strokes = STROKES["relu"](np.array(masked))
    assert (strokes.top, strokes.positive.tolist(), strokes.divisor) == (0, positive, divisor)


@pytest.mark.parametrize("core", list(attention.CORES))
def test_the_strokes_make_the_weights_that_the_model_has(core):
    masked = torch.randn(50, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    masked[:, 5] = -math.inf
    expected = attention.CORES[core](masked[None, None])[0, 0].numpy()
    rows = [STROKES[core](row) for row in masked.numpy()]
    np.testing.assert_allclose([row.positive / row.divisor for row in rows], expected, rtol=0, atol=1e-15)


def test_a_walk_through_a_relu_adds_up(relu):
    assert relu.total == 4
    np.testing.assert_allclose(relu.positive / 4, relu.weights, atol=1e-7)
    assert relu.positive[4:].tolist() == [0, 0]
    assert relu.row_sum != pytest.approx(1, abs=0.01)


def test_no_word_of_a_softmax_is_said_of_a_relu(relu):
    said = " ".join(
        [step.title + step.short + step.sentence + told(relu, step.name)[1] for step in steps(relu, str)]
    )
    names = " ".join(word for pair in lane_words(drawing(relu)).values() for word in pair)
    for word in ("oftmax", "exp", "the sum:", "each row adds up to 1", "Σ", "maximum"):
        assert word not in said.replace("need not add up to 1", "").replace("Σ w·v", ""), word
        assert word not in names, word
    assert "minus infinity takes them out before ReLU" in told(relu, "6")[0].sentence
    assert told(relu, "9")[1].startswith("A = ReLU(Q Kᵀ / √d_k + mask) / n")


def test_its_numbers_are_in_its_equations(relu):
    score, positive = float(relu.masked[1]), float(relu.positive[1])
    first, second = told(relu, "7a")[1], told(relu, "7")[1]
    assert first.startswith(f"max(0, {'−' if score < 0 else ''}{abs(score):.3g}"[:8])
    assert first.endswith("     n = 4")
    assert second.startswith("weight(d → b) = ")
    assert f" / 4 = {relu.weights[1]:.4f}" in second
    assert equations(drawing(relu), "positive")[5] == "f: max(0, −∞) = 0"
    assert positive == max(score, 0)
    assert "relu" in row_table(relu)
    assert "exp" not in row_table(relu)


def test_the_sheet_shows_what_it_is_divided_by(relu):
    for form in FORMATS.values():
        spec = ledger_spec(relu, theme=LIGHT, form=form, translate=str)
        texts = [text for trace in spec["data"] for text in trace.get("text", [])]
        assert "n 4" in texts
        assert f"<b>Σ {relu.row_sum:.3f}</b>" in texts


def test_a_softmax_says_what_it_said():
    made = walk_of("softmax")
    assert told(made, "7a")[0].title == "Softmax, first stroke: exponentials"
    assert told(made, "7a")[1].startswith("exp(")
    assert told(made, "9")[1].startswith("A = softmax(Q Kᵀ / √d_k + mask)  ")


def drawing(walk: HeadWalk) -> Drawing:
    labels = [token.label for token in (walk.query_tokens[walk.query], *walk.key_tokens)]
    sheet = lay_out(FORMATS["wide"], labels, lanes_of(walk))
    return Drawing(walk, sheet, LIGHT, steps(walk, str), str)


def blind(value: torch.Tensor, _) -> torch.Tensor:
    value[:, 2] = False
    return value


@pytest.mark.parametrize("core", list(attention.CORES))
def test_a_query_that_may_look_nowhere_is_told_so_and_nothing_is_divided_by_nothing(core):
    config = recipes.llama()
    decoder = config.stacks["decoder"].model_copy(update={"core": core})
    lm = recipes.language_model(config.model_copy(update={"decoder": decoder}))
    trace = lm.trace("abcd", edits={"decoder.layers.1.self_attention.visible": blind})
    walk = walk_head(lm, trace, kind="masked", layer=1, head=0, query=2, focus=0)
    assert walk.weights.tolist() == [0, 0, 0, 0]
    said = {name: told(walk, name) for name in ("6", "7a", "7", "9")}
    assert said["6"][0].sentence.startswith("4 of 4 keys are hidden")
    assert said["6"][1].endswith("→ −∞ (the mask hides it)")
    assert said["7a"][0].sentence == "No key is in sight of this query: nothing is left of any score."
    assert said["7a"][1].endswith(" = 0")
    assert said["7"][0].sentence.startswith("There is nothing to divide: every weight is 0")
    assert said["7"][1] == "weight(c → a) = 0.0000"
    assert said["9"][0].sentence.endswith("a row without keys in sight is 0.")
    assert [text.split(": ")[1] for text in equations(drawing(walk), "weights")] == ["0.0000"] * 4
    remarks = [remark for name, remark in lane_words(drawing(walk)).values()]
    assert {"no key is in sight", "all are 0"} <= set(remarks)
    other = walk_head(lm, trace, kind="masked", layer=1, head=0, query=1, focus=0)
    assert told(other, "7")[0].sentence.startswith("Divide by ")
    assert told(other, "9")[0].sentence == said["9"][0].sentence
