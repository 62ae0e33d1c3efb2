"""What comes next, by hand for Pocket."""

from __future__ import annotations

import pytest

import engine
from engine.analysis.expected import expected_after
from engine.config import EncoderHead
from tests.engine import recipes
from tests.engine.model.any_config import HEADS


def test_pocket_goes_on_with_what_the_verb_took_home():
    lm = engine.load("pocket")
    found = expected_after(lm, lm.trace("the cat sat"), 2)
    assert found is not None
    assert found.label == "purring"
    other = expected_after(lm, lm.trace("the dog sat"), 2)
    assert other is not None
    assert other.label == "barking"


def test_probabilities_are_those_of_the_logits():
    lm = engine.load("pocket")
    trace = lm.trace("the cat")
    found = expected_after(lm, trace, 1)
    assert found is not None
    assert found.share == pytest.approx(float(trace.logits[0, 1].softmax(-1).max()), abs=1e-6)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_an_encoder_expects_nothing(head: EncoderHead):
    lm = recipes.language_model(recipes.bert().model_copy(update={"encoder_head": head}))
    assert expected_after(lm, lm.trace("abc"), 0) is None
