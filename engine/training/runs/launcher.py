"""Who starts the process of a run. Each launcher has the face of `Launcher` and a name in `LAUNCHERS`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from engine.training.runs.folder import RunFolder
from engine.training.runs.processes import ROOT, Process, here
from engine.training.runs.slurm.launcher import SlurmLauncher
from engine.training.runs.status import Status

CARDS = "ATLAS_CARDS"  # the environment of a run that sees but one of them


class Launcher(Protocol):
    def at_once(self) -> int | None:
        """How many runs it has at work at the same time; None for one that has a queue of its own."""
        ...

    def launch(
        self, turn: Mapping[RunFolder, Status], ended: Callable[[], object]
    ) -> dict[RunFolder, Status]:
        """Starts the runs whose turn it is, or puts them into its own queue; how they stand then.

        `ended` is called, from any thread, should this process outlive one of theirs. Raises OSError or AtlasError
        when they cannot be started.
        """
        ...

    def look(self, known: Mapping[RunFolder, Status]) -> dict[RunFolder, Status]:
        """The runs in its own queue that stand otherwise than they say."""
        ...

    def why(self, status: Status) -> str:
        """Why a run had not begun when its own queue was last looked at, in that one's word; "" where none is known."""
        ...

    def withdraw(self, status: Status) -> None:
        """Takes a run out of its own queue; harmless when it is not there. Raises AtlasError when it cannot be done."""
        ...

    def forget(self, status: Status) -> None:
        """Removes what it keeps of a run that is over: it is deleted, or begins anew."""
        ...

    def kill(self, status: Status) -> None:
        """Ends a process that heeds no request; harmless once it is over."""
        ...


class LocalLauncher:
    """A process of this machine in a session of its own, so that it outlives who started it."""

    def at_once(self) -> int | None:
        return max(1, len(gpus()))

    def launch(
        self, turn: Mapping[RunFolder, Status], ended: Callable[[], object]
    ) -> dict[RunFolder, Status]:
        return {
            folder: status.but(state="starting", process=_start(folder, status.slot, ended))
            for folder, status in turn.items()
        }

    def look(self, known: Mapping[RunFolder, Status]) -> dict[RunFolder, Status]:
        return {}

    def why(self, status: Status) -> str:
        return ""

    def withdraw(self, status: Status) -> None:
        """The queue of this machine is ours."""

    def forget(self, status: Status) -> None:
        """All of it is in the run's folder."""

    def kill(self, status: Status) -> None:
        if status.process and status.process.is_alive:
            os.kill(status.process.pid, signal.SIGKILL)


def _start(folder: RunFolder, slot: int, ended: Callable[[], object]) -> Process:
    command = [sys.executable, "-m", "engine.training.worker", str(folder.path)]
    with folder.log.open("ab") as log:
        child = subprocess.Popen(
            command, cwd=ROOT, env=_environment(slot), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    process = here(child.pid)

    def wait() -> None:
        child.wait()  # or it would stay in the system's list
        ended()

    threading.Thread(target=wait, name=f"run {folder.name}", daemon=True).start()
    return process


def gpus() -> list[str]:
    """NVIDIA's cards that runs may use, by the names CUDA_VISIBLE_DEVICES gives them."""
    chosen = os.environ.get(CARDS, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if chosen is not None:
        return [name for name in chosen.split(",") if name.strip() not in ("", "-1")]
    cards = Path("/proc/driver/nvidia/gpus")
    return [str(card) for card in range(len(list(cards.iterdir())))] if cards.is_dir() else []


def _environment(slot: int) -> dict[str, str]:
    """Runs at work at once get a card each, and remember all: the one that ends first launches the next."""
    cards = gpus()
    own = {"CUDA_VISIBLE_DEVICES": cards[slot % len(cards)], CARDS: ",".join(cards)} if cards else {}
    return {**os.environ, **own}


LAUNCHERS: dict[str, Launcher] = {"local": LocalLauncher(), "slurm": SlurmLauncher()}
