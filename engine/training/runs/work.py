"""A run at work: the loop, with its curves, snapshots and checkpoints written on the way.

Gone on from a checkpoint, a run makes the very steps it would have made: only the time of those after the last
checkpoint is lost when a process is killed.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from engine.config import AtlasError
from engine.training.loop import train
from engine.training.records import DivergedError, State, StepRecord
from engine.training.runs.checkpoints import load_state, save_state, save_weights, snapshot_steps
from engine.training.runs.folder import RunFolder, write_whole
from engine.training.runs.heartbeat import Heartbeat
from engine.training.runs.metrics import MetricsWriter
from engine.training.runs.status import State as StateName

FIRST_CHECKPOINT = 2.0  # seconds after the beginning: a short run has one, should its process be killed
CHECKPOINT_EVERY = 15.0  # seconds, from there on
POLITE = 5  # niceness: screens go first
WRITING = 0.02  # share of the time that checkpoints may take: large ones are made less often


class Work:
    """One process's part of a run. asked: which state it is to end in, as soon as somebody wants it to end."""

    def __init__(
        self, folder: RunFolder, heartbeat: Heartbeat, asked: Callable[[], StateName | None]
    ) -> None:
        torch.set_num_threads(1)  # faster than two for small models, and a screen beside it needs the other
        self.folder, self.heartbeat, self.asked = folder, heartbeat, asked
        config = folder.read_config()
        self.training = train(config.model, folder.task(config), folder.training(config))
        self.before = self.resume() if folder.last.exists() else 0.0
        self.forget()
        weights = sum(value.nbytes for value in self.training.model.state_dict().values())
        self.kept = snapshot_steps(config.training.steps, weights)
        need_room(
            folder, weights * (len(self.kept) + 8)
        )  # a state is three times the weights, and is held twice
        self.began = time.monotonic()
        self.saved, self.pause = self.began, FIRST_CHECKPOINT

    def resume(self) -> float:
        """The seconds that were spent already."""
        state = load_state(self.folder.last)
        self.training.resume(state)
        return state.values["seconds"]

    def forget(self) -> None:
        """What came after the checkpoint, or after the beginning where there is none, will be made again."""
        for step, path in self.folder.snapshots().items():
            if step > self.training.step:
                path.unlink()

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.began

    def run(self) -> StateName:
        """Until all steps are made or somebody asks; the state the run is in then."""
        training = self.training
        write_whole(self.folder.tokenizer, training.task.tokenizer.to_json().encode())
        self.heartbeat.tell(state="running", device=str(training.device), step=training.step)
        self.heartbeat.write()
        print(f"step {training.step} of {training.settings.steps} on {training.device}", flush=True)
        give_way()
        with MetricsWriter(self.folder.metrics) as metrics:
            if self.folder.metrics.stat().st_size:
                metrics.append({"step": training.step, "resumed": True})
            if training.step == 0:
                self.snapshot()
            ended = self.steps(metrics)
        self.checkpoint()
        if ended in ("finished", "stopped"):
            self.snapshot()
        return ended

    def steps(self, metrics: MetricsWriter) -> StateName:
        while not self.training.finished:
            if ended := self.asked():
                return ended
            try:
                record = next(self.training)
            except DivergedError:
                self.checkpoint()  # the weights are still those of the last good step
                self.snapshot()
                raise
            self.write(record, metrics)
            if record.step in self.kept:
                self.snapshot()
            if time.monotonic() - self.saved >= self.pause:
                self.checkpoint()
        return "finished"

    def write(self, record: StepRecord, metrics: MetricsWriter) -> None:
        about = {"step": record.step, "seconds": round(self.seconds, 4)}
        metrics.append({**about, **plain(record)})
        self.heartbeat.tell(step=record.step, seconds=about["seconds"], loss=record.loss)
        if (evaluation := record.evaluation) is not None:
            metrics.append({**about, "evaluation": asdict(evaluation)})
            self.heartbeat.tell(exact=evaluation.exact)
            print(f"step {record.step}  loss {evaluation.loss:.4f}  exact {evaluation.exact:.2%}", flush=True)
            if evaluation.best:
                save_weights(self.folder.best, self.training.weights())

    def snapshot(self) -> None:
        save_weights(self.folder.snapshot(self.training.step), self.training.weights())

    def checkpoint(self) -> None:
        begun = time.monotonic()
        state = self.training.state()
        save_state(self.folder.last, State(state.tensors, {**state.values, "seconds": self.seconds}))
        self.saved = time.monotonic()
        self.pause = max(CHECKPOINT_EVERY, (self.saved - begun) / WRITING)


def plain(record: StepRecord) -> dict[str, Any]:
    """A step's figures, without what is not known of it."""
    return {name: value for name, value in vars(record).items() if value is not None and name != "evaluation"}


def give_way() -> None:
    """Only now: until the first step is made, a screen waits for nothing else."""
    os.setpriority(os.PRIO_PROCESS, 0, max(POLITE, os.getpriority(os.PRIO_PROCESS, 0)))


def need_room(folder: RunFolder, count: int) -> None:
    """Raises AtlasError when the disk has fewer than `count` bytes free: better now than in an hour."""
    free = shutil.disk_usage(folder.path).free
    if free < count:
        raise AtlasError(
            "The run needs {needed} MB of disk space, and {path} has {free} MB free: make room there, or set "
            "ATLAS_HOME to a folder on a larger disk.",
            needed=round(count / 1e6) + 1, path=str(folder.path), free=round(free / 1e6),
        )  # fmt: skip
