"""The bench measures what the case does, outlives what it cannot measure, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import pytest

from engine.analysis.evidence import Evidence
from engine.clinic import bench_process, cases
from engine.clinic.bench import DIED, Bench
from engine.clinic.cases import case_named
from engine.config import AtlasError
from engine.training.runs.processes import began
from tests.engine.clinic.same import same

QUICK, LONG = "scores_not_scaled", "no_warmup"  # cases: of a moment, and of some seconds
PATIENCE = 120  # seconds; a shared machine may be slow, but not for ever


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.end()


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end
        time.sleep(0.02)


def quick(bench: Bench) -> Evidence:
    return bench.measure(QUICK, {"d_k": 64}).result(PATIENCE)


def test_it_measures_what_the_case_does(bench: Bench) -> None:
    case = case_named(QUICK)
    assert same(quick(bench), case.measure(case.settings.model_validate({"d_k": 64})))


def test_it_is_kept_warm_and_gives_way_to_others(bench: Bench) -> None:
    quick(bench)
    pid = bench.pid
    quick(bench)
    assert pid
    assert bench.pid == pid
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)


def test_what_it_cannot_measure_is_a_sentence_and_not_its_end(bench: Bench) -> None:
    with pytest.raises(AtlasError, match=r"The Clinic has no case \{nobody\}\."):
        bench.measure("{nobody}", {}).result(PATIENCE)
    with pytest.raises(AtlasError, match="d_k must be a whole number, not 'wide'"):
        bench.measure(QUICK, {"d_k": "wide"}).result(PATIENCE)
    assert quick(bench).measures


def test_what_no_case_should_do_is_a_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "case_named", lambda name: 1 // 0)
    assert bench_process.answer(QUICK, {}) == (bench_process.UNEXPECTED, {})


def test_when_it_dies_the_one_at_work_is_told_and_the_next_try_works(bench: Bench) -> None:
    quick(bench)
    pid = bench.pid
    assert pid
    lost = bench.measure(LONG, {})
    until(lost.running)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(AtlasError) as told:
        lost.result(PATIENCE)
    assert told.value.template == DIED
    assert quick(bench).measures
    assert bench.pid not in (None, pid)


def test_what_waits_can_be_taken_back(bench: Bench) -> None:
    first, second, third = (bench.measure(QUICK, {"seed": seed}) for seed in range(3))
    assert second.cancel()
    assert third.result(PATIENCE).measures
    assert first.done()
    with pytest.raises(CancelledError):
        second.result()


def test_a_case_that_takes_too_long_is_ended() -> None:
    hasty = Bench(limit=0.1)
    with pytest.raises(AtlasError, match=r"more than 0 seconds .* was ended"):
        hasty.measure(LONG, {}).result(PATIENCE)
    hasty.end()


def test_its_end_takes_the_process_along() -> None:
    made = Bench()
    until(lambda: made.pid)
    pid = made.pid
    assert pid
    made.end()
    until(lambda: not began(pid))
    waiting = made.measure(QUICK, {})
    time.sleep(0.1)
    assert not waiting.running()


def test_no_process_is_left_when_the_program_is_killed() -> None:
    code = (
        "import time; from engine.clinic.bench import Bench; bench = Bench()\n"
        f"bench.measure({QUICK!r}, {{}}).result(); bench.measure({LONG!r}, {{}})\n"
        "print(bench.pid, flush=True); time.sleep(600)"
    )
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert program.stdout
    pid = int(program.stdout.readline())
    assert began(pid)
    program.kill()
    program.wait()
    program.stdout.close()
    until(lambda: not began(pid))
