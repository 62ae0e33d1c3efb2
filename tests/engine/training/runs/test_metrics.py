"""Curves: read as they grow, with half lines, nonsense and resumed runs in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.training.runs import metrics
from engine.training.runs.metrics import Metrics, MetricsWriter

SAMPLES = [{"source": "六月", "target": "6", "written": "7"}]
SITE = "decoder.layers.0.cross_attention"


def aligned(**said: object) -> str:
    """A line that tells of a best head."""
    return json.dumps({"step": 2, "evaluation": {"alignment": {"site": SITE, "head": 0, "share": 1, **said}}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def add(path: Path, *steps: int, loss: float = 1.0) -> None:
    with MetricsWriter(path) as writer:
        for step in steps:
            writer.append({"step": step, "loss": loss})


def numbers(found: Metrics) -> list[int]:
    return [record["step"] for record in found.steps]


def test_a_run_that_has_not_begun_has_no_curves(path: Path) -> None:
    found = Metrics(path)
    assert not found.read_on()
    assert (found.steps, found.evaluations) == ([], [])


def test_only_what_came_since_is_read(path: Path) -> None:
    add(path, 1, 2)
    found = metrics.read(path)
    first, size = found.steps[0], path.stat().st_size
    assert found.offset == size
    assert not found.read_on()
    add(path, 3)
    assert found.read_on()
    assert numbers(found) == [1, 2, 3]
    assert found.steps[0] is first


def test_evaluations_stand_apart(path: Path) -> None:
    with MetricsWriter(path) as writer:
        writer.append({"step": 1, "loss": 0.5})
        writer.append({"step": 1, "evaluation": {"exact": 0.25, "samples": SAMPLES}})
    found = metrics.read(path)
    assert found.steps == [{"step": 1, "loss": 0.5}]
    assert found.evaluations == [{"step": 1, "evaluation": {"exact": 0.25, "samples": SAMPLES}}]


def test_a_line_in_the_writing_is_read_once_it_is_whole(path: Path) -> None:
    path.write_bytes(b'{"step": 1, "loss": 2.0}\n{"step": 2, "lo')
    found = metrics.read(path)
    assert numbers(found) == [1]
    with path.open("ab") as file:
        file.write(b'ss": 1.5}\n')
    assert found.read_on()
    assert found.steps[1] == {"step": 2, "loss": 1.5}


@pytest.mark.parametrize("cut", range(1, len('{"step": 2, "loss": 1.0}\n')))
def test_wherever_a_line_was_cut_off_nothing_else_is_lost(path: Path, cut: int) -> None:
    add(path, 1, 2)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)
    with MetricsWriter(path) as writer:
        writer.append({"step": 1, "resumed": True})
    add(path, 2, loss=0.5)
    assert metrics.read(path).steps == [{"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5}]


def test_what_was_after_the_checkpoint_is_void_for_who_saw_it_and_who_did_not(path: Path) -> None:
    add(path, 1, 2, 3, 4)
    with MetricsWriter(path) as writer:
        writer.append({"step": 4, "evaluation": {"exact": 0.0}})
    early = metrics.read(path)
    with MetricsWriter(path) as writer:
        writer.append({"step": 2, "resumed": True})
    add(path, 3, loss=0.5)
    early.read_on()
    assert early == metrics.read(path)
    assert numbers(early) == [1, 2, 3]
    assert early.steps[2]["loss"] == 0.5
    assert early.evaluations == []


@pytest.mark.parametrize(
    "nonsense", [b"", b"[1]", b"7", b"\xff\xfe", b'{"step": "2"}', b'{"step": true}', b"{}", b"[" * 9999]
)
def test_nonsense_is_passed_over(path: Path, nonsense: bytes) -> None:
    add(path, 1)
    with path.open("ab") as file:
        file.write(nonsense + b"\n")
    add(path, 2)
    assert numbers(metrics.read(path)) == [1, 2]


def test_a_shorter_file_is_another_one(path: Path) -> None:
    add(path, 1, 2, 3)
    found = metrics.read(path)
    path.unlink()
    add(path, 9)
    found.read_on()
    assert numbers(found) == [9]


def test_a_disk_that_takes_only_a_part_is_asked_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:5]))
    add(path, 1, 2)
    assert numbers(metrics.read(path)) == [1, 2]


@pytest.mark.parametrize(
    "line",
    [
        '{"step": 2, "loss": "low"}',
        '{"step": 2, "loss": [1]}',
        '{"step": 2, "gradient_norms": {"embedding": "x"}}',
        '{"step": -1, "loss": 1}',
        '{"step": 99999999999999999999999999, "loss": 1}',
        '{"step": 2, "evaluation": 5}',
        '{"step": 2, "evaluation": {"exact": "all"}}',
        '{"step": 2, "evaluation": {"samples": "x"}}',
        '{"step": 2, "evaluation": {"alignment": 3}}',
        r'{"step": 2, "evaluation": {"samples": [{"source": "", "target": "", "written": "\ud800"}]}}',
        '{"step": 2, "loss": 1' + 400 * "0" + "}",
        '{"step": 2, "evaluation": {"samples": ["abc"]}}',
        '{"step": 2, "evaluation": {"samples": [{"source": "a", "target": "b"}]}}',
        '{"step": 2, "evaluation": {"samples": [{"source": 1, "target": "b", "written": "c"}]}}',
        '{"step": 2, "evaluation": {"samples": [{"source": [], "target": "b", "written": "c"}]}}',
        '{"step": 2, "evaluation": {"samples": [{"source": [[1], [1, 2]], "target": "b", "written": "c"}]}}',
        '{"step": 2, "evaluation": {"entropy": 1}}',
        '{"step": 2, "evaluation": {"entropy": {"head": [1]}}}',
        f'{{"step": 2, "evaluation": {{"entropy": {{"{SITE}": 1}}}}}}',
        f'{{"step": 2, "evaluation": {{"entropy": {{"{SITE}": []}}}}}}',
        f'{{"step": 2, "evaluation": {{"entropy": {{"{SITE}": [1, null]}}}}}}',
        f'{{"step": 2, "evaluation": {{"entropy": {{"{SITE}": ["high"]}}}}}}',
        aligned(),
        aligned(head=1, shares={SITE: [1]}),
        aligned(share="all", shares={SITE: [1]}),
    ],
)
def test_lines_that_no_figure_could_draw_are_passed_over(path: Path, line: str) -> None:
    add(path, 1)
    with path.open("a") as file:
        file.write(f"{line}\n")
    add(path, 3)
    found = metrics.read(path)
    assert (numbers(found), found.evaluations) == ([1, 3], [])


@pytest.mark.parametrize(
    "judged",
    [
        {},
        {"loss": float("nan"), "best": True, "aligned_accuracy": None, "alignment": None},
        {"samples": [{"source": [[0.0, 1], [1, 0]], "target": "3", "written": ""}]},
        {"entropy": {SITE: [0.5, 1]}, "samples": [], "alignment": {}},
        {
            "alignment": {
                "site": SITE,
                "head": 1,
                "share": 0.5,
                "shares": {SITE: [0, 0.5]},
                "masses": {SITE: [0, 0]},
            }
        },
    ],
)
def test_evaluations_of_every_kind_are_read(path: Path, judged: dict[str, object]) -> None:
    with MetricsWriter(path) as writer:
        writer.append({"step": 2, "evaluation": judged})
    assert len(metrics.read(path).evaluations) == 1


def test_a_character_beyond_the_first_plane_is_text(path: Path) -> None:
    path.write_text(
        r'{"step": 1, "evaluation": {"samples": [{"source": "a", "target": "b", "written": "\ud83d\ude00"}]}}'
        "\n"
    )
    assert metrics.read(path).evaluations[0]["evaluation"]["samples"][0]["written"] == "😀"


def test_curves_that_are_a_folder_are_told(path: Path) -> None:
    path.mkdir()
    with pytest.raises(AtlasError, match=r"metrics\.jsonl cannot be read: Is a directory"):
        metrics.read(path)
