"""A model of the hub, fetched in a process of its own: progress, cancel, and what is said when it cannot be."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
import torch

import engine
from engine.config import AtlasError
from engine.pretrained import download, hub, hub_fetch
from engine.pretrained.download import CancelledError, Download
from engine.pretrained.loader import load
from tests.engine.pretrained.fake_hub import FakeHub, Repository
from tests.engine.pretrained.test_hub import IDS, NAME, content, folder, later, served  # noqa: F401


@pytest.fixture
def away(served: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:  # noqa: F811
    """The small hub as another process finds it."""
    monkeypatch.setenv("HF_ENDPOINT", served.url)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "_current", {})
    return served


def until(condition, seconds: int = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def half_files(cache: Path) -> list[Path]:
    return list(cache.rglob("*.incomplete"))


def test_a_fetch_tells_how_far_it_is_and_gives_the_folder(away, folder, monkeypatch):  # noqa: F811
    seen = []
    monkeypatch.setattr(Download, "_report", lambda self, *at: seen.append(at))
    path = Download(NAME).run()
    assert torch.equal(engine.load(path).model(IDS), load(folder).model(IDS))
    total = sum(len(away.repositories[NAME[3:]].files["main"][file]) for file in away.asked)
    assert sorted(away.asked) == ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
    assert seen[-1] == ("done",)
    assert {(phase, all) for phase, _, all in seen[:-1]} == {("fetching", total)}
    come = [done for _, done, _ in seen[:-1]]
    assert come == sorted(come)
    assert come[-1] == total > come[0]


def test_cancel_ends_the_process_and_leaves_no_half_file(away, tmp_path):
    away.slow = 0.3
    fetch = download.begin(NAME)
    until(lambda: "model.safetensors" in away.asked and half_files(tmp_path / "cache"))
    assert fetch.progress.done > 0
    assert isinstance(fetch.source, hub_fetch.HubFetch)
    process = fetch.source._child._process
    assert process is not None
    fetch.cancel()
    fetch.wait(20)
    assert fetch.progress.phase == "cancelled"
    assert isinstance(fetch.error, CancelledError)
    assert "files that had come whole are kept" in str(fetch.error)
    assert process.poll() == 130
    assert half_files(tmp_path / "cache") == []
    assert not hub.is_kept(NAME)
    away.slow = 0
    before = len(away.asked)
    assert download.begin(NAME).wait(60) is None
    assert hub.is_kept(NAME)
    assert "config.json" not in away.asked[before:]


def test_cancelled_before_it_began(away):
    fetch = Download(NAME)
    fetch.cancel()
    with pytest.raises(CancelledError):
        fetch.run()
    assert away.asked == []


def test_what_is_done_with_it_is_done_before_it_is_over(away):
    phases = []
    fetch = Download(
        NAME, lambda path: phases.append((fetch.progress.phase, (path / "config.json").is_file()))
    )
    fetch.run()
    assert phases == [("fetching", True)]
    assert fetch.progress.phase == "done"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("hf:some/missing", "hf:some/missing is not a model that the Hugging Face hub shows to everyone"),
        ("hf:some/gated", "hf:some/gated is given only to those who accept its terms"),
        (f"{NAME}@step9", "the model has no revision step9"),
    ],
)
def test_what_cannot_be_had_is_one_sentence_that_can_be_translated(away, folder, name, says):  # noqa: F811
    away.repositories["some/gated"] = Repository({"main": content(folder)}, gated=True)
    fetch = download.begin(name)
    fetch.wait(60)
    assert fetch.progress.phase == "failed"
    assert fetch.error is not None
    assert says in str(fetch.error)
    assert fetch.error.values["name"] == name
    assert "{name}" in fetch.error.template


def test_without_a_network(away, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(
        AtlasError, match=r"hub cannot be reached \(.+\), and hf:some-owner/tiny.model is not whole"
    ):
        Download(NAME).run()


def test_a_process_that_dies_is_said(away, monkeypatch):
    monkeypatch.setattr(hub_fetch.sys, "executable", "/bin/false")
    with pytest.raises(AtlasError, match=r"could not be fetched: the process ended without a word\.$"):
        Download(NAME).run()


def test_which_fetches_of_the_hub_are_told_of(away):
    assert download.of_the_hub() == []
    failed, done = "hf:some/missing", NAME
    for name in (failed, done):
        download.begin(name).wait(60)
    assert download.of_the_hub() == [failed]
    download.forget(failed)
    assert download.of_the_hub() == []


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model_type": "mamba"}, "hf:some/other is a model of the family mamba, which is not built here yet"),
        ({"model_type": "llama", "quantization_config": {"quant_method": "awq"}}, "family llama quantised by awq"),
    ],
)  # fmt: skip
def test_another_family_is_refused_before_anything_is_fetched(away, settings, says):
    files = {"config.json": json.dumps(settings).encode(), "model.safetensors": b"x" * 1_000}
    away.repositories["some/other"] = Repository({"main": files})
    with pytest.raises(AtlasError, match=says):
        hub.look("hf:some/other")
    assert away.asked == []


def test_what_is_not_whole_is_not_kept(away, folder, tmp_path):  # noqa: F811
    shards = {f"model-0000{n}-of-00003.safetensors": b"x" for n in (1, 2, 3)}
    files = {"config.json": (folder / "config.json").read_bytes(), "model.safetensors.index.json": b"{}"}
    away.repositories["some/shards"] = Repository({"main": files | shards})
    path = hub.fetch("hf:some/shards")
    assert hub.is_kept("hf:some/shards")
    (path / "model-00002-of-00003.safetensors").unlink()
    assert not hub.is_kept("hf:some/shards")
    assert not hub.is_kept("hf:some/never")


def test_the_process_ends_with_the_one_that_began_it(away, tmp_path):
    """An app that is told to end takes its fetches along."""
    away.slow = 0.5
    code = f"import time; from engine.pretrained import download; download.begin({NAME!r}); time.sleep(600)"
    app = subprocess.Popen(
        [hub_fetch.sys.executable, "-c", f"import signal; signal.signal(15, signal.default_int_handler); {code}"],
        cwd=hub_fetch.ROOT, env=dict(os.environ), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: "model.safetensors" in away.asked and half_files(tmp_path / "cache"))
    app.terminate()
    app.wait(30)
    assert half_files(tmp_path / "cache") == []
