"""Runs and their snapshots open as any other model does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import engine
from engine.config import AtlasError
from engine.model.build import build
from engine.training import runs
from engine.training.runs import status as statuses
from engine.training.runs.checkpoints import save_weights
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.runs.status import Status


@pytest.fixture
def run(home: Path, settings: RunConfig) -> RunFolder:
    """Started, with weights drawn anew for each snapshot: the step is the seed."""
    folder = runs.create(settings).folder
    tokenizer = folder.task(settings).tokenizer
    model = settings.model.model_copy(update={"vocab_size": len(tokenizer)})
    folder.config.write_text(settings.model_copy(update={"model": model}).to_json())
    folder.tokenizer.write_text(tokenizer.to_json())
    statuses.write(folder, Status(state="paused"))
    for step in (0, 7, 100):
        save_weights(folder.snapshot(step), build(model, step).state_dict())
    return folder


def seed_of(lm: engine.LanguageModel) -> int:
    weight = lm.model.state_dict()["embedding.table.weight"]
    return next(
        seed for seed in (0, 7, 100, 5)
        if torch.equal(build(lm.config, seed).state_dict()["embedding.table.weight"], weight)
    )  # fmt: skip


def test_any_snapshot_opens(run: RunFolder) -> None:
    assert [seed_of(engine.load(path)) for path in run.snapshots().values()] == [0, 7, 100]
    lm = engine.load(str(run.snapshot(7)))
    assert (lm.title, lm.name) == ("Days", str(run.snapshot(7)))
    assert not lm.model.training
    assert lm.trace("3 June 2025", "2025").logits.shape == (1, 5, lm.config.vocab_size)


def test_a_run_opens_at_its_latest_snapshot_and_at_its_best_evaluation_if_there_was_one(
    run: RunFolder,
) -> None:
    assert seed_of(engine.load(run.path)) == 100
    save_weights(run.best, build(engine.load(run.path).config, 5).state_dict())
    assert seed_of(engine.load(run.path)) == 5
    assert seed_of(engine.load(run.best)) == 5


def test_a_run_without_weights_says_so(run: RunFolder) -> None:
    for path in run.snapshots().values():
        path.unlink()
    with pytest.raises(AtlasError, match="The run dates-1 has no weights yet: start it first"):
        engine.load(run.path)


def test_a_run_whose_status_is_lost_opens_and_one_that_never_began_says_so(run: RunFolder) -> None:
    run.status.unlink()
    assert seed_of(engine.load(run.path)) == 100
    assert seed_of(engine.load(run.snapshot(7))) == 7
    for path in run.snapshots().values():
        path.unlink()
    with pytest.raises(AtlasError, match="The run dates-1 has no weights yet: start it first"):
        engine.load(run.path)


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "llama", "task": "x"}', "\udcff"])
def test_other_settings_are_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_bytes(text.encode(errors="surrogateescape"))
    assert RunFolder.around(tmp_path) is None


@pytest.mark.parametrize("damage", [b"", b"\x08\x00\x00\x00\x00\x00\x00\x00{}"])
def test_a_damaged_snapshot_is_one_sentence(run: RunFolder, damage: bytes) -> None:
    run.snapshot(7).write_bytes(damage or run.snapshot(7).read_bytes()[:500])
    with pytest.raises(AtlasError, match=r"snapshots/step-000007\.safetensors"):
        engine.load(run.snapshot(7))


def test_what_is_near_a_run_is_none(run: RunFolder) -> None:
    assert RunFolder.around(run.snapshot(8)) is None
    assert RunFolder.around(run.path.parent) is None
    assert RunFolder.around(Path("x" * 5000)) is None
