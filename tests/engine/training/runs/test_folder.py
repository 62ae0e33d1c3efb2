"""What a run is, in its folder: comes back as it was written, and is refused in one sentence otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.training.runs.folder import RunConfig, RunFolder, write_whole


def test_settings_come_back(settings: RunConfig) -> None:
    assert RunConfig.from_json(settings.to_json()) == settings


def test_settings_of_a_newer_version_are_told_as_such_before_anything_in_them(settings: RunConfig) -> None:
    newer = {**json.loads(settings.to_json()), "format": 2, "what this one cannot know": 1}
    with pytest.raises(
        AtlasError, match="made by a newer version of the program, in format 2; this version reads up to 1"
    ):
        RunConfig.from_json(json.dumps(newer))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "are not JSON"),
        ("[" * 100_000, "are not JSON"),
        ("[]", "are a JSON object, not a list"),
        ("{}", "title"),
        ('{"format": "two"}', "format"),
        ('{"format": 0}', "format"),
        ('{"title": "A", "task": {}}', "The task of a run has a name"),
    ],
)
def test_nonsense_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(AtlasError, match=says) as caught:
        RunConfig.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_model_that_no_machine_could_hold_is_one_sentence(settings: RunConfig) -> None:
    values = json.loads(settings.to_json())
    stack = {"n_layers": 1, "n_heads": 1}
    values["model"] = {"vocab_size": 20, "d_model": 10**12, "max_len": 8, "decoder": stack}
    with pytest.raises(
        AtlasError, match=r"would have 1\.2e\+25 parameters, .* more than 1,000,000,000,000\."
    ):
        RunConfig.from_json(json.dumps(values))


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_folder_without_readable_settings_is_no_run(tmp_path: Path, content: bytes | None) -> None:
    if content:
        (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(AtlasError, match=r"is no run: its config\.json cannot be read"):
        RunFolder(tmp_path).read_config()


def test_the_users_file_is_always_one_of_the_folder(tmp_path: Path, settings: RunConfig) -> None:
    folder = RunFolder(tmp_path)
    assert folder.data(settings) is None
    outside = settings.model_copy(update={"task": {"name": "pairs", "path": "../../etc/passwd"}})
    assert folder.data(outside) == tmp_path / "passwd"


def test_snapshots_are_told_by_step_whatever_else_lies_there(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.snapshots() == {}
    (tmp_path / "snapshots").mkdir()
    for name in (
        "step-000020.safetensors",
        "step-000003.safetensors",
        "step-1000000.safetensors",
        "step-x.safetensors",
    ):
        (tmp_path / "snapshots" / name).touch()
    assert [*folder.snapshots()] == [3, 20, 1_000_000]
    assert folder.snapshots()[20] == folder.snapshot(20)


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(TypeError):
        write_whole(path, "text, not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]
    write_whole(path, b"new", lasting=True)
    assert path.read_bytes() == b"new"
