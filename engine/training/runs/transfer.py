"""Runs that leave, as tables and as a command that repeats them, and runs that come from elsewhere. No torch.

transfer.csv(run.folder), transfer.parquet(run.folder)      # the curves, one row a step
transfer.command(run.folder)                                # for a terminal: the same run again
transfer.adopt(Path("some/run"))                            # a copy among the runs here
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from engine.config import AtlasError
from engine.training import runs
from engine.training.runs import Run, metrics
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunFolder
from engine.training.runs.processes import ROOT
from engine.training.runs.status import Status

if TYPE_CHECKING:
    import pandas as pd

ADOPTED = (
    "metrics.jsonl",
    "tokenizer.json",
    "log.txt",
    "snapshots/step-*.safetensors",
    "checkpoint/*.safetensors",
)


def curves(folder: RunFolder) -> pd.DataFrame:
    """One row a step, with the evaluation that was made after it; what is nested has names with dots."""
    import pandas as pd  # a list of runs does not need it

    found = metrics.read(folder.metrics)
    judged = {record["step"]: record.get("evaluation") for record in found.evaluations}
    rows = [{**record, "evaluation": judged.get(record["step"])} for record in found.steps]
    return pd.DataFrame([dict(flat(row)) for row in rows])


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """("a.b", 1) for {"a": {"b": 1}}, ("a.0", 1) for {"a": [1]}; what the model wrote is left to the run itself."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "samples":
                yield from flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        yield from flat(dict(enumerate(value)), name)
    elif value is not None:
        yield name, value


def csv(folder: RunFolder) -> bytes:
    return curves(folder).to_csv(index=False).encode()


def parquet(folder: RunFolder) -> bytes:
    buffer = io.BytesIO()
    curves(folder).to_parquet(buffer, index=False)
    return buffer.getvalue()


def command(folder: RunFolder) -> str:
    """What to type, in the folder of this program, to make the run again from its beginning."""
    config = folder.read_config()
    files = [path for path in (folder.config, folder.data(config), folder.start) if path is not None]
    again, sources = shlex.quote(f"{folder.name}-again"), " ".join(shlex.quote(str(path)) for path in files)
    return (
        f"cd {shlex.quote(str(ROOT))} && mkdir {again} && cp -r {sources} {again} && "
        f"python -m engine.training.worker {again}"
    )


def adopt(path: Path) -> Run:
    """A copy of a run's folder, among the runs of this machine; it can be gone on with where it has a checkpoint.

    Raises AtlasError, and leaves nothing, for what is no run, is damaged or needs what this program does not have.
    """
    theirs = RunFolder(Path(os.path.expanduser(path)).absolute())
    config = theirs.read_config()
    for part in (theirs.config, theirs.data(config), *(theirs.start.iterdir() if theirs.start else ())):
        if part is not None and _leads_out(part, theirs):
            raise AtlasError("{path} is a link out of the run's folder.", path=str(part))
    made = runs.create(config, theirs.data(config), theirs.start)
    try:
        for pattern in ADOPTED:
            for file in theirs.path.glob(pattern):
                if not _leads_out(file, theirs):
                    _take(file, made.folder.path / file.relative_to(theirs.path))
        statuses.write(made.folder, _at_rest(statuses.read(theirs)))
    except BaseException:
        runs.delete(made.name)
        raise
    return runs.find(made.name)


def _leads_out(file: Path, folder: RunFolder) -> bool:
    """Whether it, or a folder on the way to it, is a link to what is not of the folder."""
    try:
        return not os.path.realpath(file).startswith(os.path.realpath(folder.path) + os.sep)
    except ValueError:  # of a name that no file can have
        return False


def _take(file: Path, place: Path) -> None:
    if file.is_symlink() or not file.is_file():
        return
    try:
        if file.suffix == ".safetensors":
            with safe_open(file, framework="numpy"):
                pass
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(file, place)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AtlasError("{path} cannot be copied: {reason}.", path=str(file), reason=reason) from error


def _at_rest(status: Status) -> Status:
    """What is true of the copy: nobody is at work on it, and it waits for nobody."""
    state = "interrupted" if status.is_live or status.state == "waiting" else status.state
    kept = status.model_dump(include={"step", "steps", "seconds", "device", "loss", "exact", "error"})
    return Status(state=state, **kept)
