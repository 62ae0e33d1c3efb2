"""Who works on a run holds a lock in its folder, which the system takes from a process that ends, however it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from engine.config import AtlasError
from engine.training.runs.folder import RunFolder

GLANCE = 1.0  # seconds; who only asks whether a run is held lets go of it at once


@contextmanager
def alone(folder: RunFolder) -> Iterator[None]:
    """Raises AtlasError where another process is at work."""
    try:
        with FileLock(folder.path / ".lock", timeout=GLANCE):
            yield
    except Timeout:
        raise AtlasError("The run {name} is at work in another process.", name=folder.name) from None


def is_held(folder: RunFolder) -> bool:
    """Whether anybody works on it, as far as its file system tells; if it does not, somebody may."""
    try:
        with FileLock(folder.path / ".lock", timeout=0):
            return False
    except (Timeout, OSError, NotImplementedError):
        return True
