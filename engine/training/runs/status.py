"""How a run stands: what its process last said, held against whether that process is still there.

created -> waiting -> starting -> running -> finished, paused, stopped or failed
                                     └─ the process is gone without a word: interrupted

A run that is paused, stopped, failed or interrupted can be started again and goes on at its last checkpoint. No torch.
"""

from __future__ import annotations

import math
import re
import time
from string import Formatter
from typing import Any, Literal

from pydantic import Field, model_validator

from engine.config import AtlasError, Settings
from engine.training.runs.folder import RunFolder, json_of, write_whole
from engine.training.runs.holding import is_held
from engine.training.runs.processes import Process

State = Literal[
    "created", "waiting", "starting", "running", "paused", "stopped", "finished", "failed", "interrupted"
]
LauncherName = Literal["local", "slurm"]  # those of LAUNCHERS
LIVE = ("starting", "running")  # a process is at work, or is said to be
SILENT_AFTER = (
    5.0  # seconds without a heartbeat, after which it is asked whether somebody holds the run at all
)
LOST_AFTER = 30.0  # the same, after which a process of another machine is taken for gone, whatever is held
PLAIN = re.compile(r"(\.\d)?[a-z%]?")  # how a sentence may have its numbers written


class Sentence(Settings):
    """An AtlasError as it is kept: a screen says it in the reader's language."""

    template: str
    values: dict[str, str | bool | int | float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Sentence:
        try:
            if not all(map(_is_plain, Formatter().parse(self.template))):
                raise ValueError("more than names")
            _ = self.error
        except Exception as error:  # whatever a template can do wrong
            raise AtlasError("{sentence} does not fit its values", sentence=repr(self.template)) from error
        return self

    @property
    def error(self) -> AtlasError:
        return AtlasError(self.template, **self.values)

    @classmethod
    def of(cls, error: AtlasError) -> Sentence:
        return cls(
            template=error.template, values={name: _plain(value) for name, value in error.values.items()}
        )


def _is_plain(part: tuple[str, str | None, str | None, str | None]) -> bool:
    """Whether a part of a template only says a value: no path into it, and no width that fills the memory."""
    _text, name, spec, conversion = part
    return name is None or (
        name.isidentifier() and not conversion and PLAIN.fullmatch(spec or "") is not None
    )


def _plain(value: Any) -> Any:
    """The value itself where JSON has it, else what it is called."""
    has = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if has else str(value)


class Status(Settings):
    """launcher: who started it; turn: its place in the queue, the lowest next; process: who is at work.

    heartbeat: when the process last wrote, in seconds since 1970 by its own clock; device: what it computes on.
    step of steps; rate: steps a second lately; seconds: time spent on training so far; seconds_left: a guess.
    job: what a cluster calls it that has it in a queue of its own.
    slot: which of the runs at work at once this is, from 0. loss: of the latest step; exact: of the latest evaluation.
    """

    state: State = "created"
    launcher: LauncherName = "local"
    turn: int = 0
    process: Process | None = None
    job: str = ""
    heartbeat: float = 0.0
    device: str = ""
    step: int = 0
    steps: int = 0
    rate: float | None = None
    seconds: float = 0.0
    seconds_left: float | None = None
    slot: int = 0
    loss: float | None = None
    exact: float | None = None
    error: Sentence | None = None

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def waits_here(self) -> bool:
        """In our own queue, and not yet in a cluster's."""
        return self.state == "waiting" and not self.job

    def but(self, **changes: Any) -> Status:
        return self.model_copy(update=changes)


def write(folder: RunFolder, status: Status) -> None:
    write_whole(folder.status, status.model_dump_json(indent=2).encode())


def read(folder: RunFolder) -> Status:
    """The true state of a run: one whose process is gone is not running."""
    said = _said(folder)
    if not said.is_live or _is_there(said.process, folder):
        return said
    again = _said(folder)  # it may have ended well between the two looks
    return again if again != said and not again.is_live else _gone(again)


def _said(folder: RunFolder) -> Status:
    """What status.json says."""
    try:
        return Status(**json_of(folder.status.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return _unsaid(folder)
    except (OSError, ValueError, TypeError, RecursionError) as error:  # an AtlasError is a ValueError
        damaged = AtlasError("The run's status.json cannot be read: {reason}.", reason=str(error))
        return Status(state="interrupted", error=Sentence.of(damaged))


def _unsaid(folder: RunFolder) -> Status:
    """A run that says nothing was never started, unless it has curves."""
    if not folder.metrics.exists():
        return Status()
    lost = AtlasError(
        "The run's status.json is missing, so that nobody knows how it ended; what it learned is there: it goes on "
        "at its last checkpoint, if it has one."
    )
    return Status(state="interrupted", error=Sentence.of(lost))


def _gone(status: Status) -> Status:
    gone = status.but(state="interrupted", rate=None, seconds_left=None)
    if status.state == "running":
        return gone
    early = AtlasError("The run's process ended before it could begin: its log.txt may say why.")
    return gone.but(error=Sentence.of(early))


def _is_there(process: Process | None, folder: RunFolder) -> bool:
    if process is None:
        return False
    if process.is_local:
        return process.is_alive
    silence = _silence(folder)
    return silence < SILENT_AFTER or (silence < LOST_AFTER and is_held(folder))


def _silence(folder: RunFolder) -> float:
    """Seconds since status.json was written, both times by the clock of whoever holds the files."""
    probe = folder.path.parent / ".now"
    try:
        probe.touch()
        return probe.stat().st_mtime - folder.status.stat().st_mtime
    except OSError:  # a folder that can only be read
        return time.time() - folder.status.stat().st_mtime
