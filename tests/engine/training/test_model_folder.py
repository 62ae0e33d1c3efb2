"""Folders of models: what is written comes back, and what is broken is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
from engine.config import AtlasError
from engine.model.build import build
from engine.training.model_folder import FILES, load_checkpoint, save_checkpoint
from tests.engine.training.copying import Copying, small

CARD = {"name": "copier", "title": "Copier", "metrics": {"exact": 0.5}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    task = Copying()
    config = small(task)
    save_checkpoint(tmp_path / "copier", config, build(config, seed=1), task.tokenizer, CARD)
    return tmp_path / "copier"


def test_what_is_saved_comes_back(folder: Path) -> None:
    config, model, tokenizer, card = load_checkpoint(folder)
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    assert config == small(Copying())
    assert tokenizer.encode("abc").ids == Copying().tokenizer.encode("abc").ids
    assert card == CARD
    assert not model.training
    for name, value in build(config, seed=1).state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name


def test_engine_load_takes_the_folder(folder: Path) -> None:
    lm = engine.load(str(folder))
    assert (lm.name, lm.title) == ("copier", "Copier")
    assert lm.trace("abc", "ab").logits.shape == (1, 3, 10)


def test_a_snapshot_in_half_precision_is_computed_with_in_single(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["encoder.norm.bias"] = torch.full((32,), 1 / 3)
    (folder / "snapshots").mkdir()
    path = folder / "snapshots" / "step-000007.safetensors"
    save_file({name: value.half() for name, value in weights.items()}, path)
    lm = engine.load(path)
    assert (
        lm.parameter("encoder.norm.bias").tolist() == [0.333251953125] * 32
    )  # 1365 / 4096, the half that is nearest
    assert {value.dtype for value in lm.model.parameters()} == {torch.float32}
    assert lm.trace("abc", "ab").logits.dtype == torch.float32


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(AtlasError, match=f"has no {name}"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe\xff", b'{"kind": "word"}'])
def test_a_damaged_file_is_one_sentence(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(AtlasError) as caught:
        load_checkpoint(folder)
    assert "Traceback" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_half_a_file_of_weights_is_refused(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(AtlasError, match=r"model\.safetensors cannot be read"):
        load_checkpoint(folder)


@pytest.mark.parametrize("change", ["missing", "extra", "reshaped"])
def test_weights_must_be_exactly_those_of_the_model(folder: Path, change: str) -> None:
    weights = load_file(folder / "model.safetensors")
    match change:
        case "missing":
            del weights["encoder.norm.bias"]
            sentence = r"encoder\.norm\.bias should be \(32,\) and is absent"
        case "extra":
            weights["head.weight"] = torch.zeros(1)
            sentence = r"head\.weight should be absent and is \(1,\)"
        case _:
            weights["encoder.norm.bias"] = torch.zeros(3)
            sentence = r"encoder\.norm\.bias should be \(32,\) and is \(3,\)"
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(AtlasError, match=sentence):
        load_checkpoint(folder)


def test_a_vocabulary_of_another_size_is_refused_with_both_numbers(folder: Path) -> None:
    (folder / "tokenizer.json").write_text(json.dumps({"kind": "character", "vocabulary": ["a"]}))
    with pytest.raises(AtlasError, match="has 5 tokens, but its model knows 10"):
        load_checkpoint(folder)
