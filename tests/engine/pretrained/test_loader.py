"""Folders and their faults, the memory that is asked for, and the derived copy that makes the second load
fast.
"""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine import room
from engine.config import AtlasError
from engine.pretrained import derived, vocabulary
from engine.pretrained.hf_folder import HfFolder
from engine.pretrained.loader import load
from tests.engine.pretrained import checkpoints

IDS = torch.tensor([[3, 17, 5]])


@pytest.fixture
def folder(tmp_path):
    return checkpoints.save(checkpoints.llama(), tmp_path / "model")


@pytest.fixture
def gguf(tmp_path, home):
    return checkpoints.llama_as_gguf(checkpoints.llama(), tmp_path / "tiny.gguf")


def change_config(folder, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_what_is_said_about_a_model(folder):
    loaded = load(folder)
    assert loaded.meta == {
        "family": "llama", "stored_as": "F32", "bos_id": 1, "eos_id": 2, "pad_id": None, "licence": None,
        "parameters": sum(value.numel() for value in loaded.model.parameters()), "name": str(folder),
        "title": "model", "source": str(folder),
    }  # fmt: skip
    assert not loaded.model.training


def test_another_family_is_refused_by_name_before_memory_is_asked_for(folder, monkeypatch):
    monkeypatch.setattr(room, "free_memory", lambda: 0)
    change_config(folder, model_type="mamba")
    with pytest.raises(
        AtlasError, match=r"of the family mamba, which is not built here yet \(built: llama, .*bert"
    ):
        load(folder)


def test_weights_quantised_by_a_method_are_refused_by_its_name(folder):
    change_config(folder, quantization_config={"quant_method": "gptq"})
    with pytest.raises(AtlasError, match="family llama quantised by gptq"):
        load(folder)


def test_too_little_memory_is_said_before_anything_is_read(folder, gguf, monkeypatch):
    monkeypatch.setattr(room, "free_memory", lambda: 50_000)
    for path in (folder, gguf):
        with pytest.raises(AtlasError, match=r"needs \d+ kB of memory and 50 kB are available"):
            load(path)


def test_shards_are_read_by_their_index(folder, tmp_path):
    sharded = checkpoints.save(checkpoints.llama(), tmp_path / "shards", max_shard_size="20kB")
    names = sorted(path.name for path in sharded.glob("*.safetensors"))
    assert len(names) > 1
    assert torch.equal(load(sharded).model(IDS), load(folder).model(IDS))
    (sharded / names[1]).unlink()
    with pytest.raises(AtlasError, match=rf"not complete: its index names {names[1]}"):
        load(sharded)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_become_float32(folder, kind):
    weights = {key: value.to(kind) for key, value in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors")
    loaded = load(folder)
    assert {value.dtype for value in loaded.model.parameters()} == {torch.float32}
    assert torch.equal(loaded.model.state_dict()["decoder.norm.weight"], weights["model.norm.weight"].float())


@pytest.mark.parametrize(
    ("kind", "value"),
    [(torch.float32, float("nan")), (torch.bfloat16, float("inf")), (torch.float16, float("-inf")),
     (torch.float64, 1e300)],
)  # fmt: skip
@pytest.mark.parametrize("form", ["folder", "pickle"])
def test_numbers_that_are_none_are_refused_by_name(folder, kind, value, form):
    weights = {key: whole.to(kind) for key, whole in load_file(folder / "model.safetensors").items()}
    weights["model.layers.1.mlp.up_proj.weight"][5, 7] = value
    save_file(weights, folder / "model.safetensors")
    if form == "pickle":
        (folder / "model.safetensors").unlink()
        torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(AtlasError, match=r"1\.mlp\.up_proj\.weight holds NaN, .* float32 cannot hold"):
        load(folder)


def test_nor_do_numbers_beyond_the_type_that_is_asked_for(folder):
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] = 70_000
    save_file(weights, folder / "model.safetensors")
    assert load(folder).model.state_dict()["decoder.norm.weight"][3] == 70_000
    with pytest.raises(AtlasError, match=r"model\.norm\.weight holds NaN, .* float16 cannot hold"):
        load(folder, dtype="float16")


def test_nor_are_they_in_gguf_or_in_its_copy(gguf, tmp_path, home):
    load(gguf)
    copy = derived.find(gguf)
    assert copy is not None
    weights = load_file(copy / "model.safetensors")
    weights["decoder.norm.weight"] = torch.full((32,), float("nan"))
    save_file(weights, copy / "model.safetensors")
    assert load(gguf).model(IDS).isfinite().all()
    theirs = checkpoints.llama()
    theirs.model.norm.weight.data[4] = float("inf")
    with pytest.raises(AtlasError, match=r"wrong\.gguf: output_norm\.weight holds NaN"):
        load(checkpoints.llama_as_gguf(theirs, tmp_path / "wrong.gguf"))


def test_whole_numbers_are_not_weights(folder):
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"].to(torch.int8)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(
        AtlasError, match=r"model\.norm\.weight is stored as I8, and only F64, F32, F16, BF16"
    ):
        load(folder)


def test_a_truncated_or_foreign_safetensors_file(folder):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    for damaged in (content[:-100], content[:5], b"<html>not found</html>", b""):
        path.write_bytes(damaged)
        with pytest.raises(
            AtlasError, match=r"cut short or is not a safetensors file .*: fetch or copy it again"
        ):
            load(folder)


def test_a_folder_without_weights(folder):
    (folder / "model.safetensors").rename(folder / "weights.pkl")
    with pytest.raises(AtlasError, match=r"has no model\.safetensors and no pytorch_model\.bin"):
        load(folder)


def test_a_path_that_the_system_refuses_and_memory_that_runs_out(folder, monkeypatch):
    with pytest.raises(AtlasError, match=r"^x{200} cannot be read \(File name too long\): check the path"):
        load("x" * 20_000)

    def run_out(*_):
        raise MemoryError

    monkeypatch.setattr(HfFolder, "tensor", run_out)
    with pytest.raises(AtlasError, match="The memory ran out while"):
        load(folder)


@pytest.mark.parametrize("content", ["", "[]", "{", "\ufffd"])
def test_a_broken_config(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(AtlasError, match=r"config\.json (cannot be read|does not hold a JSON object)"):
        load(folder)


def test_a_model_does_not_change_when_its_file_is_written_anew(folder):
    loaded = load(folder)
    before = loaded.model(IDS)
    size = (folder / "model.safetensors").stat().st_size
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(size // 2)
        file.write(bytes(size // 2))
    assert torch.equal(loaded.model(IDS), before)


def test_the_second_load_is_the_first_one_without_the_gguf_file_being_read(gguf, monkeypatch):
    first = load(gguf)
    assert derived.size(gguf) > 4 * first.meta["parameters"]
    monkeypatch.setattr(vocabulary, "from_gguf", None)
    second = load(gguf)
    assert second.meta == first.meta
    assert second.config == first.config
    assert torch.equal(first.model(IDS), second.model(IDS))
    assert second.tokenizer.encode("!#").ids == first.tokenizer.encode("!#").ids


def test_another_content_under_the_same_path_is_another_copy(gguf, tmp_path):
    first = load(gguf)
    other = checkpoints.llama_as_gguf(checkpoints.llama(seed=1), tmp_path / "other.gguf")
    gguf.write_bytes(other.read_bytes())
    assert not torch.equal(load(gguf).model(IDS), first.model(IDS))


@pytest.mark.parametrize("damage", ["short", "other names", "no config"])
def test_a_damaged_copy_is_made_again(gguf, damage):
    expected = load(gguf).model(IDS)
    copy = derived.find(gguf)
    assert copy is not None
    weights = copy / "model.safetensors"
    if damage == "short":
        weights.write_bytes(weights.read_bytes()[:-50])
    elif damage == "other names":
        save_file({f"old.{key}": value.clone() for key, value in load_file(weights).items()}, weights)
    else:
        (copy / "config.json").unlink()
    assert torch.equal(load(gguf).model(IDS), expected)
    assert derived.find(gguf) is not None


def test_without_room_for_a_copy_the_model_still_loads(gguf, monkeypatch):
    monkeypatch.setattr(room, "free_disk", lambda path: 1000)
    assert load(gguf).model(IDS).shape == (1, 3, checkpoints.VOCAB)
    assert derived.size(gguf) == 0


def test_a_home_that_cannot_be_written_only_costs_the_copy(gguf, home):
    home.write_text("a file where the folder should be")
    assert load(gguf).model(IDS).shape == (1, 3, checkpoints.VOCAB)


def test_copies_do_not_pile_up(gguf, home, tmp_path):
    for seed in range(6):
        load(checkpoints.llama_as_gguf(checkpoints.llama(seed=seed), tmp_path / f"{seed}.gguf"))
    assert len(list((home / "derived").iterdir())) == 4
    assert derived.size(tmp_path / "5.gguf") > 0
    assert derived.size(tmp_path / "0.gguf") == 0
    derived.remove(tmp_path / "5.gguf")
    assert derived.size(tmp_path / "5.gguf") == 0


def test_the_home_of_nobody_is_a_sentence() -> None:
    with pytest.raises(AtlasError):
        load("~nobody-of-that-name/model")
