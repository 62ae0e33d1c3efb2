"""The event file of a run, read back by the format's own description: frames with checksums, fields with numbers.

https://www.tensorflow.org/tutorials/load_data/tfrecord tells the frames, event.proto and summary.proto the fields.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.training import runs
from engine.training.runs import event_file
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.runs.metrics import MetricsWriter
from engine.training.runs.status import Status


def checksum(data: bytes) -> int:
    """CRC-32C (Castagnoli), bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    value = checksum(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frames(data: bytes) -> Iterator[bytes]:
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12]) == (masked(data[:8]),)
        payload = data[12 : 12 + length]
        assert struct.unpack("<I", data[12 + length : 16 + length]) == (masked(payload),)
        yield payload
        data = data[16 + length :]


def varint(data: bytes) -> tuple[int, bytes]:
    value = shift = 0
    while True:
        byte, data = data[0], data[1:]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, data
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of a message: double, float, whole number, or bytes."""
    while data:
        key, data = varint(data)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, data = varint(data)
        elif kind == 2:
            length, data = varint(data)
            value, data = data[:length], data[length:]
        else:
            size, code = {1: (8, "<d"), 5: (4, "<f")}[kind]
            (value,) = struct.unpack(code, data[:size])
            data = data[size:]
        yield number, value


def read(data: bytes) -> list[tuple[float, int, dict[str, float]]]:
    """(wall time, step, value by tag) of each event that has a summary."""
    found = []
    for event in map(dict, map(fields, frames(data))):
        if 5 in event:
            values = [dict(fields(value)) for number, value in fields(event[5]) if number == 1]
            found.append((event[1], event[2], {value[1].decode(): value[2] for value in values}))
    return found


@pytest.fixture
def run(home: Path, settings: RunConfig) -> RunFolder:
    folder = runs.create(settings).folder
    with MetricsWriter(folder.metrics) as writer:
        writer.append({"step": 1, "seconds": 0.5, "loss": 2.5, "gradient_norms": {"encoder.layers.0": 0.125}})
        writer.append({"step": 2, "seconds": 1.0, "loss": float("nan"), "accuracy": 1})
        entropy = {"decoder.layers.0.self_attention": [0.25, 0.75]}
        samples = [{"source": "a", "target": "b", "written": "c"}]
        evaluation = {"exact": 0.5, "entropy": entropy, "samples": samples, "alignment": None, "best": True}
        writer.append({"step": 2, "seconds": 1.25, "evaluation": evaluation})
    statuses.write(folder, Status(state="finished", heartbeat=1_000.0, seconds=1.5))
    return folder


def test_the_reader_of_these_tests_knows_the_checksum_that_everybody_agrees_on() -> None:
    assert checksum(b"123456789") == 0xE3069283


def test_what_is_read_back_is_what_was_measured_when_it_was_measured(run: RunFolder) -> None:
    entropy = "evaluation/entropy.decoder.layers.0.self_attention"
    assert read(event_file.events(run)) == [
        (999.0, 1, {"loss": 2.5, "gradient_norms/encoder.layers.0": 0.125}),
        (999.5, 2, {"accuracy": 1.0}),  # what is no number has no place on a curve
        (999.75, 2, {"evaluation/exact": 0.5, f"{entropy}.0": 0.25, f"{entropy}.1": 0.75}),
    ]


def test_the_file_says_first_that_it_is_one(run: RunFolder) -> None:
    assert dict(fields(next(frames(event_file.events(run)))))[3] == b"brain.Event:2"


def test_the_zip_holds_a_folder_of_the_run_s_name_and_tells_nothing_of_the_machine(run: RunFolder) -> None:
    with zipfile.ZipFile(io.BytesIO(event_file.zipped(run))) as archive:
        assert archive.namelist() == ["dates-1/events.out.tfevents.dates-1"]
        assert archive.read(archive.namelist()[0]) == event_file.events(run)


def test_a_run_that_has_not_begun_is_a_file_without_curves(home: Path, settings: RunConfig) -> None:
    assert read(event_file.events(runs.create(settings).folder)) == []
