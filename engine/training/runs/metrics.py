"""A run's curves: metrics.jsonl, one JSON object a line, only ever appended to.

{"step": 7, "seconds": 0.31, "loss": 2.1, "accuracy": 0.3, ...}     one optimizer step; seconds of training so far
{"step": 100, "seconds": 4.2, "evaluation": {"exact": 0.4, ...}}    the model as it was after that step
{"step": 100, "resumed": true}                                      gone on from step 100: later lines above are void

A process that is ended in the middle of a line leaves half of one; the next begins a new line, and readers pass over
what is no JSON, or none of these. No torch here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from engine.config import AtlasError
from engine.training.runs.drawable import is_record
from engine.training.runs.folder import json_of

Record = dict[str, Any]


class MetricsWriter:
    """Appends lines, each at once: whatever was written survives the process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            self._write(b"\n")

    def append(self, record: Mapping[str, Any]) -> None:
        self._write(json.dumps(record, ensure_ascii=False).encode() + b"\n")

    def _write(self, content: bytes) -> None:
        while content:  # a disk that is nearly full takes a part, and refuses the next
            content = content[os.write(self._file, content) :]

    def __enter__(self) -> MetricsWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        os.close(self._file)


@dataclass
class Metrics:
    """What has been read so far; `read_on()` reads only what was appended since."""

    path: Path
    steps: list[Record] = field(default_factory=list)
    evaluations: list[Record] = field(default_factory=list)
    offset: int = 0

    def read_on(self) -> bool:
        """Whether there was more. A file that is not there has nothing in it yet."""
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self.offset:  # another file by now
                    self.steps, self.evaluations, self.offset = [], [], 0
                file.seek(self.offset)
                content = file.read()
        except FileNotFoundError:
            return False
        except OSError as error:
            reason = error.strerror or str(error)
            raise AtlasError("{path} cannot be read: {reason}.", path=str(self.path), reason=reason) from None
        whole = content[: content.rfind(b"\n") + 1]  # the last line may still be in the writing
        for line in whole.splitlines():
            self._take(line)
        self.offset += len(whole)
        return bool(whole)

    def _take(self, line: bytes) -> None:
        try:
            record = json_of(line.decode())
        except (ValueError, RecursionError):
            return
        if not is_record(record):
            return
        step = record["step"]
        if "resumed" in record:
            self.steps = [other for other in self.steps if other["step"] <= step]
            self.evaluations = [other for other in self.evaluations if other["step"] <= step]
        elif "evaluation" in record:
            self.evaluations.append(record)
        else:
            self.steps.append(record)


def read(path: Path) -> Metrics:
    """All of a file."""
    metrics = Metrics(path)
    metrics.read_on()
    return metrics
