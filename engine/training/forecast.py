"""How large a model will be, and how long its training will take, before it is begun.

    python -m engine.training.forecast < config.json

times a few steps and one evaluation of the run that config.json describes, with one thread as the run will have. A
process of its own: beside a screen it must not disturb, it may take memory, and it may fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.config import AtlasError
from engine.training.runs import Run
from engine.training.runs.folder import RunConfig
from engine.training.runs.processes import ROOT

SETTLE, TIMED = 3, 8  # steps: the first ones take longer than all that follow
POLITE = 10  # niceness: screens go first, and runs
ENOUGH = 2.0  # seconds; of a slow model fewer are timed
PATIENCE = 180  # seconds
FEWEST = 50  # steps that a run must have made to tell how fast it is


@dataclass(frozen=True)
class Forecast:
    """seconds: of training, evaluations included. run: the earlier run that tells so, None where steps were timed."""

    seconds: float
    run: str | None = None
    device: str = ""


def from_runs(config: RunConfig, known: Iterable[Run]) -> Forecast | None:
    """By the latest run of this machine that does the same at each step, if there is one."""
    alike = [
        run
        for run in known
        if run.config and run.status.step >= FEWEST and work(run.config) == work(config)
        and run.status.process and run.status.process.is_local
    ]  # fmt: skip
    if not alike:
        return None
    latest = max(alike, key=lambda run: run.status.heartbeat)
    seconds = latest.status.seconds / latest.status.step * config.training.steps
    return Forecast(seconds, latest.name, latest.status.device)


def work(config: RunConfig) -> dict:
    """What a step costs depends on this, and on nothing else."""
    about = {
        "batch_size", "accumulate", "precision", "compile", "device", "evaluate_every", "evaluate_count",
        "details_every", "tune", "lora_targets",
    }  # fmt: skip
    return {"task": config.task, "model": config.model, "training": config.training.model_dump(include=about)}


def timed(config: RunConfig) -> Forecast:
    """By some steps, made now in a process that ends with them. Raises AtlasError, what the run itself would say."""
    try:
        child = subprocess.run(
            [sys.executable, "-m", "engine.training.forecast"], cwd=ROOT, input=config.to_json(),
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Forecast(**json.loads(child.stdout))
    except subprocess.TimeoutExpired:
        raise AtlasError(
            "a few steps of this run take more than {seconds} seconds", seconds=PATIENCE
        ) from None
    except (OSError, ValueError, TypeError):
        raise AtlasError("how long this run will take could not be measured") from None


def measure(config: RunConfig) -> Forecast:
    """In this process, which is to have nothing else to do."""
    import torch

    from engine.training.loop import train
    from engine.training.tasks import task_named

    torch.set_num_threads(1)
    run = train(config.model, task_named(**config.task), quiet(config))
    for _ in range(SETTLE):
        next(run)
    now = clock(run)
    begun, steps = now(), 0
    while steps < TIMED and now() - begun < ENOUGH:
        next(run)
        steps += 1
    step = (now() - begun) / steps
    return Forecast(step * config.training.steps + evaluations(config) * judging(run), None, str(run.device))


def clock(run) -> Callable[[], float]:
    """Where the processor does all the work, its own time, to which it does not matter that others go first."""
    return time.process_time if run.device.type == "cpu" else time.perf_counter


def quiet(config: RunConfig):
    """The run's settings, without what would happen at some of the timed steps only."""
    steps = max(config.training.steps, SETTLE + TIMED)
    return config.training.model_copy(update={"evaluate_every": None, "patience": None, "steps": steps})


def evaluations(config: RunConfig) -> int:
    every = config.training.evaluate_every
    return 0 if every is None else -(-config.training.steps // every)


def judging(run) -> float:
    """Seconds of one evaluation; an untrained model writes to the limit, so it is the longest there will be."""
    if not run.settings.evaluate_count:
        return 0.0
    now = clock(run)
    begun = now()
    run.judge()
    return now() - begun


if __name__ == "__main__":
    os.nice(POLITE)
    print(json.dumps(vars(measure(RunConfig.from_json(sys.stdin.read())))))
