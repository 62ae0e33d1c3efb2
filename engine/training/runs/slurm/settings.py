"""What the jobs of a run ask of a cluster: a file slurm.json in the run's folder."""

from __future__ import annotations

import json

from pydantic import Field

from engine.config import AtlasError, Settings
from engine.training.runs.folder import RunFolder, write_whole

PLACE = "slurm.json"
A_NAME = r"^[\w.,-]+$"


class SlurmSettings(Settings):
    """None leaves it to the cluster.

    minutes: after which a job ends; the run is saved before, and goes on in another job, three times at most.
    """

    partition: str | None = Field(default=None, pattern=A_NAME)
    account: str | None = Field(default=None, pattern=A_NAME)
    gpus: int = Field(default=0, ge=0, le=1)
    cpus: int = Field(default=1, ge=1, le=256)
    memory_gb: int | None = Field(default=None, ge=1, le=4096)
    minutes: int = Field(default=60, ge=5, le=60 * 24 * 30)


def write(folder: RunFolder, settings: SlurmSettings) -> None:
    write_whole(folder.path / PLACE, settings.model_dump_json(indent=2).encode())


def read(folder: RunFolder) -> SlurmSettings:
    """What nobody has chosen is as the class says. Raises AtlasError for a file that holds something else."""
    try:
        return SlurmSettings(**json.loads((folder.path / PLACE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return SlurmSettings()
    except (OSError, ValueError, TypeError) as error:
        raise AtlasError(
            "The run's {name} cannot be read: {reason}.", name=PLACE, reason=str(error)
        ) from None
