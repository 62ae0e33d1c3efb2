"""The bench: cases are measured in a process of its own, one after another, so that no screen waits for them.

The process is begun when it is first wanted, kept warm, and begun again once it has died. It ends with the program that
began it, however that ends, since it listens to a pipe that then closes. (multiprocessing would run the main module
once more in the child; inside Streamlit that is the app.)
"""

from __future__ import annotations

import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.analysis.evidence import Evidence
from engine.errors import N_, AtlasError

ROOT = Path(__file__).parents[2]  # where `python -m engine...` finds this program
LIMIT = 300.0  # seconds; a case takes some, and one that hangs must not hold up all others
DIED = N_("The process that measures the cases ended in the middle of one; another try starts a new one.")
OVERDUE = N_("The case took more than {limit} seconds on this machine and was ended.")
NOT_STARTED = N_("The process that measures the cases could not be started: {reason}.")

Job = tuple[str, Mapping[str, Any], "Future[Evidence]"]
Answer = Evidence | tuple[str, dict[str, Any]]  # or a sentence and its values


class Bench:
    """One process, and a thread that feeds it."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._feed, name="clinic-bench", daemon=True)
        self._thread.start()

    def measure(self, name: str, settings: Mapping[str, Any]) -> Future[Evidence]:
        """What the case of that name measures, or the AtlasError that says why it could not."""
        future: Future[Evidence] = Future()
        self._jobs.put((name, settings, future))
        return future

    @property
    def pid(self) -> int | None:
        """The process's number; None while there is none."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def end(self) -> None:
        """Ends the process and begins no other; what waits is cancelled."""
        with self._guard:
            self._ended = True
            if self._process:
                self._process.kill()
        self._jobs.put(None)
        self._thread.join()

    def _feed(self) -> None:
        with suppress(AtlasError):  # told when somebody asks
            self._started()  # already now: it has torch to import
        while job := self._jobs.get():
            name, settings, future = job
            if self._ended:
                future.cancel()
            elif future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._answer(name, settings))
                except Exception as error:
                    future.set_exception(error)
        if self._process:
            discard(self._process)

    def _started(self) -> subprocess.Popen[bytes]:
        """The process, anew where it has died. Raises AtlasError when it cannot be started."""
        command = [sys.executable, "-m", "engine.clinic.bench_process"]
        with self._guard:
            if self._process and (self._ended or self._process.poll() is None):
                return self._process
            if self._process:
                discard(self._process)
            try:
                self._process = subprocess.Popen(
                    command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
                )
            except OSError as error:
                raise AtlasError(NOT_STARTED, reason=error.strerror or str(error)) from error
            return self._process

    def _answer(self, name: str, settings: Mapping[str, Any]) -> Evidence:
        process, overdue = self._started(), threading.Event()
        watch = threading.Timer(self.limit, lambda: (overdue.set(), process.kill()))
        watch.daemon = True
        watch.start()
        try:
            answer = asked(process, (name, dict(settings)))
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            discard(process)
            raise AtlasError(OVERDUE if overdue.is_set() else DIED, limit=round(self.limit)) from error
        finally:
            watch.cancel()
        if isinstance(answer, Evidence):
            return answer
        template, values = answer
        raise AtlasError(template, **values)


def discard(process: subprocess.Popen[bytes]) -> None:
    """Leaves nothing of it, not even what was not sent to it any more."""
    process.kill()
    with suppress(OSError), process:
        pass


def asked(process: subprocess.Popen[bytes], question: tuple[str, dict[str, Any]]) -> Answer:
    """What the process answers. Raises OSError or EOFError when it has died, before or meanwhile."""
    assert process.stdin
    assert process.stdout
    pickle.dump(question, process.stdin)
    process.stdin.flush()
    return pickle.load(process.stdout)
