"""Going on from a trained model: what is taken over from it, and what of it learns."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import AtlasError, ClassHead, StackConfig, TokenHead, TransformerConfig
from engine.model.build import build
from engine.tokenizers import MASK, CharacterTokenizer, Tokenizer
from engine.training.loop import Training, train
from engine.training.model_folder import save_checkpoint
from engine.training.runs.checkpoints import save_weights
from engine.training.settings import TrainingSettings
from engine.training.starts import start_at
from tests.engine.training.copying import Copying, small
from tests.engine.training.test_objectives import Labels

STACK = StackConfig(n_layers=2, n_heads=2)
OLD = CharacterTokenizer("abcdef")


class MoreLetters(Copying):
    @cached_property
    def tokenizer(self) -> Tokenizer:
        return CharacterTokenizer("gfedcba")


class Marks(Labels):
    @cached_property
    def tokenizer(self) -> Tokenizer:
        return CharacterTokenizer([MASK, *"abcdef"])


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A model of Copying's, as a folder."""
    config = small(Copying())
    save_checkpoint(tmp_path / "model", config, build(config, 7), OLD, {"name": "x", "title": "X"})
    return tmp_path / "model"


def going_on(
    start: Path, task: Copying, config: TransformerConfig | None = None, **settings: Any
) -> Training:
    values = {"steps": 4, "batch_size": 8, "device": "cpu", "warmup": 0, "start_from": str(start), **settings}
    return train(config or small(task), task, TrainingSettings(**values))


def encoder(head: TokenHead | ClassHead) -> TransformerConfig:
    return TransformerConfig(
        vocab_size=11, d_model=16, max_len=16, encoder=STACK, encoder_head=head, tied_embeddings=False
    )


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> set[str]:
    return {name for name in one if torch.equal(one[name], other[name])}


# ── what is taken over ──────────────────────────────────────────────────────────────────────────────────────


def test_the_same_model_is_taken_over_to_the_bit(trained: Path) -> None:
    theirs = build(small(Copying()), 7).state_dict()
    assert same(theirs, going_on(trained, Copying()).weights()) == theirs.keys()


def test_tokens_are_taken_over_by_what_they_are_called(trained: Path) -> None:
    task = MoreLetters()
    run = going_on(trained, task, seed=3)
    old = build(small(Copying()), 7).state_dict()["embedding.table.weight"]
    new = run.weights()["embedding.table.weight"]
    for letter in "abcdef":
        row, origin = task.tokenizer.ids(letter)[0], OLD.ids(letter)[0]
        assert row != origin or letter == "d"  # the middle one of seven stays, all others move
        assert torch.equal(new[row], old[origin])
    unknown_before = task.tokenizer.ids("g")[0]
    drawn = build(small(task), 3).state_dict()["embedding.table.weight"]
    assert torch.equal(new[unknown_before], drawn[unknown_before])


def test_a_head_for_another_end_stays_as_it_is_drawn(tmp_path: Path) -> None:
    before, task = encoder(TokenHead()), Marks()
    save_checkpoint(tmp_path, before, build(before, 7), task.tokenizer, {"name": "x", "title": "X"})
    after = encoder(ClassHead(n_classes=3, pool="mean"))
    run = train(after, task, TrainingSettings(steps=1, device="cpu", start_from=str(tmp_path)))
    theirs, ours = build(before, 7).state_dict(), run.weights()
    assert same({name: ours[name] for name in theirs if name != "head.weight"}, theirs) == theirs.keys() - {
        "head.weight"
    }
    assert torch.equal(ours["head.weight"], build(after, 0).state_dict()["head.weight"])


def test_a_run_is_gone_on_from_at_its_last_snapshot_or_at_any(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "tokenizer.json").write_text(OLD.to_json(), "utf-8")
    for step in (0, 9, 10):
        save_weights(
            run / "snapshots" / f"step-{step:06d}.safetensors", build(small(Copying()), step).state_dict()
        )
    last, first = going_on(run, Copying()), going_on(run / "snapshots" / "step-000000.safetensors", Copying())
    for found, seed in ((last, 10), (first, 0)):
        theirs = build(small(Copying()), seed).state_dict()
        assert same(theirs, found.weights()) == theirs.keys()


def test_another_body_is_refused_and_what_is_no_model_too(trained: Path, tmp_path: Path) -> None:
    wide = small(Copying()).model_copy(update={"d_model": 48})
    wide = TransformerConfig(**{**wide.model_dump(), "encoder": STACK, "decoder": STACK, "d_model": 48})
    with pytest.raises(
        AtlasError, match=r"cannot be gone on from: .* should be \(10, 48\) and is \(10, 32\)"
    ):
        going_on(trained, Copying(), wide)
    with pytest.raises(AtlasError, match="is neither a model, nor a run with snapshots, nor a snapshot"):
        start_at(tmp_path)
    with pytest.raises(AtlasError, match="tuning a part needs a trained model"):
        TrainingSettings(steps=1, tune="lora")


# ── what learns ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_head_alone_learns(tmp_path: Path) -> None:
    config, task = encoder(ClassHead(n_classes=3, pool="mean")), Marks()
    save_checkpoint(tmp_path, config, build(config, 7), task.tokenizer, {"name": "x", "title": "X"})
    settings = TrainingSettings(steps=3, batch_size=4, device="cpu", start_from=str(tmp_path), tune="head")
    run = train(config, task, settings)
    before = run.weights()
    assert len(list(run)) == 3
    assert before.keys() - same(before, run.weights()) == {"head.weight", "head.bias"}
    assert run.trained.keys() == {"head.weight", "head.bias"}


def test_updates_of_low_rank_learn_and_all_else_stays(trained: Path) -> None:
    run = going_on(trained, Copying(), tune="lora", lora_rank=2)
    before, base = run.weights(), {name: value.clone() for name, value in run.model.state_dict().items()}
    assert (
        same(before, build(small(Copying()), 7).state_dict()) == before.keys()
    )  # nothing changes at the start
    list(run)
    changed = before.keys() - same(before, run.weights())
    assert changed == {name for name in before if name.endswith(("W_q.weight", "W_v.weight"))}
    kept = same(base, run.model.state_dict())
    assert base.keys() - kept == {name for name in base if name.endswith((".A", ".B"))}
    for name in changed:
        assert torch.linalg.matrix_rank(run.weights()[name].double() - before[name].double(), atol=1e-6) <= 2


def test_tokens_that_are_new_learn_beside_updates_of_low_rank(trained: Path) -> None:
    run = going_on(trained, MoreLetters(), tune="lora")
    assert "embedding.table.weight" in run.trained
    assert "embedding.table.weight" not in going_on(trained, Copying(), tune="lora").trained


def test_a_run_with_updates_of_low_rank_resumes_to_the_bit(trained: Path) -> None:
    whole = list(going_on(trained, Copying(), tune="lora"))
    run = going_on(trained, Copying(), tune="lora")
    next(run)
    later = going_on(trained, Copying(), tune="lora")
    later.resume(run.state())
    assert list(later) == whole[1:]
