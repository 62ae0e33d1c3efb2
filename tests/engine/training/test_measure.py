"""Alignment and breakdown, on weights and answers written out by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from engine.home import EMBEDDED
from engine.training.__main__ import main
from engine.training.batches import Batch
from engine.training.examples import Example
from engine.training.looks import Looks
from engine.training.measure import by_group
from engine.training.records import Alignment


def at(*positions: int) -> frozenset[int]:
    return frozenset(positions)


SITE = "decoder.layers.0.cross_attention"


def looking(weights: torch.Tensor, *places: dict[int, frozenset[int]]) -> Alignment:
    """weights (batch, head, query, key)."""
    looks = Looks(aligned=sum(len(queries) for queries in places))
    looks.add_weights(SITE, weights, places)
    found = looks.alignment()
    assert found is not None
    return found


ONE_HEAD = torch.tensor([[[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]]]])
#                          looks at 0       at 1             at 2             (the end, asked of nobody)


def test_shares_count_tokens_whose_heaviest_source_is_true() -> None:
    two_of_two, one_of_three = {0: at(0), 2: at(1, 2)}, {0: at(1), 1: at(1), 2: at(0)}
    assert looking(ONE_HEAD, two_of_two).shares == {SITE: [1.0]}
    assert looking(ONE_HEAD, one_of_three).shares == {SITE: [pytest.approx(1 / 3)]}
    assert looking(ONE_HEAD.expand(2, -1, -1, -1), two_of_two, one_of_three).share == pytest.approx(3 / 5)


def test_masses_add_the_weights_of_all_true_places() -> None:
    assert looking(ONE_HEAD, {0: at(0), 2: at(1, 2)}).masses == {SITE: [pytest.approx((0.6 + 0.9) / 2)]}
    assert looking(ONE_HEAD, {1: at(2)}).mass == pytest.approx(0.3)


def test_the_best_head_is_named_and_the_mean_of_heads_looks_by_itself() -> None:
    wrong, right = [0.55, 0.45, 0.0], [0.0, 0.4, 0.6]
    found = looking(torch.tensor([[[wrong], [right]]]), {0: at(2)})
    assert (found.site, found.head, found.share) == (SITE, 1, 1.0)
    assert found.means == {SITE: 0.0}  # .275, .425, .3


def test_entropy_is_that_of_queries_that_are_real() -> None:
    looks = Looks()
    weights = torch.tensor([[[[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]], [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]]])
    looks.add_entropy(SITE, weights, torch.tensor([[True, True, False]]))
    assert looks.entropy() == {SITE: [pytest.approx(0.693147 / 2), pytest.approx((0.562335 + 0.693147) / 2)]}


def test_what_is_aligned_is_counted_by_itself() -> None:
    logits = torch.eye(3)[None]  # expects 0, then 1, then 2
    batch = Batch({}, torch.tensor([[0, 2, 2]]), torch.tensor([[True, True, True]]))
    looks = Looks()
    looks.add_logits(logits, batch, [{1: at(0), 2: at(0)}])
    assert (looks.right, looks.tokens, looks.aligned_right, looks.aligned) == (2, 3, 1, 2)


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


def test_the_command_refuses_a_vocabulary_that_is_not_the_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EMBEDDED / "reverse", tmp_path / "reverse")
    file = tmp_path / "reverse" / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"a"', '"z"'), encoding="utf-8")
    assert main(["measure", str(tmp_path / "reverse")]) == 1
    assert "is another than the task reverse has here" in capsys.readouterr().err
