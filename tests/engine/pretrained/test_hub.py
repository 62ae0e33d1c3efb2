"""The Hugging Face hub, as a small one on this machine: what is fetched, and what is said when it cannot be."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

import engine
from engine import room
from engine.config import AtlasError
from engine.pretrained import hub
from engine.pretrained.__main__ import main
from engine.pretrained.loader import load
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.fake_hub import FakeHub, Repository
from tests.engine.pretrained.test_lora import ALL, adapter

IDS = torch.tensor([[3, 17, 5]])
CARD = b"---\nlicense: mit\ntags: [test]\n---\n# A model\nlicense: none of this\n"


def content(folder: Path, **more: bytes) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} | more


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return checkpoints.save(checkpoints.llama(), tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(scope="module")
def later(tmp_path_factory) -> Path:
    return checkpoints.save(checkpoints.llama(seed=1), tmp_path_factory.mktemp("models") / "later")


@pytest.fixture
def served(folder, later, tmp_path, monkeypatch) -> Iterator[FakeHub]:
    main = content(folder) | {"README.md": CARD, "pytorch_model.bin": b"not needed", "onnx.bin": b"nor this"}
    with FakeHub({"some-owner/tiny.model": Repository({"main": main, "step512": content(later)})}) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


NAME = "hf:some-owner/tiny.model"


def test_a_model_is_fetched_by_its_name_once(served, folder):
    lm = engine.load(NAME)
    assert torch.equal(lm.model(IDS), load(folder).model(IDS))
    assert sorted(served.asked) == ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
    assert (lm.name, lm.title) == (NAME, "tiny.model")
    assert lm.card["licence"] == "mit"
    engine.load(NAME)
    assert len(served.asked) == 4


def test_a_revision_is_another_model(served, later):
    lm = engine.load(f"{NAME}@step512")
    assert torch.equal(lm.model(IDS), load(later).model(IDS))
    assert lm.title == "tiny.model@step512"
    assert torch.equal(engine.load(f"{NAME}@{'b' * 40}").model(IDS), lm.model(IDS))
    assert not torch.equal(engine.load(NAME).model(IDS), lm.model(IDS))


def test_what_there_is_to_fetch_is_told_first(served, folder):
    told = []
    hub.fetch(NAME, lambda remote: told.append((remote, list(served.asked))))
    [(remote, asked)] = told
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    expected = sizes["config.json"] + sizes["tokenizer.json"] + sizes["model.safetensors"] + len(CARD)
    assert remote.bytes_to_fetch == expected
    assert remote.licence == "apache-2.0"
    assert asked == []
    assert hub.look(NAME).bytes_to_fetch == 0


def test_from_a_terminal(served, capsys):
    assert main(["get", NAME]) == 0
    said = capsys.readouterr().out
    assert re.match(r"hf:some-owner/tiny\.model: 1\d\d kB to fetch, licence: apache-2\.0\.\n", said)
    assert "tiny.model is in /" in said
    assert main(["get", NAME]) == 0
    assert "all of it is here already" in capsys.readouterr().out
    assert main(["get", "hf:some/missing"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_too_little_disk_is_said_before_anything_is_fetched(served, monkeypatch):
    monkeypatch.setattr(room, "free_disk", lambda path: 100_000)
    with pytest.raises(
        AtlasError, match=r"tiny\.model needs \d+ kB of disk space and .*cache has 100 kB free: make"
    ):
        engine.load(NAME)
    assert served.asked == []


def test_shards_and_the_older_form(served, folder, tmp_path):
    sharded = checkpoints.save(checkpoints.llama(), tmp_path / "shards", max_shard_size="60kB")
    torch.save(dict(checkpoints.llama().state_dict()), tmp_path / "pytorch_model.bin")
    old = content(folder) | {"pytorch_model.bin": (tmp_path / "pytorch_model.bin").read_bytes()}
    del old["model.safetensors"]
    served.repositories["some/shards"] = Repository({"main": content(sharded, **{"flax_model.bin": b"x"})})
    served.repositories["some/old"] = Repository({"main": old})
    expected = load(folder).model(IDS)
    assert torch.equal(engine.load("hf:some/shards").model(IDS), expected)
    assert len([file for file in served.asked if file.startswith("model-0000")]) > 1
    assert "flax_model.bin" not in served.asked
    assert torch.equal(engine.load("hf:some/old").model(IDS), expected)


def test_an_adapter_and_its_base(served, folder, tmp_path):
    lora = adapter(tmp_path / "lora", "some-owner/tiny.model", ALL)
    served.repositories["some/lora"] = Repository({"main": content(lora)})
    with pytest.raises(
        AtlasError, match=r"give its folder as base=, or hf:some-owner/tiny\.model for a model"
    ):
        engine.load("hf:some/lora")
    expected = engine.load(lora, base=folder).model(IDS)
    assert torch.equal(engine.load("hf:some/lora", base=NAME).model(IDS), expected)


def test_without_a_network_what_was_fetched_is_opened(served, folder, monkeypatch):
    engine.load(NAME)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", nobody)
    assert torch.equal(engine.load(NAME).model(IDS), load(folder).model(IDS))
    with pytest.raises(
        AtlasError, match=r"hub cannot be reached \(.+\), and hf:some/other is not whole"
    ) as caught:
        engine.load("hf:some/other")
    assert "\n" not in str(caught.value)
    served.down = True
    monkeypatch.setattr(constants, "ENDPOINT", served.url)
    assert torch.equal(engine.load(NAME).model(IDS), load(folder).model(IDS))
    with pytest.raises(AtlasError, match=r"did not give out hf:some/other \(.*503.*\): try again later"):
        engine.load("hf:some/other")


def test_offline_by_choice(served, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(AtlasError, match="hub cannot be reached"):
        engine.load(NAME)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("hf:some/missing", "hf:some/missing is not a model that the Hugging Face hub shows to everyone"),
        (
            f"{NAME}@step9",
            r"tiny\.model@step9: the model has no revision step9; choose a branch, a tag or a commit",
        ),
        ("hf:some/gated", "hf:some/gated is given only to those who accept its terms"),
        (
            "hf:some/dataset",
            "hf:some/dataset has no config.json with weights as safetensors or pytorch_model.bin",
        ),
        ("hf:", "hf: is not a name of the Hugging Face hub: write hf:OWNER/NAME, or hf:OWNER/NAME@REVISION"),
        ("hf:gpt2", "hf:gpt2 is not a name of the Hugging Face hub"),
        ("hf:a/b/c", "hf:a/b/c is not a name of the Hugging Face hub"),
        ("hf:../../etc", "is not a name of the Hugging Face hub"),
        ("hf:a--b/..", "is not a model that the Hugging Face hub shows"),
        (f"hf:{'x' * 300}/y", "is not a model that the Hugging Face hub shows"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(served, folder, name, says):
    served.repositories["some/gated"] = Repository({"main": content(folder)}, gated=True)
    served.repositories["some/dataset"] = Repository(
        {"main": {"data.json": b"{}", "model.safetensors": b"x"}}
    )
    with pytest.raises(AtlasError, match=says) as caught:
        engine.load(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_the_licence_is_that_of_the_card(tmp_path):
    for text, expected in {
        "---\nlicense: apache-2.0\n---\n": "apache-2.0", "---\r\ntags: x\r\nlicense: 'mit'\r\n---\r\n": "mit",
        "---\ntags: x\n---\nlicense: mit\n": None, "license: mit": None, "": None,
    }.items():  # fmt: skip
        (tmp_path / "README.md").write_bytes(text.encode())
        assert hub.licence(tmp_path) == expected
    (tmp_path / "README.md").unlink()
    assert hub.licence(tmp_path) is None


def test_a_half_fetched_index_is_found(served, tmp_path):
    sharded = checkpoints.save(checkpoints.llama(), tmp_path / "shards", max_shard_size="60kB")
    files = content(sharded)
    lost = next(name for name in files if name.startswith("model-00002"))
    del files[lost]
    assert lost in json.loads(files["model.safetensors.index.json"])["weight_map"].values()
    served.repositories["some/half"] = Repository({"main": files})
    with pytest.raises(AtlasError, match=f"not complete: its index names {lost}"):
        engine.load("hf:some/half")
