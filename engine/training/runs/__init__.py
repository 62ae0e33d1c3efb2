"""The verbs of training in the background: what screens and notebooks do with runs. No torch here.

    run = runs.create(RunConfig(title="Dates", task={"name": "dates"}, model=..., training=...))
    runs.start(run.name)                        # or waits its turn; the process outlives the screen
    runs.listed()                               # every run and how it truly stands
    runs.pause(run.name); runs.start(run.name)  # goes on at the last checkpoint
    metrics.Metrics(run.folder.metrics)         # its curves; read_on() reads what came since

A run is known by the name of its folder. Each verb is safe beside others on the same run, in any process.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from engine.config import AtlasError
from engine.training.runs import queue
from engine.training.runs import status as statuses
from engine.training.runs.folder import START, RunConfig, RunFolder, write_whole
from engine.training.runs.launcher import LAUNCHERS
from engine.training.runs.status import Status


@dataclass(frozen=True)
class Run:
    """A run as it is now. config is None and problem says why when its folder holds none that can be read."""

    name: str
    folder: RunFolder
    config: RunConfig | None
    status: Status
    problem: AtlasError | None = None

    @property
    def title(self) -> str:
        return self.config.title if self.config else self.name


def listed() -> list[Run]:
    """All runs, by name; folders among them that are none are told as such."""
    return [_opened(folder) for folder in queue.folders()]


def find(name: str) -> Run:
    """Raises AtlasError when there is no run of that name."""
    return _opened(folder_of(name))


def folder_of(name: str) -> RunFolder:
    folder = queue.root() / name
    if Path(name).name != name or not queue.may_be_run(name) or not os.path.isdir(folder):
        raise AtlasError("There is no run {name} in {path}.", name=name, path=str(queue.root()))
    return RunFolder(folder)


def create(config: RunConfig, data: Path | None = None, start: Path | None = None) -> Run:
    """A new run that was not started yet. data: the user's own file; start: the trained model that it goes on from, if
    not the one its settings name. The run keeps a copy of both.

    Raises AtlasError when there is no such task, when it cannot learn from that file, or where no such model is.
    """
    start = start or (Path(config.training.start_from) if config.training.start_from else None)
    kept = {} if data is None else {"path": f"data{data.suffix.lower()}"}
    config = config.model_copy(update={"task": {**config.task, **kept}})
    staging = queue.root() / f".{uuid4().hex}.part"
    try:
        staging.mkdir()
        if data is not None:
            _copy(data, staging / kept["path"])
        if start is not None:
            _copy_start(Path(os.path.expanduser(start)), staging / START)
        RunFolder(staging).task(config).tokenizer  # noqa: B018  (reads the file)
        write_whole(staging / "config.json", config.to_json().encode())
        return _opened(RunFolder(_settle(staging, str(config.task.get("name", "run")))))
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def start(name: str, launcher: str = "local") -> None:
    """Trains, or goes on at the last checkpoint; waits its turn where as many runs as may are at work.

    Does nothing for a run that waits or is at work. Raises AtlasError for one that is finished or cannot be read.
    """
    start_all([name], launcher)


def start_all(names: Sequence[str], launcher: str = "local") -> None:
    """The same for several, in this order, or for none of them; a cluster gets them as one array of jobs."""
    with queue.locked():
        chosen = [folder_of(name) for name in names]
        queue.enter([folder for folder in chosen if _can_start(folder)], launcher)


def _can_start(folder: RunFolder) -> bool:
    folder.read_config()
    status = statuses.read(folder)
    if status.state == "finished":
        raise AtlasError("The run {name} is finished: duplicate it to train once more.", name=folder.name)
    return status.state != "waiting" and not status.is_live


def pause(name: str) -> None:
    """Asks the run to end after the step it is at, to go on another day; one that waits leaves the queue."""
    _ask(name, "pause", {"waiting": "paused"})


def stop(name: str) -> None:
    """Asks the run to end after the step it is at, for good; `start` goes on nevertheless."""
    _ask(name, "stop", dict.fromkeys(("waiting", "paused", "interrupted"), "stopped"))


def _ask(name: str, word: str, at_once: dict[str, str]) -> None:
    """A process heeds the word; a run that has none changes its state at once."""
    with queue.locked():
        folder = folder_of(name)
        status = statuses.read(folder)
        if status.is_live:
            write_whole(folder.request, word.encode())
        elif status.state in at_once:
            if status.job:
                write_whole(folder.request, word.encode())  # should the job begin at this very moment
                LAUNCHERS[status.launcher].withdraw(status)
            statuses.write(folder, status.but(state=at_once[status.state]))


def kill(name: str) -> None:
    """Ends the process of a run that heeds no request; what it did since its last checkpoint is lost."""
    status = statuses.read(folder_of(name))
    if status.is_live and status.process:
        LAUNCHERS[status.launcher].kill(status)


def delete(name: str) -> None:
    """Removes the folder and all that is in it. Raises AtlasError for a run that is at work."""
    with queue.locked():
        folder = folder_of(name)  # another screen may have deleted it while this one waited
        status = statuses.read(folder)
        if status.is_live:
            raise AtlasError("The run {name} is at work: stop it before it is deleted.", name=name)
        queue.leave(status)
        gone = folder.path.rename(
            queue.root() / f".{uuid4().hex}.deleted"
        )  # at once; the rest may take a while
    shutil.rmtree(gone, ignore_errors=True)


def rename(name: str, title: str) -> None:
    """Another title; the folder keeps its name, so links go on leading to it."""
    _rewrite(name, title=title)


def annotate(name: str, notes: str) -> None:
    _rewrite(name, notes=notes)


def _rewrite(name: str, **changes: Any) -> None:
    with queue.locked():
        folder = folder_of(name)
        config = RunConfig(**{**folder.read_config().model_dump(), **changes})
        write_whole(folder.config, config.to_json().encode())


def duplicate(name: str, title: str) -> Run:
    """The same settings as a new run that was not started yet."""
    folder = folder_of(name)
    config = folder.read_config().model_copy(update={"title": title})
    return create(config, folder.data(config), folder.start)


def _copy(data: Path, place: Path) -> None:
    try:
        if not stat.S_ISREG(data.stat().st_mode):
            raise OSError("it is no file")  # a device might never end
        shutil.copyfile(data, place)
    except (OSError, ValueError) as error:  # of a name that no file can have
        reason = getattr(error, "strerror", None) or str(error)
        raise AtlasError("{path} cannot be copied: {reason}.", path=str(data), reason=reason) from error


def _copy_start(model: Path, place: Path) -> None:
    from engine.training.starts import start_at  # torch comes with it, and few runs go on from others

    found = start_at(model)
    place.mkdir()
    _copy(found.weights, place / "model.safetensors")
    _copy(found.tokenizer, place / "tokenizer.json")


def _settle(staging: Path, word: str) -> Path:
    """The folder under the first free name of this word and a number."""
    word = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") or "run"
    with queue.locked():
        number = 1
        while (path := queue.root() / f"{word}-{number}").exists():
            number += 1
        return staging.rename(path)


def _opened(folder: RunFolder) -> Run:
    status = statuses.read(folder)
    try:
        return Run(folder.name, folder, _config(folder), status)
    except AtlasError as error:
        return Run(folder.name, folder, None, status, error)


def _config(folder: RunFolder) -> RunConfig:
    try:
        about = folder.config.stat()
    except OSError:
        return folder.read_config()  # which says what is wrong
    return _read_once(folder, about.st_mtime_ns, about.st_size, about.st_ino)


@lru_cache(maxsize=1024)
def _read_once(folder: RunFolder, changed: int, size: int, number: int) -> RunConfig:
    return folder.read_config()
