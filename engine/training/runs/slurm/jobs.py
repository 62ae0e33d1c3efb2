"""What a cluster's queue says. It forgets a job that is over, so nothing here tells how one ended."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from engine.config import AtlasError

PATIENCE = 10  # seconds that a command may take
OVER = ("Invalid job id", "already completing or completed")


@dataclass(frozen=True)
class Waiting:
    """A job of ours that is in the queue. reason: why it does not run yet, in Slurm's own word."""

    pending: bool
    reason: str


def found() -> bool:
    """Whether jobs can be submitted from this machine."""
    return shutil.which("sbatch") is not None


def jobs() -> dict[str, Waiting]:
    """Our own jobs that wait or run, by their numbers; 12_3 is the fourth of array 12. Raises AtlasError."""
    lines = ask("squeue", "--me", "--array", "--noheader", "--format=%i|%T|%r").splitlines()
    fields = [line.strip().split("|", 2) for line in lines]
    return {job: Waiting(state == "PENDING", reason) for job, state, reason in fields}


def cancel(job: str) -> None:
    """A process has half a minute, or what the cluster allows, to end by itself. Harmless for a job that is over.

    Never with a filter or a signal: Slurm then takes an array that waits for one job, and cancels all of it. Raises
    AtlasError.
    """
    ask("scancel", job, harmless=OVER)


def ask(*command: str, harmless: tuple[str, ...] = ()) -> str:
    """What a command of Slurm prints. Raises AtlasError where there is none, or no answer, or a refusal."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except FileNotFoundError:
        raise missing(command[0]) from None
    except subprocess.TimeoutExpired:
        raise AtlasError(
            "Slurm does not answer: its command {command} has said nothing for {seconds} seconds.",
            command=command[0], seconds=PATIENCE,
        ) from None  # fmt: skip
    if done.returncode and not any(words in done.stderr for words in harmless):
        raise refused(done.stderr)
    return done.stdout


def missing(command: str) -> AtlasError:
    return AtlasError(
        "There is no Slurm here: the command {command} is not found. Start the app on a machine of the cluster from "
        "which jobs are submitted.",
        command=command,
    )  # fmt: skip


def refused(said: str) -> AtlasError:
    """Its last line, which names the reason."""
    lines = [line.rpartition("error: ")[2].strip() for line in said.splitlines() if line.strip()]
    return AtlasError("Slurm says: {reason}.", reason=(lines or ["nothing"])[-1].rstrip("."))
