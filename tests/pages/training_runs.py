"""Runs as a worker would leave them, without one: a folder with a config, curves, snapshots and a status."""

from __future__ import annotations

import json
from typing import Any

from engine.model.build import build
from engine.training import presets, runs
from engine.training.runs import Run
from engine.training.runs import status as statuses
from engine.training.runs.checkpoints import save_weights
from engine.training.runs.folder import RunConfig
from engine.training.runs.processes import here
from engine.training.runs.status import Status
from engine.training.tasks import TASKS, task_named

SITE = "decoder.layers.0.cross_attention"
SAMPLES = [
    {"source": "abc", "target": "cba", "written": "cba"},
    {"source": "a<b>", "target": "cbd", "written": "cxd"},
]


def made(name: str = "reverse", title: str = "A run", probe: str = "abcd") -> Run:
    """A run that was not started."""
    task = task_named(name)
    return runs.create(
        RunConfig(
            title=title, task=TASKS[name]().model_dump(), model=presets.model_for(task, "small"), probe=probe,
            training=presets.settings_for(task).model_copy(update={"steps": 40}),
        )
    )  # fmt: skip


def trained(run: Run, **status: Any) -> Run:
    """The same after 20 of 40 steps."""
    assert run.config is not None
    steps = [
        {"step": step, "loss": 4 / step, "accuracy": step / 40, "learning_rate": 1e-3, "gradient_norm": 1.0,
         "gradient_norms": {"embedding": 0.5, "decoder.layers.0": 0.25}}
        for step in range(1, 21)
    ]  # fmt: skip
    evaluation = {
        "loss": 0.5, "accuracy": 0.75, "exact": 0.5, "samples": SAMPLES, "entropy": {SITE: [0.5]}, "best": True,
        "alignment": {"site": SITE, "head": 0, "share": 0.875, "shares": {SITE: [0.875]}, "masses": {SITE: [0.5]}},
    }  # fmt: skip
    lines = [*steps, {"step": 20, "evaluation": evaluation}]
    run.folder.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run.folder.tokenizer.write_text(run.folder.task(run.config).tokenizer.to_json())
    save_weights(run.folder.snapshot(20), build(run.config.model).state_dict())
    stands(run, **status)
    return run


def stands(run: Run, **status: Any) -> None:
    """What its process says; this process is taken for it, so that a run is truly at work."""
    known = {"state": "finished", "step": 20, "steps": 40, "device": "cpu", "process": here(), "seconds": 3.0}
    statuses.write(run.folder, Status(**{**known, **status}))
