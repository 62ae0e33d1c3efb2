"""The process of one run:  python -m engine.training.worker RUN

RUN is a folder with a config.json at least: one without a checkpoint begins, one with a checkpoint goes on there. It
ends after the step it is at when its file `request` says so or on SIGTERM, always with a checkpoint.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from engine.config import AtlasError
from engine.training.runs import queue
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunFolder
from engine.training.runs.heartbeat import Heartbeat
from engine.training.runs.holding import alone
from engine.training.runs.processes import here
from engine.training.runs.status import Sentence, State

REQUESTS: dict[str, State] = {"pause": "paused", "stop": "stopped"}
RESERVE = 1 << 16  # bytes given back when the disk is full, so that this can be written down


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m engine.training.worker", description="Train, or go on training."
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a folder with a config.json")
    folder = RunFolder(parser.parse_args(arguments).run.absolute())
    try:
        folder.read_config()
        with alone(folder):
            return 0 if work(folder) else 1
    except (AtlasError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        with suppress(AtlasError, OSError):
            queue.dispatch()  # the next one's turn, though no screen may be open


def work(folder: RunFolder) -> bool:
    """Whether the run went as it should."""
    asked, heartbeat = Asked(folder), begin(folder)
    reserve = folder.path / ".reserve"
    try:
        reserve.write_bytes(bytes(RESERVE))
        with heartbeat:
            from engine.training.runs.work import Work  # torch takes a while: that it starts is told already

            ended, failure = Work(folder, heartbeat, asked).run(), None
    except Exception as error:
        with suppress(OSError):
            traceback.print_exception(error) if not isinstance(error, AtlasError) else print(
                error, file=sys.stderr
            )
        ended, failure = "failed", error.with_traceback(None)  # whose frames hold the memory that ran out
        failure.__context__ = None
    reserve.unlink(missing_ok=True)
    end(folder, heartbeat, ended, failure)
    return failure is None


class Asked:
    """Which state the run is asked to end in, None as long as nobody asks."""

    def __init__(self, folder: RunFolder) -> None:
        self._request = str(folder.request)
        self._signalled = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)

    def _hear(self, number: int, frame: object) -> None:
        self._signalled = True

    def __call__(self) -> State | None:
        if os.path.exists(self._request):
            with open(self._request, encoding="utf-8") as file:
                return REQUESTS.get(file.read().strip())
        return "interrupted" if self._signalled else None


def begin(folder: RunFolder) -> Heartbeat:
    with queue.locked():  # whoever launched this process has written of it by then
        before = statuses.read(folder)
        heartbeat = Heartbeat(folder, before.but(state="starting", process=here(), error=None))
        heartbeat.tell(steps=folder.read_config().training.steps)
        heartbeat.write()
    return heartbeat


def end(folder: RunFolder, heartbeat: Heartbeat, ended: State, failure: Exception | None) -> None:
    error = None
    if failure:
        from engine.training.runs.failures import sentence

        error = Sentence.of(sentence(failure, folder))
    with queue.locked():
        heartbeat.tell(state=ended, error=error)
        heartbeat.write()
        folder.request.unlink(missing_ok=True)
    with suppress(OSError):
        print(ended, flush=True)


if __name__ == "__main__":
    sys.exit(main())
