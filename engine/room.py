"""How much memory and disk is free, in bytes: one sentence before the work, not a crash in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from engine.config import AtlasError

_CGROUP = Path("/sys/fs/cgroup")


def readable(count: int) -> str:
    """Bytes for a person, in decimal units as download sizes are given: 92871040 -> "93 MB"."""
    if count >= 1e12:
        return f"{count / 1e12:.3g} TB"
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            digits = 1 if count < 10 * unit else 0
            return f"{count / unit:.{digits}f} {name}"
    return f"{count} bytes"


def free_disk(path: Path) -> int:
    """Free bytes on the disk that holds `path`, or would hold it once its folders are made."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def free_memory() -> int | None:
    """Bytes of memory that can be had without swapping; None where the system does not say."""
    known = [count for count in (_from_meminfo(), _from_cgroup()) if count is not None]
    if known:
        return min(known)
    try:  # no figure for what is free: the whole memory is at least an upper bound
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def need_disk(count: int, path: Path, what: str) -> None:
    """Raises AtlasError when the disk of `path` has fewer than `count` bytes free."""
    free = free_disk(path)
    if free < count:
        raise AtlasError(
            "{what} needs {needed} of disk space and {path} has {free} free: make room there, or set "
            "ATLAS_HOME to a folder on a larger disk.",
            what=what, needed=readable(count), path=str(path), free=readable(free),
        )  # fmt: skip


def need_memory(count: int, what: str) -> None:
    """Raises AtlasError when fewer than `count` bytes of memory are available."""
    free = free_memory()
    if free is not None and free < count:
        raise AtlasError(
            "{what} needs {needed} of memory and {free} are available: close other programs or open a "
            "smaller model.",
            what=what, needed=readable(count), free=readable(free),
        )  # fmt: skip


def _from_meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _from_cgroup() -> int | None:
    """What a container may still take; page cache counts as used there and can be given back."""
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        statistics = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        return limit - used + int(statistics.get("inactive_file", 0))
    except (OSError, ValueError):  # no limit reads as "max"
        return None
