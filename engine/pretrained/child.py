"""A child process that does a fetch: ended from any thread at any time, and never left behind."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO

Watch = Callable[["subprocess.Popen[str]"], None]


class Child:
    """One process at a time; once `end()` was called, it starts no other."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._ended = False
        self._process: subprocess.Popen[str] | None = None

    @property
    def ended(self) -> bool:
        """Whether somebody called `end()`."""
        return self._ended

    def run(
        self,
        command: Sequence[str],
        watch: Watch,
        *,
        environment: Mapping[str, str],
        errors: IO[str],
    ) -> int:
        """The process's exit status; `watch` reads what it prints meanwhile, and stops it by raising.

        errors: the file its stderr goes to.
        """
        with self._guard:
            if self._ended:
                return 1
            self._process = subprocess.Popen(
                command, env=environment, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        try:
            watch(self._process)
            return self._process.wait()
        finally:
            _leave_none(self._process)

    def end(self) -> None:
        """Asks the process to end; harmless once it is over."""
        with self._guard:
            self._ended = True
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()


def _leave_none(process: subprocess.Popen[str]) -> None:
    """Asks, waits, insists."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
