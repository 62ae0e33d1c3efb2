"""Whose turn it is: one run at a time unless told otherwise, each started once, in the order they were asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.training import runs
from engine.training.runs import launcher, processes, queue
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.runs.processes import Process, here
from tests.engine.training.conftest import Launched


@pytest.fixture
def names(launched: Launched, settings: RunConfig) -> list[str]:
    return [runs.create(settings).name for _ in range(3)]


def ends(name: str, state: str = "finished") -> None:
    folder = runs.folder_of(name)
    statuses.write(folder, statuses.read(folder).but(state=state))


def states() -> list[str]:
    return [run.status.state for run in runs.listed()]


def test_one_is_at_work_and_the_others_begin_in_the_order_they_were_asked_for(names, launched) -> None:
    for name in (names[2], names[0], names[1]):
        runs.start(name)
    assert launched.names == [names[2]]
    assert states() == ["waiting", "waiting", "starting"]
    ends(names[2])
    queue.dispatch()
    queue.dispatch()
    assert launched.names == [names[2], names[0]]
    ends(names[0], "failed")
    queue.dispatch()
    assert launched.names == [names[2], names[0], names[1]]


def test_the_next_begins_by_itself_after_one_that_was_killed(names, launched) -> None:
    for name in names[:2]:
        runs.start(name)
    over = queue.keep(every=0.01)
    try:
        folder = runs.folder_of(names[0])
        gone = here().model_copy(update={"began": "0"})
        statuses.write(folder, statuses.read(folder).but(state="running", process=gone))
        for _ in range(1000):
            if launched.names == names[:2]:
                break
            time.sleep(0.01)
    finally:
        over.set()
    assert launched.names == names[:2]


def test_an_app_that_has_no_runs_makes_no_folder_for_them(home: Path) -> None:
    over = queue.keep(every=0.001)
    time.sleep(0.05)
    over.set()
    assert not home.exists()


def test_start_pressed_again_starts_nothing(names, launched) -> None:
    for name in (*names, *names):
        runs.start(name)
    assert launched.names == names[:1]


def test_more_are_at_work_where_there_is_room_and_each_has_a_slot_of_its_own(names, launched) -> None:
    launched.room = 2
    for name in names:
        runs.start(name)
    assert launched.names == names[:2]
    assert [runs.find(name).status.slot for name in names[:2]] == [0, 1]
    ends(names[0])
    queue.dispatch()
    assert runs.find(names[2]).status.slot == 0


def test_a_chosen_limit_counts_and_lets_waiting_runs_begin(names, launched) -> None:
    for name in names:
        runs.start(name)
    queue.choose_limit(2)
    assert launched.names == names[:2]
    queue.choose_limit(1)
    ends(names[0])
    queue.dispatch()
    assert launched.names == names[:2]
    with pytest.raises(AtlasError, match="At least one run is at work at once, not 0"):
        queue.choose_limit(0)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"limit": 0}', '{"limit": "3"}', '{"limit": true}'])
def test_a_limit_that_is_nonsense_is_none(launched, content: str) -> None:
    (queue.root() / "queue.json").write_text(content)
    assert queue.limit() == 1


def test_a_launcher_with_a_queue_of_its_own_is_given_everything(names, launched) -> None:
    launched.room = None
    for name in names:
        runs.start(name)
    assert launched.names == names


def test_runs_of_another_machine_take_no_room_here(names, launched) -> None:
    away = Process(host="elsewhere", machine="another", pid=1, began="1")
    statuses.write(runs.folder_of(names[0]), statuses.Status(state="running", process=away))
    runs.start(names[1])
    assert launched.names == [names[1]]


def test_a_killed_run_gives_its_place_to_the_next(names, launched) -> None:
    gone = here().model_copy(update={"began": "1"})
    statuses.write(runs.folder_of(names[0]), statuses.Status(state="running", process=gone))
    runs.start(names[1])
    assert launched.names == [names[1]]


def test_a_run_that_cannot_be_launched_fails_and_the_next_begins(names, launched, monkeypatch) -> None:
    launch = launched.launch

    def refuse(turn: dict[RunFolder, statuses.Status], ended) -> dict[RunFolder, statuses.Status]:
        if next(iter(turn)).name == names[0]:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return launch(turn, ended)

    monkeypatch.setattr(launched, "launch", refuse)
    runs.start(names[0])
    runs.start(names[1])
    found = runs.find(names[0]).status
    assert (found.state, launched.names) == ("failed", [names[1]])
    assert found.error
    assert "Resource temporarily unavailable" in str(found.error.error)


PRESS = """
import sys
from engine.training import runs
from engine.training.runs import launcher, processes
class Launched(launcher.LocalLauncher):
    def launch(self, turn, ended):
        print("launched", *(folder.name for folder in turn), flush=True)
        process = processes.here(int(sys.argv[1]))
        return {folder: status.but(state="starting", process=process) for folder, status in turn.items()}
launcher.LAUNCHERS["local"] = Launched()
sys.stdin.readline()
for run in runs.listed():
    runs.start(run.name)
"""


def test_four_processes_that_press_start_at_once_start_one(names, home: Path) -> None:
    command = [sys.executable, "-c", PRESS, str(os.getpid())]
    pressed = [
        subprocess.Popen(
            command, cwd=processes.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in pressed:
        assert process.stdin
        process.stdin.write("now\n")
        process.stdin.flush()
    printed = "".join(process.communicate()[0] for process in pressed)
    assert printed == f"launched {names[0]}\n"
    assert states() == ["starting", "waiting", "waiting"]


def test_cards_are_given_to_runs_in_turn(monkeypatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")
    assert launcher.LocalLauncher().at_once() == 2
    given = [launcher._environment(slot)["CUDA_VISIBLE_DEVICES"] for slot in range(3)]
    assert given == ["2", "5", "2"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert launcher.LocalLauncher().at_once() == 1
