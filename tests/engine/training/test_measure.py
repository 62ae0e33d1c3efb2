"""Alignment and breakdown, on weights and answers written out by hand."""

from __future__ import annotations

import json

import pytest
import torch

from engine.language_model import EMBEDDED
from engine.training.__main__ import main
from engine.training.examples import Example
from engine.training.measure import by_group, share

NOWHERE: frozenset[int] = frozenset()


def at(*positions: int) -> frozenset[int]:
    return frozenset(positions)


def test_share_counts_scored_characters_whose_heaviest_source_is_true() -> None:
    weights = torch.tensor([[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]]])
    #                        looks at 0       at 1             at 2             (the end, asked of nobody)
    hits_two_of_two = Example("xyz", "a-c", (at(0), NOWHERE, at(1, 2)), "one")
    hits_one_of_three = Example("xyz", "abc", (at(1), at(1), at(0)), "one")
    assert share(weights, [hits_two_of_two]) == 1.0
    assert share(weights, [hits_one_of_three]) == pytest.approx(1 / 3)
    assert share(weights.expand(2, -1, -1), [hits_two_of_two, hits_one_of_three]) == pytest.approx(3 / 5)


def test_by_group_breaks_whole_targets_down() -> None:
    one, two = Example("x", "a", (at(0),), "zh"), Example("x", "b", (at(0),), "de")
    assert by_group([one, one, two], ["a", "x", "b"]) == {"de": 1.0, "zh": 0.5}


def test_the_command_refuses_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "nowhere"]) == 1
    assert capsys.readouterr().err == "the folder nowhere has no config.json\n"
    assert main(["measure", str(EMBEDDED / "pocket")]) == 1
    assert "was not trained for a task" in capsys.readouterr().err


def test_the_command_measures_a_folder_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", str(EMBEDDED / "dates"), "--count", "20"]) == 0
    assert json.loads(capsys.readouterr().out)["exact"]["held_out"] >= 0.95
