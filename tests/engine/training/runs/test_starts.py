"""What a run goes on from is its own: it may be trained anew or deleted, and the run begins as it would have."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from engine.config import AtlasError
from engine.model.build import build
from engine.training import runs
from engine.training.loop import train
from engine.training.model_folder import save_checkpoint
from engine.training.runs import Run, transfer
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.tasks import task_named

FIRST, LATER = 7, 8  # seeds of the trained model's weights


@pytest.fixture
def parent(tmp_path: Path, settings: RunConfig) -> Path:
    trained(tmp_path / "parent", settings, FIRST)
    return tmp_path / "parent"


@pytest.fixture
def child(home: Path, settings: RunConfig, parent: Path) -> Run:
    """A run that goes on from the parent and was not started."""
    size = {"vocab_size": len(task_named("dates").tokenizer)}
    training = settings.training.model_copy(update={"start_from": str(parent)})
    model = settings.model.model_copy(update=size)
    return runs.create(settings.model_copy(update={"training": training, "model": model}))


def trained(folder: Path, settings: RunConfig, seed: int) -> None:
    tokenizer = task_named("dates").tokenizer
    config = settings.model.model_copy(update={"vocab_size": len(tokenizer)})
    save_checkpoint(folder, config, build(config, seed), tokenizer, {"name": "x", "title": "X"})


def begins_with(folder: RunFolder, seed: int) -> bool:
    """Whether the run begins with the weights of that seed."""
    config = folder.read_config()
    run = train(config.model, folder.task(config), folder.training(config))
    expected = build(config.model, seed).state_dict()
    return all(torch.equal(value, expected[name]) for name, value in run.model.state_dict().items())


def test_it_begins_with_what_the_parent_was(child: Run, parent: Path, settings: RunConfig) -> None:
    assert begins_with(child.folder, FIRST)
    trained(parent, settings, LATER)
    assert begins_with(child.folder, FIRST)
    shutil.rmtree(parent)
    assert begins_with(child.folder, FIRST)
    assert child.folder.read_config().training.start_from == str(parent)  # which it is told by


def test_its_duplicate_and_a_copy_elsewhere_begin_alike(child: Run, parent: Path, tmp_path: Path) -> None:
    shutil.rmtree(parent)
    assert begins_with(runs.duplicate(child.name, "again").folder, FIRST)
    shutil.copytree(child.folder.path, tmp_path / "elsewhere")
    assert begins_with(transfer.adopt(tmp_path / "elsewhere").folder, FIRST)
    assert f"{child.folder.path}/start " in transfer.command(child.folder)


def test_where_there_is_no_such_model_no_run_is_made(child: Run, tmp_path: Path) -> None:
    config = child.folder.read_config()
    training = config.training.model_copy(update={"start_from": str(tmp_path / "nothing")})
    with pytest.raises(
        AtlasError, match="nothing is neither a model, nor a run with snapshots, nor a snapshot"
    ):
        runs.create(config.model_copy(update={"training": training}))
    assert [run.name for run in runs.listed()] == [child.name]


def test_a_run_from_before_copies_were_kept_reads_what_it_names(child: Run) -> None:
    shutil.rmtree(child.folder.path / "start")
    assert begins_with(child.folder, FIRST)
