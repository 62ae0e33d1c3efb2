"""Runs for the rules: made up step by step, or recorded."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from engine.clinic.rules import Guessing, Told
from engine.config import StackConfig, TransformerConfig
from engine.training.runs.folder import RunConfig
from engine.training.runs.metrics import Metrics
from engine.training.runs.status import Status
from engine.training.settings import TrainingSettings

RECORDED = Path(__file__).parent / "recorded"
CHANCE = Guessing(cost=3.0, uniform={"encoder": 2.0, "decoder": 1.5, "cross": 2.0}, longest=10)


def config(
    task: str = "reverse", layers: int = 1, placement: Any = "pre", dropout: float = 0.0, **training: Any
) -> RunConfig:
    stack = StackConfig(n_layers=layers, n_heads=2, placement=placement, dropout=dropout)
    model = TransformerConfig(vocab_size=24, d_model=32, max_len=16, encoder=stack, decoder=stack)
    settings = {"steps": 1000, "warmup": 0, "label_smoothing": 0.0, "learning_rate": 3e-3, **training}
    return RunConfig(title="A run", task={"name": task}, model=model, training=TrainingSettings(**settings))


def told(
    losses: Sequence[float] = (),
    evaluations: Iterable[tuple[int, dict[str, Any]]] = (),
    run: RunConfig | None = None,
    status: Status | None = None,
    guessing: Guessing = CHANCE,
    **columns: Sequence[Any],
) -> Told:
    """One record a loss; columns: what else stands in each of them."""
    metrics = Metrics(Path("none"))
    for place, loss in enumerate(losses):
        more = {name: values[place] for name, values in columns.items()}
        metrics.steps.append(
            {"step": place + 1, "loss": loss, "learning_rate": 3e-3, "gradient_norm": 1.0, **more}
        )
    metrics.evaluations += [{"step": step, "evaluation": found} for step, found in evaluations]
    return Told(run or config(), status or Status(state="running"), metrics, guessing)


def recorded(name: str) -> tuple[RunConfig, Metrics]:
    """A run that was made once by its preset, with numbers of four digits."""
    settings = RunConfig.from_json((RECORDED / f"{name}.config.json").read_text("utf-8"))
    metrics = Metrics(Path("none"))
    for line in gzip.decompress((RECORDED / f"{name}.jsonl.gz").read_bytes()).splitlines():
        metrics._take(line)
    return settings, metrics
