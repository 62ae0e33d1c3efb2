"""Which process is which: a number alone is given to another one later, so its beginning is kept beside it.

No clock is asked. On Linux a beginning is counted in ticks since the machine was started, and the machine's own
start has a name; elsewhere `ps` tells it.
"""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

from engine.config import Settings

PROC = Path("/proc")
ROOT = Path(__file__).parents[3]  # where `python -m engine...` finds this program
_DEAD = "ZX"  # what the system calls a process that only waits for its parent to hear of its end


class Process(Settings):
    """A process of some machine. began: when, in whatever the machine counts; "" for one that was never seen."""

    host: str
    machine: str
    pid: int
    began: str

    @property
    def is_local(self) -> bool:
        """Whether this machine could see it; another one's cannot be asked for."""
        return self.host == platform.node() or self.machine == machine()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs, for one of this machine."""
        return bool(self.began) and self.machine == machine() and began(self.pid) == self.began


def here(pid: int | None = None) -> Process:
    """The process of that number on this machine, this one by default."""
    pid = os.getpid() if pid is None else pid
    return Process(host=platform.node(), machine=machine(), pid=pid, began=began(pid))


@cache
def machine() -> str:
    """This start of this machine, and the namespace its processes are numbered in: a container has its own."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return platform.node()


def began(pid: int) -> str:
    """When the process of that number began, "" when there is none or it is over."""
    if (PROC / "self/stat").exists():
        return _from_proc(pid)
    return _from_ps(pid)


def _from_proc(pid: int) -> str:
    try:
        line = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return ""
    fields = line.rpartition(")")[
        2
    ].split()  # a name in brackets may hold blanks and brackets; then field 3, ...
    return "" if fields[0] in _DEAD else fields[19]  # field 22: ticks since the machine was started


def _from_ps(pid: int) -> str:
    asked = ["ps", "-o", "state=,lstart=", "-p", str(pid)]
    found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    return "" if not found or found[0][0] in _DEAD else " ".join(found[1:])
