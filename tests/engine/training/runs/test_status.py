"""How a run stands: what was said of it, against whether its process is there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import get_args

import pytest

from engine.config import AtlasError
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunFolder
from engine.training.runs.holding import alone, is_held
from engine.training.runs.launcher import LAUNCHERS
from engine.training.runs.processes import Process, here
from engine.training.runs.status import Sentence, Status

ELSEWHERE = Process(host="elsewhere", machine="another", pid=1, began="1")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "runs" / "dates-1").mkdir(parents=True)
    return RunFolder(tmp_path / "runs" / "dates-1")


def test_a_run_without_a_status_was_never_started(folder: RunFolder) -> None:
    assert statuses.read(folder) == Status(state="created")


def test_a_run_that_has_curves_and_no_status_lost_it(folder: RunFolder) -> None:
    folder.metrics.touch()
    found = statuses.read(folder)
    assert (found.state, found.is_live) == ("interrupted", False)
    assert found.error
    assert "status.json is missing" in str(found.error.error)


def test_a_run_whose_process_is_there_is_at_work(folder: RunFolder) -> None:
    said = Status(state="running", process=here(), step=3)
    statuses.write(folder, said)
    assert statuses.read(folder) == said


def test_a_run_whose_process_was_killed_is_interrupted_at_once(folder: RunFolder) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        statuses.write(
            folder, Status(state="running", process=here(child.pid), step=3, rate=9.0, seconds_left=1.0)
        )
        assert statuses.read(folder).state == "running"
        child.kill()
    found = statuses.read(folder)
    assert (found.state, found.step, found.rate, found.seconds_left) == ("interrupted", 3, None, None)


def test_a_number_given_to_another_process_does_not_keep_a_run_alive(folder: RunFolder) -> None:
    statuses.write(folder, Status(state="running", process=here().model_copy(update={"began": "1"})))
    assert statuses.read(folder).state == "interrupted"


def test_a_process_that_ended_before_it_began_has_a_log(folder: RunFolder) -> None:
    statuses.write(folder, Status(state="starting", process=here().model_copy(update={"began": ""})))
    found = statuses.read(folder)
    assert found.state == "interrupted"
    assert found.error
    assert "log.txt" in str(found.error.error)


def test_a_run_that_ends_well_between_two_looks_is_not_called_interrupted(
    folder: RunFolder, monkeypatch
) -> None:
    gone = here().model_copy(update={"began": "1"})
    statuses.write(folder, Status(state="running", process=gone))

    def is_there(process: Process, folder: RunFolder) -> bool:
        statuses.write(folder, Status(state="finished", process=gone))
        return False

    monkeypatch.setattr(statuses, "_is_there", is_there)
    assert statuses.read(folder).state == "finished"


@pytest.mark.parametrize(
    ("silent", "held", "state"),
    [(0, False, "running"), (3, False, "running"), (7, False, "interrupted"), (7, True, "running"),
     (20, True, "running"), (40, True, "interrupted")],
)  # fmt: skip
def test_another_machines_process_is_known_by_its_heartbeat_and_by_what_it_holds(
    folder: RunFolder, silent: int, held: bool, state: str
) -> None:
    statuses.write(folder, Status(state="running", process=ELSEWHERE))
    written = time.time() - silent
    os.utime(folder.status, (written, written))
    with alone(folder) if held else nullcontext():
        assert statuses.read(folder).state == state


def test_to_ask_whether_a_run_is_held_does_not_hold_it(folder: RunFolder) -> None:
    assert not is_held(folder)
    with alone(folder):
        assert is_held(folder)
    assert not is_held(folder)


def test_no_clock_decides_about_a_process_of_this_machine(folder: RunFolder, monkeypatch) -> None:
    statuses.write(folder, Status(state="running", process=here(), heartbeat=0.0))
    os.utime(folder.status, (0, 0))
    monkeypatch.setattr(time, "time", lambda: 1e12)
    assert statuses.read(folder).state == "running"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"state": "resting"}', b"\xff", b'{"new": 1}',
                b'{"error": {"template": "{x}"}}',
                b'{"error": {"template": "{", "values": {}}}',
                b'{"error": {"template": "{x.__class__}", "values": {"x": 1}}}',
                b'{"error": {"template": "{x!r}", "values": {"x": "y"}}}',
                b'{"error": {"template": "{x:999}", "values": {"x": 1}}}',
                b'{"error": {"template": "", "values": {"template": 1}}}'],
)  # fmt: skip
def test_a_damaged_status_is_an_interruption_that_can_be_started_again(
    folder: RunFolder, content: bytes
) -> None:
    folder.status.write_bytes(content)
    found = statuses.read(folder)
    assert found.state == "interrupted"
    assert found.error
    assert "status.json cannot be read" in str(found.error.error)
    assert "\n" not in str(found.error.error)


def test_a_sentence_is_kept_with_its_values(folder: RunFolder) -> None:
    error = AtlasError("{path} has {free} of {needed}", path=Path("/x"), free=3, needed=0.5)
    statuses.write(folder, Status(state="failed", error=Sentence.of(error)))
    found = statuses.read(folder).error
    assert found
    assert str(found.error) == "/x has 3 of 0.5"
    assert found.error.template == error.template


def test_a_sentence_keeps_values_that_json_has_not(folder: RunFolder) -> None:
    error = AtlasError(
        "{switch}, {loss}, {shape}, {count}", switch=True, loss=float("inf"), shape=(1, 2), count=10**999
    )
    statuses.write(folder, Status(state="failed", error=Sentence.of(error)))
    found = statuses.read(folder).error
    assert found
    assert str(found.error) == "True, inf, (1, 2), 10^999"


@pytest.mark.parametrize("said", ['{"state": "waiting", "launcher": "balloon"}', r'{"device": "\ud800"}'])
def test_nonsense_by_hand_is_told_and_can_be_written_again(folder: RunFolder, said: str) -> None:
    folder.status.write_text(said)
    found = statuses.read(folder)
    assert found.error
    assert (found.state, found.launcher, found.device) == ("interrupted", "local", "")
    assert "status.json cannot be read" in str(found.error.error)
    statuses.write(folder, found)


def test_a_run_names_every_launcher_there_is() -> None:
    assert set(get_args(statuses.LauncherName)) == set(LAUNCHERS)
