"""A folder in the Hugging Face layout: config.json, tokenizer.json, weights in one file or shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from engine.config import AtlasError
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
        self.weights = Weights(weights.in_folder(path))

    @property
    def model_type(self) -> str:
        """The family by its own name."""
        return hf_config.model_type(self.config)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.weights.shapes

    @property
    def stored_as(self) -> str:
        return self.weights.stored_as

    def special_ids(self, begins_with: Sequence[str] = ("bos_token_id",)) -> dict[str, int | None]:
        """The ids of the tokens that begin a text, end it and fill it up, each None where config.json names none.

        begins_with: the settings that name the first, in their order.
        """
        named = {"bos_id": begins_with, "eos_id": ("eos_token_id",), "pad_id": ("pad_token_id",)}
        return {short: next(iter(self.ids(keys)), None) for short, keys in named.items()}

    def ids(self, keys: Sequence[str]) -> tuple[int, ...]:
        """The tokens that these settings name; -1 names none, and of several the first is the usual one."""
        values = [self.config.get(key) for key in keys]
        firsts = [next(iter(value), None) if isinstance(value, list) else value for value in values]
        return tuple(id for id in firsts if id is not None and id >= 0)

    def check_types(self, names: Iterable[str]) -> None:
        """Raises AtlasError when a tensor holds anything but floating-point numbers of 16 bits or more."""
        self.weights.check_types(names)

    def check_copies(self, copies: Mapping[str, str]) -> None:
        """Raises AtlasError when a tensor is not the copy of another that it should be."""
        for copy, original in self._differing(copies):
            raise AtlasError(
                "{path} holds {first} and {second} with different numbers, and only a model in which they "
                "are one matrix is built here.",
                path=str(self.path), first=original, second=copy,
            )  # fmt: skip

    def check_tied(self, heads: Mapping[str, str]) -> None:
        """Raises AtlasError when an output matrix is not the embeddings, though the settings make them one."""
        for head, table in self._differing(heads):
            raise AtlasError(
                '{path} holds {first} and {second} with different numbers, and its "tie_word_embeddings" makes '
                "them one matrix: set it to false, or take out the one that does not count.",
                path=str(self.path), first=table, second=head,
            )  # fmt: skip

    def _differing(self, copies: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for copy, original in copies.items():
            one, other = self.tensor(copy), self.tensor(original)
            if one.shape != other.shape or not torch.equal(one.to(other.dtype), other):
                yield copy, original

    def tensor(self, name: str) -> Tensor:
        """One tensor as it is stored; it may be mapped, so whoever keeps it makes a copy."""
        return self.weights[name]
