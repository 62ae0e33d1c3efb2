"""The fast second load: what a GGUF file was turned into, as float32 that is mapped instead of read.

One folder per source file under ATLAS_HOME/derived, named by the file's size, time of change and content,
holding config.json, tokenizer.json, meta.json and model.safetensors. It is only a copy: deleting it costs
one slow load.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from engine import room
from engine.pretrained import catalogue

FORMAT = 3  # part of the name: raised when what is stored changes, so that older copies are not found
_EDGE = 1 << 20
_KEPT = 4  # copies; the one unused for longest goes first


def folder_of(source: Path) -> Path:
    """Where the copy of `source` is or would be.

    Only the first and last MiB are hashed: a whole file takes longer to hash than to load.
    """
    about = source.stat()
    return catalogue.home() / "derived" / _fingerprint(source, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=64)  # screens ask for sizes on every click
def _fingerprint(source: Path, size: int, changed: int) -> str:
    digest = hashlib.sha256(f"{FORMAT} {size} {changed}".encode())
    with source.open("rb") as file:
        digest.update(file.read(_EDGE))
        file.seek(max(0, size - _EDGE))
        digest.update(file.read(_EDGE))
    return digest.hexdigest()[:24]


def find(source: Path) -> Path | None:
    """The finished copy of `source`, marked as used just now; None when there is none."""
    folder = folder_of(source)
    if not (folder / "model.safetensors").is_file():
        return None
    _touch(folder)
    return folder


def store(source: Path, texts: Mapping[str, str], write_weights: Callable[[Path], None]) -> Path | None:
    """Writes a copy: `texts` by file name, then `write_weights(path)`.

    None when the disk has no room for it, which is no error: only the next load is slow.
    """
    folder = folder_of(source)
    staging = folder.with_name(f".{folder.name}-{uuid4().hex}.part")
    try:
        staging.mkdir(parents=True)
        for name, text in texts.items():
            (staging / name).write_text(text, encoding="utf-8")
        write_weights(staging / "model.safetensors")
        shutil.rmtree(folder, ignore_errors=True)
        staging.rename(folder)
    except OSError:
        return None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _forget_oldest(folder)
    return folder


def has_room(count: int) -> bool:
    """Whether a copy of that many bytes fits and leaves as much again free for everything else."""
    return room.free_disk(catalogue.home()) >= 2 * count


def size(source: Path) -> int:
    """Bytes that the copy of `source` takes, 0 when there is none."""
    if not source.is_file():
        return 0
    folder = folder_of(source)
    return sum(path.stat().st_size for path in folder.iterdir()) if folder.is_dir() else 0


def remove(source: Path) -> None:
    if source.is_file():
        shutil.rmtree(folder_of(source), ignore_errors=True)


def read_json(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def _touch(folder: Path) -> None:
    with suppress(OSError):  # a home that is read-only for us is still a good one to read from
        folder.touch()


def _forget_oldest(kept: Path) -> None:
    copies = [path for path in kept.parent.iterdir() if path.is_dir() and not path.name.startswith(".")]
    copies.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in copies[_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
