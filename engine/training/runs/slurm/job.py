"""What a Slurm job does on its node: the run's process, begun again wherever Slurm begins the job again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.training.runs.folder import RunFolder


class Job:
    """Called by submitit on the node.

    SIGTERM, which Slurm sends before it ends a job, reaches the run's process too, and it ends with a checkpoint. That
    the time is nearly up Slurm tells by SIGUSR2, which is for submitit: it asks for `checkpoint`, and puts what it is
    given into the queue once more.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        command = [sys.executable, "-m", "engine.training.worker", str(self.path)]
        with RunFolder(self.path).log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, preexec_fn=_heed_no_notice
            )
        self._wait()
        return self.process.wait()

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        if self.process:
            self.process.terminate()
            self._wait()
        return DelayedSubmission(Job(self.path))

    def _wait(self) -> None:
        """Popen.wait holds a lock, and `checkpoint` is called by a signal that comes while it is held."""
        assert self.process
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)


def _heed_no_notice() -> None:
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
