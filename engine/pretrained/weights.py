"""Files of weights: tensors known by name, shape and type until they are read, one at a time.

.safetensors                     mapped; nothing in it can run
.bin .pt .pth .ckpt              a pickle, opened only as far as torch's `weights_only` goes; mapped where
                                 it was written by torch 1.6 or later
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine import room
from engine.config import AtlasError
from engine.pretrained.sources import PICKLES

NUMBERS = ("F64", "F32", "F16", "BF16")

_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
_INSIDE = (
    "model",
    "state_dict",
    "model_state_dict",
)  # where training loops keep the weights among other things


@runtime_checkable
class Stored(Protocol):
    """What can be asked of one open file."""

    def names(self) -> Iterable[str]: ...
    def shape(self, name: str) -> tuple[int, ...]: ...
    def kind(self, name: str) -> str: ...
    def tensor(self, name: str) -> Tensor: ...


class Weights:
    """The tensors of one or more files together."""

    def __init__(self, files: Sequence[Path]) -> None:
        """Raises AtlasError for a file that is damaged, one that would run code, and two that contradict each other."""
        self.path = files[0] if len(files) == 1 else files[0].parent
        opened = [_Pickled(file) if file.suffix in PICKLES else _Safetensors(file) for file in files]
        self._files: dict[str, Stored] = {}
        for file in opened:
            for name in file.names():
                if name in self._files and not _same(name, self._files[name], file):
                    raise AtlasError(
                        "{path} holds {tensor} in two files with different numbers: fetch or copy the whole folder "
                        "again.",
                        path=str(self.path), tensor=name,
                    )  # fmt: skip
                self._files[name] = file

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Outermost axis first, as torch has it."""
        return {name: file.shape(name) for name, file in self._files.items()}

    @property
    def stored_as(self) -> str:
        """The types of number, e.g. "F16, F32"."""
        return ", ".join(sorted({file.kind(name) for name, file in self._files.items()} & set(NUMBERS)))

    def check_types(self, names: Iterable[str]) -> None:
        """Raises AtlasError when a tensor holds anything but floating-point numbers of 16 bits or more."""
        for name in names:
            if (kind := self._files[name].kind(name)) not in NUMBERS:
                raise AtlasError(
                    "{path}: {tensor} is stored as {kind}, and only {known} can be read: save the model in "
                    "one of them.",
                    path=str(self.path), tensor=name, kind=kind, known=", ".join(NUMBERS),
                )  # fmt: skip

    def __getitem__(self, name: str) -> Tensor:
        """One tensor as it is stored; it may be mapped, so whoever keeps it makes a copy."""
        return self._files[name].tensor(name)


class _Safetensors:
    def __init__(self, path: Path) -> None:
        try:
            self._file = safe_open(path, framework="pt")
        except (SafetensorError, OSError) as error:
            raise AtlasError(
                "{path} is cut short or is not a safetensors file ({reason}): fetch or copy it again.",
                path=str(path), reason=str(error),
            ) from error  # fmt: skip

    def names(self) -> Iterable[str]:
        return self._file.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._file.get_slice(name).get_shape())

    def kind(self, name: str) -> str:
        return self._file.get_slice(name).get_dtype()

    def tensor(self, name: str) -> Tensor:
        return self._file.get_tensor(name)


class _Pickled:
    def __init__(self, path: Path) -> None:
        self._tensors = _state_dict(_unpickled(path))
        if not self._tensors:
            raise AtlasError(
                '{path} holds no tensors by name, neither at its top nor under "model" or "state_dict".',
                path=str(path),
            )

    def names(self) -> Iterable[str]:
        return self._tensors.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._tensors[name].shape)

    def kind(self, name: str) -> str:
        tensor = self._tensors[name]
        if tensor.layout != torch.strided or tensor.is_meta:  # sparse, or saved without its numbers
            return "meta" if tensor.is_meta else str(tensor.layout).removeprefix("torch.")
        return _NAMES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))

    def tensor(self, name: str) -> Tensor:
        return self._tensors[name].detach()


def _same(name: str, one: Stored, other: Stored) -> bool:
    """Whether two files hold the same tensor of a name."""
    alike = one.shape(name) == other.shape(name) and one.kind(name) == other.kind(name)
    return alike and one.kind(name) in NUMBERS and torch.equal(one.tensor(name), other.tensor(name))


def _unpickled(path: Path) -> Any:
    mapped = zipfile.is_zipfile(path)
    if not mapped:  # the form before torch 1.6 is read as a whole
        room.need_memory(path.stat().st_size, str(path))
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # a damaged pickle breaks wherever it likes
        raise AtlasError(
            "{path} cannot be opened as tensors alone ({reason}): it is damaged, or it holds Python objects, "
            "which could run any code and are refused; save its state dict as safetensors.",
            path=str(path), reason=_reason(error),
        ) from error  # fmt: skip


def _reason(error: Exception) -> str:
    """The words of torch's long advice that say what was found."""
    found = re.search(r"(Unsupported|Trying to load) .+?(?=\.? *\n|\. |$)", str(error))
    return found[0] if found else (str(error).splitlines() or [type(error).__name__])[0][:120]


def _state_dict(value: Any) -> dict[str, Tensor]:
    """The tensors by name: what was saved itself, or the part of it that a training loop keeps them in."""
    if not isinstance(value, Mapping):
        return {}
    inner = next((value[key] for key in _INSIDE if isinstance(value.get(key), Mapping)), value)
    return {name: part for name, part in inner.items() if isinstance(name, str) and isinstance(part, Tensor)}


def in_folder(folder: Path) -> list[Path]:
    """The files of a folder in Hugging Face layout: safetensors before pickles, one file before shards.

    Raises AtlasError when there are none, or fewer than an index names.
    """
    for single in ("model.safetensors", "pytorch_model.bin"):
        index = folder / f"{single}.index.json"
        if (folder / single).is_file():
            return [folder / single]
        if index.is_file():
            return _shards(index)
    raise AtlasError(
        "{path} has no model.safetensors and no pytorch_model.bin: save the model's weights there in one of "
        "these forms.",
        path=str(folder),
    )


def _shards(index: Path) -> list[Path]:
    names = shard_names(index)
    missing = [name for name in names if not (index.parent / name).is_file()]
    if missing or not names:
        raise AtlasError(
            "{path} is not complete: its index names {missing}, which {count} file(s) of the model would "
            "be: copy the whole folder again.",
            path=str(index.parent), missing=", ".join(missing) or "no file", count=len(missing),
        )  # fmt: skip
    return [index.parent / name for name in names]


def shard_names(index: Path) -> list[str]:
    """The files that an index names, all of them beside it."""
    places = read_json(index).get("weight_map")
    names = list(places.values()) if isinstance(places, dict) else [None]
    plain = [name for name in names if isinstance(name, str) and name == Path(name).name]
    if len(plain) < len(names):
        raise AtlasError(
            '{path} does not say which file holds which tensor (its "weight_map" should be an object of file '
            "names): fetch or copy it again.",
            path=str(index),
        )
    return sorted(set(plain))


def read_json(path: Path) -> dict[str, Any]:
    """The object that a file holds; raises AtlasError for anything else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # recursion: lists in lists, a thousand deep
        raise AtlasError(
            "{path} cannot be read ({reason}): fetch or copy it again.", path=str(path), reason=str(error)
        ) from error
    if not isinstance(value, dict):
        raise AtlasError("{path} does not hold a JSON object: fetch or copy it again.", path=str(path))
    return value
