"""A folder in the Hugging Face layout: config.json, tokenizer.json, safetensors in one file or shards."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.config import AtlasError
from engine.pretrained import hf_config, sources

_NUMBERS = ("F64", "F32", "F16", "BF16")


class HfFolder:
    """What a folder holds: `config`, and tensors known by name and shape until they are read."""

    def __init__(self, path: Path) -> None:
        """Raises AtlasError when a file is missing, damaged, or holds weights that can run code."""
        self.path = path
        self.config = _read_json(path / "config.json")
        hf_config.checked(
            self.config, path, only=("model_type", "quantization_config")
        )  # a family has its own
        self._files = {}  # tensor name -> the open file that holds it
        for file in _weight_files(path):
            opened = _open(file)
            self._files.update(dict.fromkeys(opened.keys(), opened))

    @property
    def model_type(self) -> str:
        """The family by its own name; a quantised one is another: its tensors are not its weights."""
        name = self.config.get("model_type") or "(none given)"
        quantised = self.config.get("quantization_config")
        return f"{name} quantised by {quantised.get('quant_method', '?')}" if quantised else name

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(file.get_slice(name).get_shape()) for name, file in self._files.items()}

    @property
    def stored_as(self) -> str:
        return ", ".join(sorted({self._type(name) for name in self._files} & set(_NUMBERS)))

    @property
    def special_ids(self) -> dict[str, Any]:
        """The ids of the tokens that begin a text, end it and fill it up, each None where config.json names
        none; -1 names none, and of several the first is the usual one.
        """
        ids = {}
        for short in ("bos", "eos", "pad"):
            value = self.config.get(f"{short}_token_id")
            first = next(iter(value), None) if isinstance(value, list) else value
            ids[f"{short}_id"] = None if first is None or first < 0 else first
        return ids

    def check_types(self, names: Iterable[str]) -> None:
        """Raises AtlasError when a tensor holds anything but floating-point numbers of 16 bits or more."""
        for name in names:
            if self._type(name) not in _NUMBERS:
                raise AtlasError(
                    "{path}: {tensor} is stored as {kind}, and only {known} can be read: save the model in "
                    "one of them.",
                    path=str(self.path), tensor=name, kind=self._type(name), known=", ".join(_NUMBERS),
                )  # fmt: skip

    def tensor(self, name: str) -> Tensor:
        """One tensor as float32, in memory of its own: the file is mapped, and whoever owns it may write it
        anew.
        """
        return self._files[name].get_tensor(name).to(torch.float32, copy=True)

    def _type(self, name: str) -> str:
        return self._files[name].get_slice(name).get_dtype()


def _weight_files(folder: Path) -> list[Path]:
    """model.safetensors, or the shards that the index names."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    if index.is_file():
        names = _shards(index)
        missing = [name for name in names if not (folder / name).is_file()]
        if missing or not names:
            raise AtlasError(
                "{path} is not complete: its index names {missing}, which {count} file(s) of the model "
                "would be: copy the whole folder again.",
                path=str(folder), missing=", ".join(missing) or "no file", count=len(missing),
            )  # fmt: skip
        return [folder / name for name in names]
    for path in sorted(folder.iterdir()):
        if path.suffix in sources.PICKLED:
            raise sources.pickled(path)
    raise AtlasError(
        "{path} has no model.safetensors: save the model's weights there in that form.", path=str(folder)
    )


def _shards(index: Path) -> list[str]:
    """The files that an index names, all of them beside it."""
    places = _read_json(index).get("weight_map")
    names = list(places.values()) if isinstance(places, dict) else [None]
    plain = [name for name in names if isinstance(name, str) and name == Path(name).name]
    if len(plain) < len(names):
        raise AtlasError(
            '{path} does not say which file holds which tensor (its "weight_map" should be an object of file '
            "names): fetch or copy it again.",
            path=str(index),
        )
    return sorted(set(plain))


def _open(path: Path):
    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise AtlasError(
            "{path} is cut short or is not a safetensors file ({reason}): fetch or copy it again.",
            path=str(path), reason=str(error),
        ) from error  # fmt: skip


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # recursion: lists in lists, a thousand deep
        raise AtlasError(
            "{path} cannot be read ({reason}): fetch or copy it again.", path=str(path), reason=str(error)
        ) from error
    if not isinstance(value, dict):
        raise AtlasError("{path} does not hold a JSON object: fetch or copy it again.", path=str(path))
    return value
