"""How long a run will take: by what an earlier one took, or by a few steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config import AtlasError
from engine.training import forecast, presets
from engine.training.forecast import Forecast
from engine.training.runs import Run
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.runs.processes import Process, here
from engine.training.runs.status import Status
from engine.training.tasks import task_named


def config(name: str = "reverse", **settings: Any) -> RunConfig:
    task = task_named(name)
    training = presets.settings_for(task).model_copy(update=settings)
    return RunConfig(
        title=name, task={"name": name}, model=presets.model_for(task, "small"), training=training
    )


def run(
    of: RunConfig,
    heartbeat: float = 1.0,
    step: int = 100,
    seconds: float = 5.0,
    process: Process | None = None,
) -> Run:
    status = Status(step=step, seconds=seconds, heartbeat=heartbeat, device="cpu", process=process or here())
    return Run(f"run-{heartbeat:.0f}", RunFolder(Path("run")), of, status)


def test_the_latest_run_that_does_the_same_at_each_step_tells() -> None:
    known = [
        run(config()),
        run(config(steps=50), heartbeat=3.0, seconds=10.0),
        run(config(batch_size=8), heartbeat=9.0),
    ]
    assert forecast.from_runs(config(steps=400), known) == Forecast(40.0, "run-3", "cpu")


@pytest.mark.parametrize(
    "other",
    [
        run(config("copy")),
        run(config(evaluate_every=1)),
        run(config(), step=10),
        run(config(), process=Process(host="elsewhere", machine="another", pid=1, began="1")),
    ],
)
def test_no_other_run_tells(other: Run) -> None:
    assert forecast.from_runs(config(), [other]) is None


def test_what_a_run_is_called_does_not_matter() -> None:
    renamed = config().model_copy(update={"title": "Another", "notes": "some", "probe": "abc"})
    assert forecast.from_runs(renamed, [run(config())]) is not None


def test_steps_are_timed_in_a_process_of_their_own() -> None:
    short, long = (forecast.timed(config(steps=steps, evaluate_every=None)) for steps in (100, 1000))
    assert short.run is None
    assert short.device == "cpu"
    assert 0 < short.seconds < long.seconds


def test_a_run_that_cannot_be_timed_says_so() -> None:
    broken = config().model_copy(update={"task": {"name": "none"}})
    with pytest.raises(AtlasError, match="could not be measured"):
        forecast.timed(broken)


@pytest.mark.parametrize(("every", "expected"), [(None, 0), (10, 10), (30, 4), (200, 1)])
def test_evaluations_are_counted_as_the_loop_makes_them(every: int | None, expected: int) -> None:
    assert forecast.evaluations(config(steps=100, evaluate_every=every)) == expected
