"""Runs on a cluster: Slurm jobs, submitted through submitit, whose processes write into the same folders.

How a run stands is read from its own status.json: a cluster without accounting cannot say what became of a job. Slurm
is asked only whether jobs still wait. The runs, this program and its Python have to be under the same paths on every
node.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.config import AtlasError
from engine.home import home
from engine.training.runs.folder import RunFolder
from engine.training.runs.processes import ROOT
from engine.training.runs.slurm import jobs as slurm_queue
from engine.training.runs.slurm import settings as slurm_settings
from engine.training.runs.slurm.job import Job
from engine.training.runs.slurm.settings import SlurmSettings
from engine.training.runs.status import Sentence, Status

NAME = "slurm"
FURTHER = 3  # jobs that a run goes on in when the time of one is up
NOTICE = 120  # seconds before that, in which it is saved
LOOK_EVERY = 5.0  # seconds


class SlurmLauncher:
    """Jobs of a cluster; runs that are started together become one array of jobs."""

    def __init__(self) -> None:
        self._looked = float("-inf")
        self._seen: Mapping[str, slurm_queue.Waiting] = {}

    def at_once(self) -> int | None:
        return None

    def launch(
        self, turn: Mapping[RunFolder, Status], ended: Callable[[], object]
    ) -> dict[RunFolder, Status]:
        slurm_queue.jobs()  # a cluster that does not answer is told in seconds; to submit has no such limit
        alike: dict[SlurmSettings, list[RunFolder]] = {}
        for folder in turn:
            alike.setdefault(slurm_settings.read(folder), []).append(folder)
        return {
            folder: turn[folder].but(job=job)
            for settings, folders in alike.items()
            for folder, job in zip(folders, submit(folders, settings), strict=True)
        }

    def look(self, known: Mapping[RunFolder, Status]) -> dict[RunFolder, Status]:
        """A job that is gone before its run began will not begin; one that lost its node waits once more."""
        ours = {folder: status for folder, status in known.items() if _may_wait(status)}
        if not ours or time.monotonic() < self._looked + LOOK_EVERY:
            return {}
        self._looked = time.monotonic()
        try:
            jobs = slurm_queue.jobs()
        except AtlasError:
            return {}  # what nobody answers stays as it was
        self._seen = jobs
        changed = {folder: _held_against(jobs, status) for folder, status in ours.items()}
        return {folder: status for folder, status in changed.items() if status != ours[folder]}

    def why(self, status: Status) -> str:
        found = self._seen.get(status.job)
        return found.reason if found and found.pending else ""

    def withdraw(self, status: Status) -> None:
        if _may_wait(status):
            slurm_queue.cancel(status.job)

    def forget(self, status: Status) -> None:
        """The script of an array goes with the last of its jobs."""
        if not status.job:
            return
        array = status.job.partition("_")[0]
        _remove(f"{status.job}_*")
        if not any(scripts().glob(f"{array}_*_submitted.pkl")):
            _remove(f"{array}_submission.sh")

    def kill(self, status: Status) -> None:
        if status.job:
            slurm_queue.cancel(status.job)


def submit(folders: Sequence[RunFolder], settings: SlurmSettings) -> list[str]:
    """The numbers of their jobs, in the same order. Raises AtlasError."""
    try:
        import submitit
        from submitit.core.utils import FailedJobError
    except ImportError:
        raise AtlasError("Runs go to Slurm through submitit: pip install submitit.") from None
    try:
        executor = submitit.SlurmExecutor(scripts(), max_num_timeout=FURTHER)
        executor.update_parameters(**_parameters(settings))
        with executor.batch():
            jobs = [executor.submit(Job(folder.path)) for folder in folders]
        _remove(".submission_file_*.sh")  # submitit keeps it by the job's number, too
        return [job.job_id for job in jobs]
    except FailedJobError as error:
        raise slurm_queue.refused(str(error)) from None


def scripts() -> Path:
    """Where submitit keeps what it gives to Slurm, and what comes back."""
    return home() / "runs" / ".slurm"


def _remove(pattern: str) -> None:
    for path in scripts().glob(pattern):
        path.unlink(missing_ok=True)


def _parameters(settings: SlurmSettings) -> dict[str, Any]:
    chosen = {
        "partition": settings.partition,
        "account": settings.account,
        "gpus_per_node": settings.gpus or None,
        "mem": settings.memory_gb and f"{settings.memory_gb}G",
    }
    return {
        "job_name": "attention-atlas",
        "time": settings.minutes,
        "cpus_per_task": settings.cpus,
        "signal_delay_s": NOTICE,
        "stderr_to_stdout": True,
        "additional_parameters": {"requeue": True},
        "setup": [
            f"cd {shlex.quote(str(ROOT))}",
            f"export ATLAS_HOME={shlex.quote(str(home()))}",
        ],
        **{name: value for name, value in chosen.items() if value is not None},
    }


def _may_wait(status: Status) -> bool:
    return status.launcher == NAME and bool(status.job) and status.state in ("waiting", "interrupted")


def _held_against(jobs: Mapping[str, slurm_queue.Waiting], status: Status) -> Status:
    found = jobs.get(status.job)
    if status.state == "interrupted":
        return status.but(state="waiting", process=None, error=None) if found and found.pending else status
    if found:
        return status
    gone = AtlasError("Slurm's job {job} is gone, and the run had not begun.", job=status.job)
    return status.but(state="interrupted", error=Sentence.of(gone))
