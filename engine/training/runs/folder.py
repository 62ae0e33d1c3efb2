"""A run as a folder that a person can read, safe on a file system that several machines share.

config.json                        what is trained, on what, how: RunConfig, only title and notes ever change
status.json                        what the process at work last said of itself, every second; see status
request                            one word that the process is asked to heed: pause or stop
metrics.jsonl                      one line a step, only ever appended to; see metrics
snapshots/step-000100.safetensors  the weights after so many steps, at ever greater distances
checkpoint/last.safetensors        all that going on needs, and best.safetensors, the weights of the best evaluation
tokenizer.json                     the vocabulary
log.txt                            what the process printed
data.csv or data.txt               a copy of the user's own file, where the task reads one
start/                             a copy of the weights that it goes on from, where it does, with their vocabulary

Whatever is not appended to is written beside its place and moved there at once: a reader finds the whole old file or
the whole new one. No torch here.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from engine.config import AtlasError, Settings, TransformerConfig
from engine.model.size import parameters
from engine.training.settings import TrainingSettings

if TYPE_CHECKING:
    from engine.training.tasks import Task

START = "start"
MOST_PARAMETERS = 10**12  # no machine trains more with this program
MOST_OF_TITLE = 200  # characters
FORMAT = 1  # of the folder; a later one may hold what this program does not know


class RunConfig(Settings):
    """What a run is.

    task: the task's name and its options, as `task_named` takes them; a `path` names a file of the folder.
    probe: a text that screens read with each snapshot; for people, as title and notes.
    """

    format: int = Field(default=FORMAT, ge=1)
    title: str = Field(min_length=1, max_length=MOST_OF_TITLE)
    task: dict[str, Any]
    model: TransformerConfig
    training: TrainingSettings
    notes: str = Field(default="", max_length=20_000)
    probe: str = Field(default="", max_length=2_000)

    @field_validator("format")
    @classmethod
    def _known(cls, value: int) -> int:
        if value > FORMAT:
            raise _newer(value)
        return value

    @field_validator("model")
    @classmethod
    def _of_a_size(cls, value: TransformerConfig) -> TransformerConfig:
        if (count := parameters(value)) > MOST_PARAMETERS:
            raise AtlasError(
                "The model of this run would have {count} parameters, and no run may have more than {limit}.",
                count=f"{count:.1e}", limit=f"{MOST_PARAMETERS:,}",
            )  # fmt: skip
        return value

    @field_validator("task")
    @classmethod
    def _named(cls, value: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(value.get("name"), str):
            raise AtlasError("The task of a run has a name, a text.")
        return value

    def to_json(self) -> str:
        return self.model_dump_json(indent=2)

    @classmethod
    def from_json(cls, text: str) -> RunConfig:
        """Inverse of `to_json`. Raises AtlasError for anything else, and for what a newer version wrote."""
        try:
            values = json_of(text)
        except (ValueError, RecursionError) as error:
            raise AtlasError("The settings of the run are not JSON: {what}.", what=str(error)) from None
        if not isinstance(values, dict):
            raise AtlasError(
                "The settings of a run are a JSON object, not a {kind}.", kind=type(values).__name__
            )
        if isinstance(found := values.get("format"), int) and found > FORMAT:
            raise _newer(found)  # before anything in it is called unknown
        return cls(**values)


def json_of(text: str) -> Any:
    """Raises ValueError for what is no JSON, and for text in it that no file and no screen could take again."""
    values = json.loads(text)
    if "\\ud" in text.lower():  # half of a character, written as an escape
        json.dumps(values, ensure_ascii=False).encode()
    return values


def _newer(found: int) -> AtlasError:
    return AtlasError(
        "This run was made by a newer version of the program, in format {found}; this version reads up to {known}.",
        found=found, known=FORMAT,
    )  # fmt: skip


@dataclass(frozen=True)
class RunFolder:
    """Where the parts of a run are."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def request(self) -> Path:
        return self.path / "request"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def last(self) -> Path:
        return self.path / "checkpoint" / "last.safetensors"

    @property
    def best(self) -> Path:
        return self.path / "checkpoint" / "best.safetensors"

    def data(self, config: RunConfig) -> Path | None:
        """The copy of the user's own file, where the task reads one."""
        path = config.task.get("path")
        return None if path is None else self.path / Path(str(path)).name

    @property
    def start(self) -> Path | None:
        """The copy of the trained model that the run goes on from, where it does."""
        return kept if (kept := self.path / START).is_dir() else None

    def training(self, config: RunConfig) -> TrainingSettings:
        """The run's settings, with its own copy of what it goes on from: that may have changed, or be gone."""
        changes = {"start_from": str(self.start)} if self.start else {}
        return config.training.model_copy(update=changes)

    def snapshot(self, step: int) -> Path:
        return self.path / "snapshots" / f"step-{step:06d}.safetensors"

    @classmethod
    def around(cls, path: Path) -> RunFolder | None:
        """The run that this is the folder of, or weights in it; None where it is neither. No path is too long."""
        weights = path.suffix == ".safetensors" and os.path.isfile(path)
        folder = cls(path.absolute().parent.parent if weights else path.absolute())
        return folder if os.path.isfile(folder.status) or _is_of_a_run(folder.config) else None

    def weights(self) -> Path | None:
        """The best there are: those of the best evaluation, else of the latest snapshot, None before the first."""
        return self.best if self.best.exists() else next(reversed(self.snapshots().values()), None)

    def snapshots(self) -> dict[int, Path]:
        """By step, the earliest first."""
        found = (self.path / "snapshots").glob("step-*.safetensors")
        numbered = [(path.stem.removeprefix("step-"), path) for path in found]
        return dict(sorted((int(number), path) for number, path in numbered if number.isdecimal()))

    def task(self, config: RunConfig) -> Task:
        """The run's task, which has read the user's own file where there is one. Raises AtlasError."""
        from engine.training.tasks import task_named  # a second, which a list of runs does not need

        data = self.data(config)
        return task_named(**config.task) if data is None else task_named(**{**config.task, "path": str(data)})

    def read_config(self) -> RunConfig:
        """Raises AtlasError, one sentence, when it is missing, damaged or of a newer version."""
        try:
            text = self.config.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:  # no text, or a path that no file can have
            reason = getattr(error, "strerror", None) or str(error)
            raise AtlasError(
                "{path} is no run: its config.json cannot be read ({reason}).", path=str(self.path), reason=reason
            ) from None  # fmt: skip
        return RunConfig.from_json(text)


def _is_of_a_run(config: Path) -> bool:
    """Whether these are settings of a run, which may be damaged for all that: other models have a config.json too."""
    try:
        settings = json_of(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(settings, dict) and settings.keys() >= {"task", "model", "training"}


def write_whole(path: Path, content: bytes, *, lasting: bool = False) -> None:
    """The file is there wholly or not at all. lasting: it outlives a power cut, for which the disk is waited for."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)  # of a disk that is full the system says no name
        raise
