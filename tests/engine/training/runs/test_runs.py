"""The verbs: what becomes of a run's folder, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.training import runs
from engine.training.runs import queue
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunConfig
from engine.training.runs.status import Status
from tests.engine.training.conftest import Launched


def state(name: str) -> str:
    return runs.find(name).status.state


def test_a_new_run_is_listed_and_not_started(launched: Launched, settings: RunConfig) -> None:
    made = runs.create(settings)
    assert (made.name, made.title, made.config, made.status) == ("dates-1", "Days", settings, Status())
    assert runs.listed() == [made]
    assert launched.names == []


def test_names_are_those_of_the_task_and_a_number(home: Path, settings: RunConfig) -> None:
    text = settings.model_copy(update={"task": {"name": "masked_text"}})
    assert [runs.create(one).name for one in (settings, text, settings)] == [
        "dates-1",
        "masked-text-1",
        "dates-2",
    ]
    runs.delete("dates-1")
    assert runs.create(settings).name == "dates-1"


def test_the_users_file_is_copied(home: Path, tmp_path: Path, settings: RunConfig) -> None:
    words = "one two three four\n" * 200
    (tmp_path / "Mine.TXT").write_text(words)
    made = runs.create(settings.model_copy(update={"task": {"name": "text"}}), tmp_path / "Mine.TXT")
    assert made.config
    assert made.config.task == {"name": "text", "path": "data.txt"}
    (tmp_path / "Mine.TXT").unlink()
    again = runs.duplicate(made.name, "Once more")
    assert again.config
    kept = again.folder.data(again.config)
    assert kept is not None
    assert kept == again.folder.path / "data.txt"
    assert kept.read_text() == words


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ({"name": "cooking"}, "there is no task 'cooking'"),
        ({"name": "copy", "symbols": "many"}, "symbols"),
        ({"name": "copy", "spices": 3}, "spices"),
    ],
)
def test_a_task_that_cannot_be_leaves_no_run(home: Path, settings: RunConfig, task: dict, says: str) -> None:
    with pytest.raises(AtlasError, match=says):
        runs.create(settings.model_copy(update={"task": task}))
    assert runs.listed() == []


def test_a_file_that_is_not_there_leaves_no_run(home: Path, tmp_path: Path, settings: RunConfig) -> None:
    with pytest.raises(AtlasError, match="cannot be copied"):
        runs.create(settings, tmp_path / "nothing.csv")
    assert runs.listed() == []
    assert [path.name for path in queue.root().iterdir()] in ([], [".lock"])


def test_titles_and_notes_change_and_the_name_stays(home: Path, settings: RunConfig) -> None:
    name = runs.create(settings).name
    runs.rename(name, "Holidays")
    runs.annotate(name, "a first try")
    found = runs.find(name)
    assert found.config == settings.model_copy(update={"title": "Holidays", "notes": "a first try"})
    with pytest.raises(AtlasError, match="title"):
        runs.rename(name, "")
    assert runs.find(name).title == "Holidays"


def test_a_waiting_run_leaves_the_queue(launched: Launched, settings: RunConfig) -> None:
    first, second, third = (runs.create(settings).name for _ in range(3))
    for name in (first, second, third):
        runs.start(name)
    runs.pause(second)
    runs.stop(third)
    assert (state(second), state(third)) == ("paused", "stopped")
    runs.stop(second)
    assert state(second) == "stopped"
    runs.start(second)
    assert state(second) == "waiting"


def test_a_run_at_work_is_asked_and_not_deleted(launched: Launched, settings: RunConfig) -> None:
    name = runs.create(settings).name
    runs.start(name)
    runs.pause(name)
    assert runs.find(name).folder.request.read_text() == "pause"
    runs.stop(name)
    assert runs.find(name).folder.request.read_text() == "stop"
    with pytest.raises(AtlasError, match=f"{name} is at work: stop it before it is deleted"):
        runs.delete(name)
    runs.kill(name)
    assert len(launched.killed) == 1


def test_an_old_request_does_not_end_the_next_start(launched: Launched, settings: RunConfig) -> None:
    run = runs.create(settings)
    run.folder.request.write_text("stop")
    runs.start(run.name)
    assert not run.folder.request.exists()


def test_what_is_not_at_work_needs_no_asking(launched: Launched, settings: RunConfig) -> None:
    run = runs.create(settings)
    for verb in (runs.pause, runs.stop, runs.kill):
        verb(run.name)
    assert state(run.name) == "created"
    assert not run.folder.request.exists()
    assert launched.killed == []


def test_a_finished_run_is_not_started_again(launched: Launched, settings: RunConfig) -> None:
    run = runs.create(settings)
    statuses.write(run.folder, Status(state="finished"))
    with pytest.raises(AtlasError, match="is finished: duplicate it"):
        runs.start(run.name)


@pytest.mark.parametrize("name", ["", ".", "..", "nothing-1", "../runs", "/etc", "a/b"])
def test_no_verb_leaves_the_folder_of_runs(home: Path, settings: RunConfig, name: str) -> None:
    runs.create(settings)
    with pytest.raises(AtlasError, match="There is no run"):
        runs.delete(name)
    assert len(runs.listed()) == 1


def test_folders_made_by_hand_are_told_as_such_and_can_be_deleted(launched, settings) -> None:
    good = runs.create(settings)
    folder = queue.root() / "nonsense"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (queue.root() / "stray file").touch()
    (queue.root() / ".hidden").mkdir()
    assert [run.name for run in runs.listed()] == [good.name, "nonsense"]
    odd = runs.find("nonsense")
    assert (odd.config, odd.title) == (None, "nonsense")
    assert odd.problem
    with pytest.raises(AtlasError, match="title"):
        runs.start("nonsense")
    runs.delete("nonsense")
    assert runs.listed() == [good]


def test_a_change_of_the_settings_is_seen_though_they_are_kept(home: Path, settings: RunConfig) -> None:
    run = runs.create(settings)
    runs.find(run.name)
    other = settings.model_copy(update={"title": "Date"})  # as long as before
    run.folder.config.write_text(other.to_json() + "\n")
    assert runs.find(run.name).title == "Date"


def test_title_and_notes_that_are_changed_at_a_time_are_both_kept(home: Path, settings: RunConfig) -> None:
    name = runs.create(settings).name
    with ThreadPoolExecutor(2) as pool:
        for at in range(20):
            done = [
                pool.submit(runs.rename, name, f"title {at}"),
                pool.submit(runs.annotate, name, f"{at}\n😀 <b>"),
            ]
            assert [one.result() for one in done] == [None, None]
            config = runs.find(name).folder.read_config()
            assert (config.title, config.notes) == (f"title {at}", f"{at}\n😀 <b>")


@pytest.mark.parametrize("name", ["_one", ".one", "x" * 300, "a\0b"])
@pytest.mark.parametrize("verb", [runs.find, runs.start, runs.pause, runs.delete])
def test_what_is_never_listed_is_no_run(launched: Launched, name: str, verb: Callable[[str], object]) -> None:
    if len(name) == 4:
        (queue.root() / name).mkdir()
    with pytest.raises(AtlasError, match="There is no run"):
        verb(name)


@pytest.mark.parametrize("verb", [runs.start, runs.pause, runs.stop, runs.delete])
def test_a_run_deleted_while_a_verb_waits_is_told(
    launched: Launched, settings: RunConfig, monkeypatch: pytest.MonkeyPatch, verb: Callable[[str], None]
) -> None:
    made, locked = runs.create(settings), queue.locked

    @contextmanager
    def after_another_screen() -> Iterator[None]:
        with locked():
            shutil.rmtree(made.folder.path)
            yield

    monkeypatch.setattr(queue, "locked", after_another_screen)
    with pytest.raises(AtlasError, match="There is no run dates-1"):
        verb(made.name)


@pytest.mark.parametrize("device", ["/dev/null", "a\0b"])
def test_a_file_without_an_end_is_not_copied(home: Path, settings: RunConfig, device: str) -> None:
    with pytest.raises(AtlasError, match="cannot be copied"):
        runs.create(settings.model_copy(update={"task": {"name": "text"}}), Path(device))
    assert runs.listed() == []
