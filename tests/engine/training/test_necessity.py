"""What a model cannot do without: lines to the true places, and not as many others."""

from __future__ import annotations

import random
from dataclasses import replace

from engine.language_model import load
from engine.training.examples import Example
from engine.training.necessity import CutShares, cut_shares, others
from engine.training.tasks import task_named


def test_dates_cannot_do_without_the_true_places_and_can_without_others():
    """For a model trained elsewhere: .999 right, .39 without the true places, .999 without as many others."""
    model, task = load("dates").model, task_named("dates")
    examples = task.suites(20)["held_out"]
    found = cut_shares(model, task, examples)
    assert isinstance(found, CutShares)
    assert found.count == sum(bool(places) for example in examples for places in example.alignment)
    assert found.whole > 0.97
    assert found.cut < 0.6
    assert found.others > 0.9


def test_the_share_with_every_line_is_counted_token_by_token():
    model, task = load("dates").model, task_named("dates")
    examples = task.suites(6)["held_out"]
    wrong = [
        replace(example, target="1" + example.target[1:]) for example in examples
    ]  # the century is not 1
    right, one_less = cut_shares(model, task, examples), cut_shares(model, task, wrong)
    assert right is not None
    assert one_less is not None
    scored = sum(bool(example.alignment[0]) for example in examples)
    assert scored == 6
    assert one_less.whole <= right.whole - 5 / right.count


def test_without_known_places_there_is_nothing_to_measure():
    example = Example("3 June 2025", "2025-06-03", ())
    assert cut_shares(load("dates").model, task_named("dates"), [example]) is None


def test_other_keys_are_others_and_as_many_as_there_are():
    chance = random.Random(0)
    for _ in range(20):
        found = others(frozenset({1, 2}), 5, chance)
        assert len(found) == 2
        assert found <= {0, 3, 4}
    assert others(frozenset({0}), 1, chance) == frozenset()
