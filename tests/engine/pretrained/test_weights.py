"""Files of weights: every form gives the same model, and nothing in a pickle runs."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine import room
from engine.config import AtlasError
from engine.pretrained.loader import load
from engine.pretrained.weights import Weights
from tests.engine.pretrained import checkpoints

IDS = torch.tensor([[3, 17, 5]])


@pytest.fixture
def folder(tmp_path):
    return checkpoints.save(checkpoints.llama(), tmp_path / "model")


def pickled(folder: Path, wrap: Callable[[dict[str, Any]], Any] = dict, **how: Any) -> Path:
    """The folder with its weights as torch.save writes them."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(wrap(weights), folder / "pytorch_model.bin", **how)
    return folder


def sharded(folder: Path, *, form: str, parts: int = 3) -> Path:
    """The folder with its weights in several files and an index, as large models come."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    stem, suffix = form.split(".")
    places = {}
    for part in range(parts):
        name = f"{stem}-{part + 1:05}-of-{parts:05}.{suffix}"
        held = {key: weights[key] for key in [*weights][part::parts]}
        (torch.save if suffix == "bin" else save_file)(held, folder / name)
        places |= dict.fromkeys(held, name)
    (folder / f"{form}.index.json").write_text(json.dumps({"weight_map": places}))
    return folder


FORMS = {
    "bin": pickled,
    "bin of old": lambda folder: pickled(folder, _use_new_zipfile_serialization=False),
    "a training loop's": lambda folder: pickled(folder, lambda it: {"model": it, "step": 3, "optimizer": {}}),
    "lightning's": lambda folder: pickled(folder, lambda it: {"state_dict": it, "epoch": 1}),
    "shards of safetensors": lambda folder: sharded(folder, form="model.safetensors"),
    "shards of bin": lambda folder: sharded(folder, form="pytorch_model.bin"),
}


@pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_model(folder, make):
    expected = load(folder).model(IDS)
    assert torch.equal(load(make(folder)).model(IDS), expected)


def test_safetensors_are_read_where_both_forms_are_there(folder):
    expected = load(folder).model(IDS)
    (folder / "pytorch_model.bin").write_bytes(b"not looked at")
    assert torch.equal(load(folder).model(IDS), expected)


@pytest.mark.parametrize("form", ["model.safetensors", "pytorch_model.bin"])
def test_a_shard_that_is_not_there(folder, form):
    sharded(folder, form=form)
    lost = sorted(folder.glob(f"{form.split('.')[0]}-*"))[1]
    lost.unlink()
    with pytest.raises(AtlasError, match=f"not complete: its index names {lost.name}, which 1 file"):
        load(folder)


@pytest.mark.parametrize("form", ["model.safetensors", "pytorch_model.bin"])
def test_a_shard_that_holds_less_than_its_index_says(folder, form):
    sharded(folder, form=form)
    stem, suffix = form.split(".")
    first, second = sorted(folder.glob(f"{stem}-*.{suffix}"))[:2]
    second.write_bytes(first.read_bytes())
    with pytest.raises(AtlasError, match=r"lacks \d+ of the tensors its configuration calls for"):
        load(folder)


@pytest.mark.parametrize("form", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("other", [torch.ones(32), torch.ones(31), torch.ones(32, dtype=torch.float16), None])
def test_a_tensor_in_two_shards_is_one_only_where_both_say_the_same(folder, form, other):
    expected = load_file(folder / "model.safetensors")["model.norm.weight"]
    sharded(folder, form=form)
    index = json.loads((folder / f"{form}.index.json").read_text())["weight_map"]
    last = max({*index.values()} - {index["model.norm.weight"]})
    read, write = (load_file, save_file) if last.endswith("s") else (torch.load, torch.save)
    twice = {**read(folder / last), "model.norm.weight": (expected if other is None else other).clone()}
    write(twice, folder / last)
    if other is None:
        assert torch.equal(load(folder).model.state_dict()["decoder.norm.weight"], expected)
        return
    with pytest.raises(AtlasError, match=r"holds model\.norm\.weight in two files with different numbers"):
        load(folder)


class Runs:
    """What a hostile file holds: opening it as a pickle would call a function of its choice."""

    def __init__(self, called: Path) -> None:
        self.called = called

    def __reduce__(self):
        return os.mkdir, (str(self.called),)


@pytest.mark.parametrize("new", [True, False])
def test_nothing_in_a_pickle_runs(folder, tmp_path, new):
    called = tmp_path / "called"
    pickled(folder, lambda it: {**it, "extra": Runs(called)}, _use_new_zipfile_serialization=new)
    with pytest.raises(
        AtlasError,
        match=r"pytorch_model\.bin cannot be opened as tensors alone \(Trying to load unsupported GLOBAL",
    ):
        load(folder)
    assert not called.exists()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(called)))
    with pytest.raises(AtlasError, match="which could run any code and are refused"):
        load(folder)
    assert not called.exists()


@pytest.mark.parametrize("kept", [0.9, 0.5, 20, 0])
@pytest.mark.parametrize("new", [True, False])
def test_a_truncated_pickle(folder, kept, new):
    path = pickled(folder, _use_new_zipfile_serialization=new) / "pytorch_model.bin"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if kept < 1 else kept])
    with pytest.raises(AtlasError, match=r"pytorch_model\.bin cannot be opened as tensors alone") as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [[1, 2], {"step": 3}, {3: torch.zeros(2)}, torch.zeros(3)])
def test_a_pickle_without_tensors_by_name(tmp_path, content):
    torch.save(content, tmp_path / "model.pt")
    with pytest.raises(AtlasError, match=r"model\.pt holds no tensors by name, neither at its top nor"):
        Weights([tmp_path / "model.pt"])


@pytest.mark.parametrize(
    ("tensor", "kind"),
    [
        (torch.ones(32, dtype=torch.int8), "int8"),
        (torch.ones(32).to_sparse(), "sparse_coo"),
        (torch.ones(32, device="meta"), "meta"),
        (torch.ones(32, dtype=torch.complex64), "complex64"),
    ],
    ids=["int8", "sparse", "meta", "complex"],
)
def test_a_pickle_of_other_tensors(folder, tensor, kind):
    pickled(folder, lambda it: {**it, "model.norm.weight": tensor})
    with pytest.raises(AtlasError, match=rf"model\.norm\.weight is stored as {kind}, and only F64, F32, F16"):
        load(folder)


def test_a_pickle_of_parameters(folder):
    expected = load(folder).model(IDS)
    pickled(folder, lambda it: {name: torch.nn.Parameter(value) for name, value in it.items()})
    loaded = load(folder)
    assert torch.equal(loaded.model(IDS), expected)
    assert all(value.is_leaf for value in loaded.model.parameters())


def test_a_pickle_of_the_old_form_is_held_against_memory_before_it_is_read(folder, monkeypatch):
    pickled(folder, _use_new_zipfile_serialization=False)
    monkeypatch.setattr(room, "free_memory", lambda: 50_000)
    monkeypatch.setattr(torch, "load", None)
    with pytest.raises(AtlasError, match=r"needs \d+ kB of memory and 50 kB are available"):
        load(folder)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_in_a_pickle(folder, kind):
    whole = load_file(folder / "model.safetensors")
    pickled(folder, lambda it: {key: value.to(kind) for key, value in it.items()})
    loaded = load(folder)
    assert loaded.meta["stored_as"] == {torch.float16: "F16", torch.bfloat16: "BF16"}[kind]
    found = loaded.model.state_dict()["decoder.norm.weight"]
    assert torch.equal(found, whole["model.norm.weight"].to(kind).float())
