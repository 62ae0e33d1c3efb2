"""A folder in the Hugging Face layout: config.json, tokenizer.json, weights in one file or shards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.pretrained import hf_config, weights
from engine.pretrained.weights import Weights


class HfFolder:
    """What a folder holds: `config`, and tensors known by name and shape until they are read."""

    def __init__(self, path: Path) -> None:
        """Raises AtlasError when a file is missing, damaged, or holds weights that can run code."""
        self.path = path
        self.config = weights.read_json(path / "config.json")
        hf_config.checked(
            self.config, path, only=("model_type", "quantization_config")
        )  # a family has its own
        self._weights = Weights(weights.in_folder(path))

    @property
    def model_type(self) -> str:
        """The family by its own name; a quantised one is another: its tensors are not its weights."""
        name = self.config.get("model_type") or "(none given)"
        quantised = self.config.get("quantization_config")
        return f"{name} quantised by {quantised.get('quant_method', '?')}" if quantised else name

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self._weights.shapes

    @property
    def stored_as(self) -> str:
        return self._weights.stored_as

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
        self._weights.check_types(names)

    def tensor(self, name: str) -> Tensor:
        """One tensor as float32, in memory of its own: the file is mapped, and whoever owns it may write it
        anew.
        """
        return self._weights.tensor(name).to(torch.float32, copy=True)
