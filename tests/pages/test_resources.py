"""Caches: made once, bounded, keyed by content; and the file the browser fetches."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from pages.components import resources, start
from pages.components.bounded import Bounded


def test_many_at_once_make_a_value_once() -> None:
    cache: Bounded[int] = Bounded(100)
    made, got = [], []

    def make() -> int:
        made.append(1)
        time.sleep(0.05)
        return 7

    threads = [
        threading.Thread(target=lambda: got.append(cache.get("k", make, lambda _: 1))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [7] * 8
    assert made == [1]


def test_what_was_used_longest_ago_goes_first() -> None:
    cache: Bounded[str] = Bounded(10)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda: "made", lambda _: 5)
    made = []
    for key in ("a", "c", "b"):
        cache.get(key, lambda: made.append(key) or "again", lambda _: 5)  # noqa: B023
    assert made == ["b"]
    assert cache.bytes <= 10


def test_a_value_larger_than_the_cache_is_still_handed_out_and_kept_alone() -> None:
    cache: Bounded[str] = Bounded(10)
    cache.get("small", lambda: "small", lambda _: 5)
    assert cache.get("large", lambda: "large", lambda _: 500) == "large"
    assert cache.bytes == 500
    cache.get("small", lambda: "small", lambda _: 5)
    assert cache.bytes == 5


def test_a_failure_is_raised_and_not_kept() -> None:
    cache: Bounded[int] = Bounded(10)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("k", fail, lambda _: 1)
    assert cache.get("k", lambda: 3, lambda _: 1) == 3


def test_200_different_inputs_stay_within_the_bound() -> None:
    cache: Bounded[bytes] = Bounded(50_000)
    for number in range(200):
        cache.get(number, lambda: bytes(1000), len)
    assert cache.bytes == 50_000


@dataclass(frozen=True)
class Toy:
    """A model as far as a title goes."""

    title: str


def test_two_windows_opened_at_once_load_a_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import engine

    loaded = []

    def load(target: str) -> Toy:
        loaded.append(target)
        time.sleep(0.1)
        return Toy("its own title")

    monkeypatch.setattr(engine, "load", load)
    got = []
    threads = [threading.Thread(target=lambda: got.append(resources.model("pocket"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [Toy("Pocket")] * 4
    assert len(loaded) == 1


def test_a_figure_is_the_same_object_for_the_same_key_and_another_for_another() -> None:
    first = resources.figure("ledger", ("text", 1), object)
    assert resources.figure("ledger", ("text", 1), object) is first
    assert resources.figure("ledger", ("text", 2), object) is not first
    assert resources.figure("matrix", ("text", 1), object) is not first


def test_the_browser_gets_the_installed_plotly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "STATIC", tmp_path / "static")
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    installed = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    for content in (None, b"another version"):
        if content is not None:
            (tmp_path / "static" / "plotly.min.js").write_bytes(content)
        start.serve_assets.cache_clear()
        start.serve_assets()
        assert (tmp_path / "static" / "plotly.min.js").read_bytes() == installed.read_bytes()
        served = sorted(path.name for path in (tmp_path / "static").iterdir())
        assert served == ["plot.css", "plot.js", "plotly.min.js"], "and no half-written file"


def test_a_task_is_made_anew_when_its_file_changes_and_says_itself_that_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_task", lambda options, changed: (options, changed))
    path = tmp_path / "pairs.csv"
    options = {"name": "own_pairs", "path": str(path)}
    gone: object = resources.task(options)
    path.touch()
    there: object = resources.task(options)
    assert gone == (json.dumps(options), 0.0)
    assert there == (json.dumps(options), path.stat().st_mtime)
    assert resources.task({"name": "copy"}) == ('{"name": "copy"}', 0.0)
