"""Runs that go wrong are made here, step by step, and the rules find what it is."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path

from engine.clinic.rules import Diagnosis, Told, diagnose, guessing
from engine.config import StackConfig, TransformerConfig
from engine.training.loop import train
from engine.training.runs.folder import RunConfig
from engine.training.runs.metrics import Metrics
from engine.training.runs.status import Status
from engine.training.runs.work import plain
from engine.training.settings import TrainingSettings
from engine.training.tasks.sequences import Recall


def after(steps: int, stack: StackConfig, settings: TrainingSettings, d_model: int = 32) -> Diagnosis:
    """What is said of a run at work that learns which letter stood two places before."""
    task = Recall(shortest=12, longest=12)
    model = TransformerConfig(
        vocab_size=len(task.tokenizer), d_model=d_model, max_len=12, decoder=stack, tied_embeddings=False
    )
    metrics = Metrics(Path("none"))
    for record in islice(train(model, task, settings), steps):
        metrics.steps.append(plain(record))
        if record.evaluation:
            metrics.evaluations.append({"step": record.step, "evaluation": asdict(record.evaluation)})
    run = RunConfig(title="A run", task=task.model_dump(), model=model, training=settings)
    return diagnose(Told(run, Status(state="running"), metrics, guessing(task, model)))


def settings(**changes) -> TrainingSettings:
    usual = {
        "steps": 200, "batch_size": 16, "learning_rate": 4e-3, "schedule": "constant", "label_smoothing": 0.0,
        "warmup": 0, "details_every": 10, "device": "cpu",
    }  # fmt: skip
    return TrainingSettings(**{**usual, **changes})


def test_a_rate_that_is_too_high() -> None:
    found = after(100, StackConfig(n_layers=1, n_heads=2), settings(learning_rate=0.3))
    rules = {finding.rule for finding in found.wrong}
    assert {"stays_at_chance", "steps_out_of_scale"} <= rules
    assert found.wrong[0].cases[0] == "learning_rate_too_high"


def test_deep_post_norm_without_warm_up() -> None:
    stack = StackConfig(n_layers=6, n_heads=4, placement="post")
    found = after(100, stack, settings(), d_model=64)
    assert {"no_warmup", "stays_at_chance"} <= {finding.rule for finding in found.wrong}
    assert found.wrong[0].cases == ("no_warmup",)


def test_the_same_at_a_rate_and_depth_that_learn() -> None:
    found = after(140, StackConfig(n_layers=1, n_heads=2), settings(evaluate_every=70, evaluate_count=20))
    assert found.wrong == ()
