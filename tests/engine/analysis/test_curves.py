"""A run's curves as arrays: every number is one that stands in its file, and none is invented or lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engine.analysis import curves, lines
from engine.training.runs import metrics
from engine.training.runs.metrics import Metrics

SITE = "decoder.layers.0.cross_attention"


def evaluation(step: int, loss: float, exact: float, shares: list[float] | None, best: int = 0) -> dict:
    alignment = shares and {"shares": {SITE: shares}, "site": SITE, "head": best, "share": shares[best]}
    entropy = {SITE: [1.5, 0.25]}
    values = {"loss": loss, "accuracy": exact / 2, "exact": exact, "alignment": alignment, "entropy": entropy}
    return {"step": step, "evaluation": values}


@pytest.fixture
def run(tmp_path: Path) -> Metrics:
    records = [
        {"step": 1, "loss": 4.0, "accuracy": 0.1, "learning_rate": 0.001, "gradient_norm": 2.0},
        {"step": 2, "loss": 3.0, "accuracy": 0.2, "learning_rate": 0.002, "gradient_norm": 1.0,
         "gradient_norms": {"embedding": 0.5, "encoder.layers.0": 0.25}},
        evaluation(2, 2.5, 0.25, [0.5, 0.125]),
        {"step": 3, "loss": 2.0, "accuracy": 0.4, "learning_rate": 0.003, "gradient_norm": 0.5},
        {"step": 4, "loss": 1.0, "accuracy": 0.8, "learning_rate": 0.004, "gradient_norm": 0.25,
         "gradient_norms": {"embedding": 0.125, "encoder.layers.0": 4.0}},
        evaluation(4, 1.5, 0.75, [0.625, 0.875], best=1),
    ]  # fmt: skip
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return metrics.read(path)


def points(line: lines.Line) -> list[tuple[int, float]]:
    return list(zip(line.steps.tolist(), line.values.tolist(), strict=True))


def test_the_loss_of_batches_and_the_held_out_one(run: Metrics) -> None:
    batch, held_out = curves.losses(run, until=10).lines
    assert points(batch) == [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)]
    assert points(held_out) == [(2, 2.5), (4, 1.5)]
    assert (batch.mark, held_out.mark) == ("batch", "held_out")


def test_what_is_right_is_told_of_tokens_and_of_whole_answers(run: Metrics) -> None:
    panel = curves.right(run, until=10)
    assert {line.mark: points(line)[-1] for line in panel.lines} == {
        "batch": (4, 0.8), "held_out": (4, 0.375), "written": (4, 0.75),
    }  # fmt: skip


def test_each_head_has_its_line_and_the_best_one_now_lies_on_top(run: Metrics) -> None:
    panel = curves.heads(run, until=10)
    assert panel.quantity == "alignment"
    assert [(line.label, line.mark) for line in panel.lines] == [(f"{SITE}.0", "head"), (f"{SITE}.1", "best")]
    assert points(panel.lines[1]) == [(2, 0.125), (4, 0.875)]


def test_without_true_places_heads_are_told_by_their_entropy(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps(evaluation(5, 1.0, 0.5, None)) + "\n")
    panel = curves.heads(metrics.read(path), until=10)
    assert panel.quantity == "entropy"
    assert [points(line) for line in panel.lines] == [[(5, 1.5)], [(5, 0.25)]]


def test_layers_are_told_at_the_steps_that_were_looked_at(run: Metrics) -> None:
    layers = curves.by_layer(run, "gradient_norms", until=10)
    assert layers.layers == ("embedding", "encoder.layers.0")
    assert layers.steps.tolist() == [2, 4]
    assert layers.values.tolist() == [[0.5, 0.125], [0.25, 4.0]]


def test_a_run_that_has_told_nothing_yet_has_empty_curves(tmp_path: Path) -> None:
    nothing = metrics.read(tmp_path / "metrics.jsonl")
    for panel in (curves.losses(nothing, 9), curves.right(nothing, 9), curves.heads(nothing, 9)):
        assert all(not line.steps.size for line in panel.lines)
    assert curves.by_layer(nothing, "gradient_norms", 9).values.shape == (0, 0)


def test_several_runs_lie_over_each_other_each_with_its_name(run: Metrics) -> None:
    panel = curves.overlaid("exact", [("a", run), ("b", run)], until=4)
    assert [(line.label, line.run, line.mark) for line in panel.lines] == [
        ("a", 0, "written"),
        ("b", 1, "written"),
    ]
    assert points(panel.lines[1]) == [(2, 0.25), (4, 0.75)]


def test_a_running_mean_lies_over_what_was_measured_at_each_step(run: Metrics) -> None:
    panel = curves.overlaid("loss", [("a", run), ("b", run)], until=4, half_life=1)
    assert [(line.label, line.half_life) for line in panel.lines] == [
        ("a", None),
        ("b", None),
        ("a", 1),
        ("b", 1),
    ]
    assert points(panel.lines[0]) == [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)]
    assert points(panel.lines[2])[:2] == [(1, 4.0), (2, pytest.approx((4 / 2 + 3) / 1.5))]


def test_what_was_measured_now_and_then_is_never_smoothed(run: Metrics) -> None:
    panel = curves.overlaid("held_out_loss", [("a", run)], until=4, half_life=1)
    assert [points(line) for line in panel.lines] == [[(2, 2.5), (4, 1.5)]]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("loss", 1.0),
        ("list.1", 5.0),
        ("list.2", None),
        ("none", None),
        ("flag", None),
        ("word", None),
        ("loss.x", None),
    ],
)
def test_only_numbers_are_numbers(path: str, expected: float | None) -> None:
    record = {"loss": 1, "list": [4, 5], "none": None, "flag": True, "word": "1"}
    assert lines.number_at(record, path) == expected


def test_of_a_long_line_no_peak_is_lost_and_no_point_is_made_up() -> None:
    steps, values = np.arange(1, 10_001), np.sin(np.arange(10_000) / 40.0)
    values[7_777], values[1_234] = 50.0, -50.0
    few_steps, few = lines.thinned(steps, values, limit=200)
    assert len(few) <= 202
    assert {few.max(), few.min()} == {50.0, -50.0}
    assert (few_steps[0], few_steps[-1]) == (1, 10_000)
    assert (np.diff(few_steps) > 0).all()
    assert (few == values[few_steps - 1]).all()


def test_a_short_line_stays_as_it_is() -> None:
    steps, values = np.array([1, 2, 3]), np.array([3.0, 1.0, 2.0])
    assert lines.thinned(steps, values)[1] is values
