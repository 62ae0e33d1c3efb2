"""What comes next, by hand for Pocket."""

from __future__ import annotations

from dataclasses import replace

import pytest

import engine
from engine.analysis.expected import class_told, expected_after
from engine.config import ClassHead, EncoderHead
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


def test_a_classifier_tells_a_class_by_its_label_and_without_labels_by_its_number():
    config = recipes.bert().model_copy(update={"encoder_head": ClassHead(n_classes=3)})
    lm = recipes.language_model(config)
    lm = lm.with_parameters({"head.weight": [[0.0] * config.d_model] * 3, "head.bias": [0.0, 2.0, 1.0]})
    trace = lm.trace("abc")
    told = class_told(lm, trace)
    assert told is not None
    assert told.label == "1"
    assert told.share == pytest.approx(0.665241, abs=1e-6)  # e^2 / (1 + e^2 + e)
    named = class_told(replace(lm, card={"labels": ["no", "yes", "perhaps"]}), trace)
    assert named is not None
    assert named.label == "yes"


def test_other_models_tell_no_class():
    lm = engine.load("pocket")
    assert class_told(lm, lm.trace("the cat sat")) is None
