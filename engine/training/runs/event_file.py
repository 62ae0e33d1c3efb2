"""A run's curves as TensorBoard reads them: `reverse-1/events.out.tfevents.reverse-1` in a zip. No torch of its own.

Unpacked side by side, the files of several runs are compared by `tensorboard --logdir .`. The format is written by
tensorboardX, which needs nothing that is not here anyway; TensorBoard itself would bring a server and gRPC along.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.training.runs import metrics
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunFolder
from engine.training.runs.metrics import Record
from engine.training.runs.transfer import flat

ABOUT = ("step", "seconds")  # of a record: when it was, not what was measured


def zipped(folder: RunFolder) -> bytes:
    """The event file, in a folder by which TensorBoard calls the run."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{folder.name}/events.out.tfevents.{folder.name}", events(folder))
    return buffer.getvalue()


def events(folder: RunFolder) -> bytes:
    """One event a step and one an evaluation; times are those of training, without its pauses."""
    from tensorboardX import RecordWriter  # only who asks for such a file waits for it
    from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]  (made on import)
    from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

    found, status = metrics.read(folder.metrics), statuses.read(folder)
    began = max(0.0, status.heartbeat - status.seconds)
    records = sorted([*found.steps, *found.evaluations], key=lambda record: record["step"])
    with TemporaryDirectory() as place:
        path = Path(place) / "events"
        writer = RecordWriter(str(path))
        writer.write(Event(wall_time=began, file_version="brain.Event:2").SerializeToString())
        for record in records:
            values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars(record)]
            time = began + float(record.get("seconds", 0.0))
            event = Event(wall_time=time, step=record["step"], summary=Summary(value=values))
            writer.write(event.SerializeToString())
        writer.close()
        return path.read_bytes()


def scalars(record: Record) -> Iterator[tuple[str, float]]:
    """Every finite number of a record, by a tag of the group before its first dot: "evaluation/alignment.share"."""
    for name, value in flat(record):
        if name not in ABOUT and type(value) in (int, float) and math.isfinite(value):
            yield name.replace(".", "/", 1), float(value)
