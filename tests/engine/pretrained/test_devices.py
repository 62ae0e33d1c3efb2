"""Where a model is loaded to, in which numbers, and that it is asked for before anything is read."""

from __future__ import annotations

import pytest
import torch

import engine
from engine import room
from engine.config import AtlasError
from engine.pretrained import derived, devices
from engine.pretrained.devices import Target
from engine.pretrained.loader import load
from engine.verify import verify
from tests.engine.pretrained import checkpoints

IDS = torch.tensor([[3, 17, 5]])
HALVES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@pytest.fixture
def folder(tmp_path):
    return checkpoints.save(checkpoints.llama(), tmp_path / "model")


@pytest.fixture
def gguf(tmp_path, home):
    return checkpoints.llama_as_gguf(checkpoints.llama(), tmp_path / "tiny.gguf")


@pytest.mark.parametrize("name", HALVES)
def test_weights_become_the_type_of_number_that_is_asked_for(folder, name):
    exact, loaded = load(folder), load(folder, dtype=name)
    for key, value in loaded.model.state_dict().items():
        assert value.dtype == HALVES[name]
        assert torch.equal(value, exact.model.state_dict()[key].to(HALVES[name]))
    assert loaded.meta["stored_as"] == "F32"


@pytest.mark.parametrize("name", HALVES)
def test_a_gguf_file_does_so_from_its_copy_and_without_one(gguf, name):
    first = load(gguf, dtype=name)
    assert derived.find(gguf) is None  # the copy holds float32, and is made where those were made anyway
    exact = load(gguf)
    assert derived.find(gguf) is not None
    second = load(gguf, dtype=name)
    for key, value in exact.model.state_dict().items():
        expected = value.to(HALVES[name])
        assert torch.equal(first.model.state_dict()[key], expected)
        assert torch.equal(second.model.state_dict()[key], expected)


@pytest.mark.parametrize("name", HALVES)
def test_a_model_of_our_own_does_so_too(name):
    lm = engine.load("pocket", dtype=name)
    assert lm.dtype == HALVES[name]
    assert lm.device == torch.device("cpu")
    assert all(check.ok for check in verify(lm))


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps", "tpu", "meta", ""])
def test_a_device_that_is_not_there_is_refused_by_name(folder, monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for name in (folder, "pocket"):
        with pytest.raises(AtlasError, match=f"There is no device {device} on this machine; it has cpu"):
            engine.load(name, device=device)


def test_devices_are_listed_by_name(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.available() == ["cpu", "cuda", "cuda:0", "cuda:1", "mps"]
    assert devices.target("cuda:1", "bfloat16") == Target(torch.device("cuda:1"), torch.bfloat16)
    assert devices.target(torch.device("cuda"), torch.float16).dtype == torch.float16


@pytest.mark.parametrize("dtype", ["float8", "int8", "float64", "bf16"])
def test_a_type_of_number_that_no_model_computes_in(folder, dtype):
    with pytest.raises(AtlasError, match=f"computes in float32, float16, bfloat16, not in {dtype}"):
        engine.load(folder, dtype=dtype)


def test_memory_is_counted_in_numbers_of_the_type_that_is_asked_for(folder, gguf, monkeypatch):
    numbers = sum(value.numel() for value in load(folder).model.parameters())
    largest = 32 * 48
    assert numbers == 25_824  # 2 * 40 * 32 + 3 * (2 * 32^2 + 2 * 32 * 16 + 3 * 32 * 48 + 2 * 32) + 32
    for dtype, bytes_each in {"float32": 4, "bfloat16": 2}.items():
        need = bytes_each * numbers + 8 * largest
        for path in (folder, gguf):
            derived.remove(gguf)
            monkeypatch.setattr(room, "free_memory", lambda need=need: need - 1)
            with pytest.raises(AtlasError, match=r"needs \d+ kB of memory and"):
                load(path, dtype=dtype)
            monkeypatch.setattr(room, "free_memory", lambda need=need: need)
            load(path, dtype=dtype)


def test_on_a_card_its_own_memory_counts(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (13_000_000_000, 80_000_000_000))
    monkeypatch.setattr(room, "free_memory", lambda: 2_000_000_000)
    card = Target(torch.device("cuda"), torch.bfloat16)
    card.need(6_400_000_000, 100_000_000, "A model")
    with pytest.raises(AtlasError, match=r"A model needs 14 GB of the memory of cuda, where 13 GB are free"):
        card.need(7_000_000_000, 100_000_000, "A model")
    with pytest.raises(AtlasError, match=r"A model needs 4\.0 GB of memory and 2\.0 GB are available"):
        card.need(1_000_000_000, 500_000_000, "A model")
