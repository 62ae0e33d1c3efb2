"""What a walk says of its scores' factor: a division by sqrt(d_k) where there is one, and only there."""

from __future__ import annotations

import pytest

from engine.analysis.head_walk import HeadWalk, walk_head
from engine.config import T5Buckets
from engine.figures.beats import Step, steps
from engine.figures.cells import equations
from engine.figures.drawing import Drawing
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS, lay_out
from engine.figures.theme import THEMES, number
from engine.figures.words import lane_words
from tests.engine import recipes


def say(text: str) -> str:
    return text


def walk(**changes) -> HeadWalk:
    """A head with d_k 4 that looks back over five tokens."""
    lm = recipes.language_model(recipes.config(decoder=recipes.stack(**changes)))
    return walk_head(lm, lm.trace("abcde"), kind="masked", layer=1, head=0, query=3, focus=1)


def beat(made: HeadWalk, name: str) -> Step:
    return next(step for step in steps(made, say) if step.name == name)


def equation(step: Step) -> str:
    return "".join(text for text, _ in step.equation)


def test_by_the_root_of_d_k() -> None:
    made = walk()
    step, score, scaled = beat(made, "5"), number(made.scores[1]), number(made.scaled[1])
    assert (step.short, step.title) == ("÷ √d_k", "Divide by √d_k")
    assert equation(step) == f"{score} / √4 = {score} / 2.00 = {scaled}"
    assert step.sentence.startswith("Divided by √d_k, the row shrinks from ")
    assert equation(beat(made, "9")).startswith("A = softmax(Q Kᵀ / √d_k + mask)")


def test_left_as_they_are() -> None:
    made = walk(scale=1.0, positions=T5Buckets())
    step, score = beat(made, "5a"), number(made.scores[1])
    assert made.scores.tolist() == made.scaled.tolist()
    assert (step.short, step.title) == ("× 1", "No division by √d_k")
    assert equation(step) == f"{score} × 1 = {score}"
    assert "divided by" not in step.sentence.lower()
    assert beat(made, "5").short == "+ bias"
    assert equation(beat(made, "9")).startswith("A = softmax(Q Kᵀ + bias + mask)")
    assert beat(made, "3").sentence.startswith("Nothing turns here: this model knows order by a bias")


def test_by_a_factor_of_the_models_own() -> None:
    made = walk(scale=0.125)
    step, score, scaled = beat(made, "5"), number(made.scores[1]), number(made.scaled[1])
    assert made.scaled == pytest.approx(made.scores / 8)
    assert (step.short, step.title) == ("× 0.125", "Multiply by a factor")
    assert equation(step) == f"{score} × 0.125 = {scaled}"
    assert step.sentence.startswith(
        "Times 0.125, this model's own factor in place of 1/√d_k, the row goes from "
    )
    assert "{" not in step.sentence
    assert equation(beat(made, "9")).startswith("A = softmax(Q Kᵀ × 0.125 + mask)")


@pytest.mark.parametrize(
    ("changes", "sign", "how"),
    [({}, "÷ √d_k", " / 2.00 = "), ({"scale": 1.0}, "× 1", " × 1 = "), ({"scale": 0.125}, "× 0.125", " × 0.125 = ")],
)  # fmt: skip
def test_the_sheet_says_the_same(changes, sign, how) -> None:
    made = walk(**changes)
    sheet = lay_out(FORMATS["wide"], list("abcdef"), ["x", "k", "scaled"])
    drawing = Drawing(made, sheet, THEMES["light"], steps(made, say), say)
    assert lane_words(drawing)["scaled"][0] == sign
    score, scaled = number(made.scores[1], 4), number(made.scaled[1], 4)
    assert equations(drawing, "scaled")[1] == f"b: {score}{how}{scaled}"


@pytest.mark.parametrize("form", ["wide", "narrow"])
def test_a_ledger_with_a_bias_has_a_lane_for_it(form) -> None:
    made = walk(scale=1.0, positions=T5Buckets())
    spec = ledger_spec(made, theme=THEMES["light"], form=FORMATS[form], translate=say)
    names = [step["name"] for step in spec["layout"]["meta"]["steps"]]
    assert names == ["1", "2", "3", "4a", "4", "5a", "5", "6", "7a", "7", "8", "9", "10"]
