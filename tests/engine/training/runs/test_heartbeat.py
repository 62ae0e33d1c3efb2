"""What a process says every second: how far it is, how fast, and for how long still."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from engine.training.runs import heartbeat
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunFolder
from engine.training.runs.heartbeat import Heartbeat
from engine.training.runs.status import Status


class Clocks:
    """The clock of the day, which may jump, and the one that does not."""

    def __init__(self) -> None:
        self.day, self.steady = 1_000_000.0, 50.0

    def time(self) -> float:
        return self.day

    def monotonic(self) -> float:
        return self.steady


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(heartbeat, "time", clocks)
    return clocks


@pytest.fixture
def beat(tmp_path: Path) -> Heartbeat:
    return Heartbeat(RunFolder(tmp_path), Status(state="running", steps=100))


def test_the_rate_is_that_of_late_and_no_jump_of_the_clock_changes_it(
    beat: Heartbeat, clocks: Clocks
) -> None:
    assert beat.write().rate is None  # nothing is known of a single moment
    for day in (1, 1, -86_400, 1):
        clocks.day, clocks.steady = clocks.day + day, clocks.steady + 1.0
        beat.tell(step=beat._facts.get("step", 0) + 5)
        found = beat.write()
    assert (found.rate, found.seconds_left) == (5.0, 16.0)  # 80 steps are left
    assert found.heartbeat == 1_000_000 + 3 - 86_400
    assert json.loads(beat.folder.status.read_text()) == json.loads(found.model_dump_json())


def test_a_run_that_slowed_down_is_told_by_what_it_does_now(beat: Heartbeat, clocks: Clocks) -> None:
    for _ in range(20):
        clocks.steady += 1.0
        beat.tell(step=beat._facts.get("step", 0) + 3)
        beat.write()
    for _ in range(20):
        clocks.steady += 1.0
        beat.tell(step=beat._facts["step"] + 1)
        found = beat.write()
    assert found.rate == 1.0


def test_how_long_is_known_from_the_first_step_on_and_while_one_takes_long(
    beat: Heartbeat, clocks: Clocks
) -> None:
    beat.tell(step=2, seconds=8.0)
    assert (beat.write().rate, beat.write().seconds_left) == (0.25, 392.0)  # 98 steps are left
    for _ in range(30):  # an evaluation
        clocks.steady += 1.0
        found = beat.write()
    assert (found.rate, found.seconds_left) == (0.25, 392.0)


def test_what_is_over_has_no_pace(beat: Heartbeat, clocks: Clocks) -> None:
    beat.write()
    clocks.steady += 1.0
    beat.tell(step=5)
    assert beat.write().rate == 5.0
    beat.tell(state="paused", step=6)
    assert (beat.write().rate, statuses.read(beat.folder).seconds_left) == (None, None)


def test_a_step_that_takes_long_is_no_silence(beat: Heartbeat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "EVERY", 0.01)
    enough = threading.Event()
    write, written = beat.write, []

    def writes() -> Status:
        written.append(write())
        if len(written) == 3:
            enough.set()
        return written[-1]

    monkeypatch.setattr(beat, "write", writes)
    with beat:
        assert enough.wait(10)
    assert not beat._thread.is_alive()


def test_a_full_disk_does_not_end_the_thread(beat: Heartbeat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "EVERY", 0.01)
    tried = threading.Semaphore(0)

    def full() -> Status:
        tried.release()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(beat, "write", full)
    with beat:
        assert all(tried.acquire(timeout=10) for _ in range(3))
