"""Whether a process is still there: ended, waiting to be collected, its number given to another."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from engine.training.runs import processes
from engine.training.runs.processes import here


@pytest.fixture
def sleeper():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        yield child
        child.kill()


def test_this_process_is_alive_and_the_same_each_time() -> None:
    assert here().is_alive
    assert here() == here(os.getpid())
    assert here().is_local


def test_a_killed_process_is_gone_even_before_its_parent_asks(sleeper) -> None:
    process = here(sleeper.pid)
    assert process.is_alive
    sleeper.kill()
    end = time.monotonic() + 5
    while process.is_alive:  # nobody waits for it: it stays in the list as a zombie
        assert time.monotonic() < end
        time.sleep(0.01)
    assert os.path.exists(f"/proc/{sleeper.pid}") or not os.path.exists("/proc/self")


def test_a_number_given_to_another_process_is_not_the_same_process(sleeper) -> None:
    earlier = here(sleeper.pid).model_copy(update={"began": "1"})
    assert not earlier.is_alive


def test_a_process_that_was_never_seen_is_gone() -> None:
    unseen = here(2**22 + 1)  # beyond the largest number Linux gives
    assert unseen.began == ""
    assert not unseen.is_alive


def test_processes_of_an_earlier_start_of_this_machine_are_gone_and_anothers_are_not_known() -> None:
    restarted = here().model_copy(update={"machine": "earlier"})
    assert restarted.is_local
    assert not restarted.is_alive
    assert not restarted.model_copy(update={"host": "elsewhere"}).is_local


def test_ps_tells_the_same_truth_where_there_is_no_proc(sleeper) -> None:
    began = processes._from_ps(sleeper.pid)
    assert len(began.split()) == 5  # such as Tue Dec 1 03:11:33 2026
    sleeper.kill()
    sleeper.wait()
    assert processes._from_ps(sleeper.pid) == ""


def test_a_name_with_brackets_and_blanks_does_not_shift_the_fields(tmp_path, monkeypatch) -> None:
    fields = ["S", *(str(number) for number in range(4, 53))]  # field n holds n, from the fourth on
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text(f"7 (a) R 1 (b)) {' '.join(fields)}\n")
    monkeypatch.setattr(processes, "PROC", tmp_path)
    assert processes._from_proc(7) == "22"
    assert processes._from_proc(8) == ""
