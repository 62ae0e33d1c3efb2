"""One run's process: what it leaves in the folder, and that no way of ending it loses or changes a step."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file

from engine.config import StackConfig, TransformerConfig
from engine.tokenizers import from_json
from engine.training import runs, worker
from engine.training.loop import train
from engine.training.runs import failures, launcher, metrics, queue, work
from engine.training.runs import status as statuses
from engine.training.runs.checkpoints import snapshot_steps
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.runs.status import Status
from engine.training.settings import TrainingSettings

STEPS = 8
SETTINGS = TrainingSettings(
    steps=STEPS, batch_size=4, warmup=6, evaluate_every=4, evaluate_count=4, device="cpu"
)


def config(**changes: Any) -> RunConfig:
    stack = StackConfig(n_layers=1, n_heads=2, d_ff=32, dropout=0.1)
    model = TransformerConfig(vocab_size=24, d_model=16, max_len=16, encoder=stack, decoder=stack)
    training = SETTINGS.model_copy(update=changes)
    return RunConfig(title="Copying", task={"name": "copy"}, model=model, training=training)


@pytest.fixture(autouse=True)
def _own_signals(home: Path) -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def folder() -> RunFolder:
    return runs.create(config()).folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLAS_HOME", str(tmp_path_factory.mktemp("home")))
        folder = runs.create(config()).folder
        assert worker.main([str(folder.path)]) == 0
    return folder


def status(folder: RunFolder) -> Status:
    return runs.find(folder.name).status


def said(folder: RunFolder) -> str:
    error = status(folder).error
    assert error
    return str(error.error)


def at_step(number: int, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Something happens once, just after that step was written down."""
    write, due = work.Work.write, [number]

    def writes(self, record, metrics) -> None:
        write(self, record, metrics)
        if record.step in due:
            due.clear()
            act()

    monkeypatch.setattr(work.Work, "write", writes)


def same(one: RunFolder, other: RunFolder) -> bool:
    """Whether both went through the very same steps, to the bit."""

    def curves(folder: RunFolder) -> list[dict]:
        found = metrics.read(folder.metrics)
        return [{**record, "seconds": 0} for record in (*found.steps, *found.evaluations)]

    def tensors(folder: RunFolder) -> dict[str, dict]:
        return {
            path.name: load_file(path) for path in (folder.last, folder.best, *folder.snapshots().values())
        }

    left, right = tensors(one), tensors(other)
    return curves(one) == curves(other) and left.keys() == right.keys() and all(
        torch.equal(value, right[file][name]) for file in left for name, value in left[file].items()
    )  # fmt: skip


# ── what a run leaves ───────────────────────────────────────────────────────────────────────────────────────


def test_a_run_leaves_curves_snapshots_checkpoints_and_its_vocabulary(undisturbed: RunFolder) -> None:
    found = statuses.read(undisturbed)
    assert (found.state, found.step, found.steps, found.device, found.error) == (
        "finished",
        8,
        8,
        "cpu",
        None,
    )
    curves = metrics.read(undisturbed.metrics)
    assert [record["step"] for record in curves.steps] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [record["step"] for record in curves.evaluations] == [4, 8]
    assert found.loss == curves.steps[-1]["loss"]
    assert found.exact == curves.evaluations[-1]["evaluation"]["exact"]
    seconds = [record["seconds"] for record in curves.steps]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert [*undisturbed.snapshots()] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert len(from_json(undisturbed.tokenizer.read_text())) == 24
    names = {path.name for path in undisturbed.path.iterdir()}
    assert names == {
        ".lock", "config.json", "status.json", "metrics.jsonl", "tokenizer.json", "snapshots", "checkpoint"
    }  # fmt: skip


def test_the_steps_are_those_of_the_bare_loop(undisturbed: RunFolder) -> None:
    settings = config()
    bare = train(settings.model, undisturbed.task(settings), settings.training)
    losses = [record.loss for record in bare]
    assert [record["loss"] for record in metrics.read(undisturbed.metrics).steps] == losses
    kept = load_file(undisturbed.snapshot(STEPS))
    assert all(torch.equal(kept[name], value) for name, value in bare.weights().items())


@pytest.mark.parametrize(
    ("steps", "size", "kept"),
    [
        (1, 1, {0, 1}),
        (4, 1, {0, 1, 2, 3, 4}),
        (10**6, 1 << 30, {0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000}),
    ],
)
def test_snapshots_stand_ever_further_apart_and_fewer_where_they_are_large(
    steps: int, size: int, kept: set[int]
) -> None:
    assert snapshot_steps(steps, size) == kept
    assert len(snapshot_steps(10**6, 1)) <= 40


# ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("word", "state"), [("pause", "paused"), ("stop", "stopped")])
def test_a_request_ends_it_after_that_step_and_it_goes_on_as_if_nothing_had_been(
    folder: RunFolder, undisturbed: RunFolder, monkeypatch, word: str, state: str
) -> None:
    at_step(3, lambda: folder.request.write_text(word), monkeypatch)
    assert worker.main([str(folder.path)]) == 0
    assert (status(folder).state, status(folder).step) == (state, 3)
    assert not folder.request.exists()
    spent = status(folder).seconds
    assert worker.main([str(folder.path)]) == 0
    assert same(folder, undisturbed)
    assert metrics.read(folder.metrics).steps[3]["seconds"] > spent


def test_a_signal_ends_it_after_that_step(folder: RunFolder, undisturbed: RunFolder, monkeypatch) -> None:
    at_step(5, lambda: os.kill(os.getpid(), signal.SIGTERM), monkeypatch)
    worker.main([str(folder.path)])
    assert (status(folder).state, status(folder).step) == ("interrupted", 5)
    worker.main([str(folder.path)])
    assert status(folder).state == "finished"
    assert same(folder, undisturbed)


KILLED = """
import os, signal, sys
from engine.training import worker
from engine.training.runs import metrics, work
work.FIRST_CHECKPOINT, work.CHECKPOINT_EVERY, work.WRITING = 0, 0, 1e9
append = metrics.MetricsWriter.append
def append_or_die(self, record):
    if record["step"] == 6:
        self._write(b'{"step": 6, "lo')
        os.kill(os.getpid(), signal.SIGKILL)
    append(self, record)
metrics.MetricsWriter.append = append_or_die
worker.main([sys.argv[1]])
"""


def test_a_killed_run_makes_the_very_same_steps_again(folder: RunFolder, undisturbed: RunFolder) -> None:
    command = [sys.executable, "-c", KILLED, str(folder.path)]
    assert subprocess.run(command, cwd=launcher.ROOT, check=False).returncode == -signal.SIGKILL
    assert status(folder).state == "interrupted"
    assert len(metrics.read(folder.metrics).steps) == 5
    assert worker.main([str(folder.path)]) == 0
    assert same(folder, undisturbed)
    assert b'{"step": 5, "resumed": true}' in folder.metrics.read_bytes()


def test_the_first_checkpoint_comes_soon_and_the_others_at_their_distance(home, monkeypatch) -> None:
    folder = runs.create(config(steps=36)).folder
    seconds, made = [0.0], []
    monkeypatch.setattr(work, "time", SimpleNamespace(monotonic=lambda: seconds[0]))  # each step takes one
    write, checkpoint = work.Work.write, work.Work.checkpoint

    def writes(self, record, metrics) -> None:
        seconds[0] += 1
        write(self, record, metrics)

    def checkpoints(self) -> None:
        made.append(self.training.step)
        checkpoint(self)

    monkeypatch.setattr(work.Work, "write", writes)
    monkeypatch.setattr(work.Work, "checkpoint", checkpoints)
    assert worker.main([str(folder.path)]) == 0
    assert made == [2, 17, 32, 36]


def test_without_a_checkpoint_it_begins_anew(folder: RunFolder, undisturbed: RunFolder, monkeypatch) -> None:
    at_step(6, lambda: folder.request.write_text("pause"), monkeypatch)
    worker.main([str(folder.path)])
    folder.last.unlink()
    snapshots: list[int] = []
    at_step(1, lambda: snapshots.extend(folder.snapshots()), monkeypatch)
    worker.main([str(folder.path)])
    assert snapshots == [0]  # none of steps that are yet to come
    assert same(folder, undisturbed)
    assert b'{"step": 0, "resumed": true}' in folder.metrics.read_bytes()


def test_a_full_disk_is_told_and_the_run_goes_on_once_there_is_room(
    folder: RunFolder, undisturbed: RunFolder, monkeypatch
) -> None:
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    at_step(5, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, kept[1])), monkeypatch)
    try:
        assert worker.main([str(folder.path)]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert status(folder).state == "failed"
    assert f"The disk that holds {folder.path} is full" in said(folder)
    assert not [*folder.path.rglob("*.part")]
    assert worker.main([str(folder.path)]) == 0
    assert same(folder, undisturbed)


def test_too_little_room_is_told_before_the_first_step(folder: RunFolder, monkeypatch) -> None:
    monkeypatch.setattr(work.shutil, "disk_usage", lambda path: SimpleNamespace(free=2_000_000))
    monkeypatch.setattr(work, "snapshot_steps", lambda steps, size: frozenset(range(1000)))
    worker.main([str(folder.path)])
    assert "MB of disk space" in said(folder)
    assert "2 MB free" in said(folder)
    assert not folder.metrics.exists()


def test_a_run_that_diverges_keeps_its_last_good_weights(monkeypatch) -> None:
    folder = runs.create(config(learning_rate=1e12, warmup=0, clip=None)).folder
    worker.main([str(folder.path)])
    found = status(folder)
    assert found.state == "failed"
    assert "learning rate" in said(folder)
    last = load_file(folder.last)
    assert all(value.isfinite().all() for value in last.values())
    assert [*folder.snapshots()][-1] == found.step


def test_what_nobody_foresaw_is_one_sentence(folder: RunFolder, monkeypatch, capsys) -> None:
    def surprise() -> None:
        raise ZeroDivisionError("one\nand another line")

    at_step(2, surprise, monkeypatch)
    assert worker.main([str(folder.path)]) == 1
    assert said(folder) == (
        "The run failed unexpectedly (ZeroDivisionError: one and another line): its log.txt tells where."
    )
    assert "in surprise" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fits", "sentence"),
    [
        (1, "for a batch of 4; one of 1 fits: choose that batch size, or read the batch in 4 parts"),
        (3, "for a batch of 4; one of 2 fits: choose that batch size, or read the batch in 2 parts"),
        (0, "even by one example at a time: choose a smaller one"),
    ],
)
def test_without_memory_the_batch_that_fits_is_named(folder, monkeypatch, fits: int, sentence: str) -> None:
    def tight(model, task, settings):
        if settings.batch_size > fits:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return train(model, task, settings)

    monkeypatch.setattr(work, "train", tight)
    monkeypatch.setattr(failures, "train", tight)
    worker.main([str(folder.path)])
    assert status(folder).state == "failed"
    assert sentence in said(folder)


def test_the_processors_own_words_for_no_memory_are_known() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert failures.is_out_of_memory(caught.value)
    assert not failures.is_out_of_memory(RuntimeError("shapes differ"))


# ── one process a run ───────────────────────────────────────────────────────────────────────────────────────


def test_a_second_process_leaves_the_run_alone(folder: RunFolder, capsys) -> None:
    with FileLock(folder.path / ".lock"):
        assert worker.main([str(folder.path)]) == 1
    assert "is at work in another process" in capsys.readouterr().err
    assert status(folder) == Status()


@pytest.mark.parametrize("text", [None, "{}", '{"format": 99}'])
def test_a_folder_that_is_no_run_is_left_as_it_is(tmp_path: Path, capsys, text: str | None) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    if text:
        (odd / "config.json").write_text(text)
    assert worker.main([str(odd)]) == 1
    assert "Traceback" not in capsys.readouterr().err
    assert [path.name for path in odd.iterdir()] == ["config.json"] * bool(text)


def test_a_folder_anywhere_with_settings_alone_is_a_run(tmp_path: Path, undisturbed: RunFolder) -> None:
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "config.json").write_text(config().to_json())
    assert worker.main([str(tmp_path / "again")]) == 0
    assert same(RunFolder(tmp_path / "again"), undisturbed)


def test_the_run_that_ends_starts_the_next(folder: RunFolder, launched) -> None:
    other = runs.create(config()).name
    runs.start(folder.name)
    runs.start(other)
    assert launched.names == [folder.name]
    worker.main([str(folder.path)])
    assert launched.names == [folder.name, other]


def test_two_started_runs_end_one_after_the_other_with_nobody_looking(undisturbed: RunFolder) -> None:
    first, second = (runs.create(config()).name for _ in range(2))
    runs.start(first)
    runs.start(second)
    assert [runs.find(name).status.state for name in (first, second)] == ["starting", "waiting"]
    end = time.monotonic() + 600
    while runs.find(second).status.state != "finished":
        assert time.monotonic() < end, (queue.root() / second / "log.txt").read_text()
        time.sleep(0.1)
    assert same(runs.folder_of(first), undisturbed)
    assert same(runs.folder_of(second), undisturbed)
    assert "step 0 of 8 on cpu" in runs.folder_of(second).log.read_text()


def test_a_damaged_checkpoint_is_one_sentence(folder: RunFolder, undisturbed: RunFolder) -> None:
    folder.last.parent.mkdir()
    folder.last.write_bytes(undisturbed.last.read_bytes()[:1000])
    worker.main([str(folder.path)])
    assert f"The checkpoint {folder.last} cannot be read" in said(folder)
