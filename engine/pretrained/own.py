"""A model of one's own: weights as some training loop saved them, our settings, and a table of names.

    engine.load("ckpt.pt", config=TransformerConfig(...), renames=[(pattern, name), ...], tokenizer="tokenizer.json")

or the same as a file atlas.json beside the weights, and engine.load("folder"):

    {"config":    {"vocab_size": 65, "d_model": 384, "max_len": 256, "decoder": {"n_layers": 6, "n_heads": 6}},
     "renames":   [["wte\\\\.weight", "embedding.table.weight"],
                   ["h\\\\.(\\\\d+)\\\\.attn\\\\.c_attn\\\\.weight", ["decoder.layers.\\\\1.self_attention.W_q.weight",
                                                       "decoder.layers.\\\\1.self_attention.W_k.weight",
                                                       "decoder.layers.\\\\1.self_attention.W_v.weight"]],
                   ["lm_head\\\\.weight", null]],
     "weights":   "ckpt.pt",
     "tokenizer": "tokenizer.json"}

A rule is a regular expression that matches a whole name of theirs, and our name for it; several of ours where theirs
holds them under each other, as fused q, k and v are; None where the model does not need it. The first rule that
matches counts. Without a table the names are ours already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from engine.config import AtlasError, TransformerConfig
from engine.model.build import build_empty
from engine.pretrained import hf_config, matching, renaming, sources, weights
from engine.pretrained.weights import Weights
from engine.tokenizers import Tokenizer, from_json

DESCRIPTION = "atlas.json"
Shape = tuple[int, ...]

_KEYS = ("config", "renames", "weights", "tokenizer")
_PREFIXES = (*renaming.WRAPPERS, "model.", "transformer.")
# What modules save besides parameters: masks, and numbers that follow from the settings.
_BUFFERS = re.compile(r"(.*\.)?(attn\.bias|masked_bias|rope\.freqs|inv_freq|position_ids|tril)")


@dataclass(frozen=True)
class OwnModel:
    """What is to be loaded; knows which part of which tensor each of our parameters is."""

    path: Path
    config: TransformerConfig
    weights: Weights
    table: dict[str, tuple[str, ...]]  # their name -> ours, none for what is not needed
    tokenizer: Tokenizer

    PREFIXES = ()

    @property
    def renames(self) -> renaming.Table:
        """The table for exactly the names that are there."""
        return [(_literal(key), names) for key, names in self.table.items() if names]

    def drop(self, config: TransformerConfig) -> tuple[str, ...]:
        return tuple(_literal(key) for key, names in self.table.items() if not names)

    def stored(self, name: str, shape: Shape) -> Shape:
        """The shape of the tensor that holds one of our parameters: higher where it holds others too."""
        return sum(self._needed[other][0] for other in self._together[name]), *shape[1:]

    def part(self, name: str, tensor: Tensor) -> Tensor:
        """The rows of their tensor that are this parameter."""
        together = self._together[name]
        before = sum(self._needed[other][0] for other in together[: together.index(name)])
        return tensor[before : before + self._needed[name][0]]

    @cached_property
    def _together(self) -> dict[str, tuple[str, ...]]:
        return {name: names for names in self.table.values() for name in names}

    @cached_property
    def _needed(self) -> dict[str, Shape]:
        return {name: tuple(value.shape) for name, value in build_empty(self.config).state_dict().items()}


def given(path: Path, config: Any, renames: Any, tokenizer: Any, where: str = "renames") -> OwnModel:
    """A file or folder of weights, a TransformerConfig, a list of rules or None, a tokenizer, its path or None.

    where: what people know the rules by. Raises AtlasError for what does not do.
    """
    if not isinstance(config, TransformerConfig):
        raise AtlasError("config is a TransformerConfig, not {kind}.", kind=type(config).__name__)
    opened = Weights(_files(path))
    beside = path if path.is_dir() else path.parent
    read = _tokenizer(beside / "tokenizer.json" if tokenizer is None else tokenizer)
    return OwnModel(path, config, opened, _table([*opened], renames, where), read)


def described(folder: Path) -> OwnModel:
    """What a folder's atlas.json says; raises AtlasError naming what is wrong in it."""
    path = folder / DESCRIPTION
    values = weights.read_json(path)
    if unknown := sorted(set(values) - set(_KEYS)) or sorted({"config"} - set(values)):
        raise AtlasError(
            "{path} should have config, and may have renames, weights and tokenizer: {unknown} is unknown or "
            "missing.",
            path=str(path), unknown=", ".join(unknown),
        )  # fmt: skip
    for key in ("weights", "tokenizer"):
        if key in values and not _is_beside(values[key]):
            raise AtlasError(
                '{path}: "{key}" should be the name of a file beside it, not {found}.',
                path=str(path), key=key, found=json.dumps(values[key])[:40],
            )  # fmt: skip
    try:
        config = TransformerConfig.from_json(json.dumps(values["config"]))
    except AtlasError as error:
        raise hf_config.of_file(path, error) from None
    tokenizer = folder / values.get("tokenizer", "tokenizer.json")
    where = f'{path} ("renames")'
    return given(folder / values.get("weights", ""), config, values.get("renames"), tokenizer, where)


def _is_beside(name: Any) -> bool:
    return isinstance(name, str) and name not in ("", "..") and name == Path(name).name


def _files(path: Path) -> list[Path]:
    """A file of weights itself; of a folder those in Hugging Face layout, or the only one of another name."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise AtlasError("{path} is neither a file nor a folder on this machine.", path=str(path))
    found = sorted(file for file in path.iterdir() if file.suffix in sources.SUFFIXES)
    return found if len(found) == 1 else weights.in_folder(path)


def _tokenizer(chosen: Any) -> Tokenizer:
    """A tokenizer, or what a file of one holds: ours or that of the `tokenizers` library."""
    if isinstance(chosen, Tokenizer):
        return chosen
    path = Path(str(chosen))
    if not path.is_file():
        raise AtlasError(
            "There is no {path}, without which text cannot become tokens: give tokenizer=, a tokenizer or the "
            "path of a tokenizer.json.",
            path=str(path),
        )
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises plain Exception for every kind of damage
        raise AtlasError(
            "{path} cannot be read as a tokenizer ({reason}): fetch it again.",
            path=str(path), reason=str(error),
        ) from error  # fmt: skip


def _table(keys: Sequence[str], renames: Any, where: str) -> dict[str, tuple[str, ...]]:
    """Our names for each of theirs; what no rule knows keeps its own, so that it is listed as unknown."""
    if renames is None:
        return {key: (renaming.strip(key, _PREFIXES),) for key in keys}
    rules = [_rule(rule, where) for rule in _listed(renames, where)]
    found = matching.first(rules, [[*_forms(key)] for key in keys], where)
    table = {}
    for key, match in zip(keys, found, strict=True):
        if match is None:
            table[key] = () if _BUFFERS.fullmatch(key) else (key,)
            continue
        index, names = match
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise AtlasError(
                "{where}: the rule {pattern} gives the name {name} twice.",
                where=where, pattern=rules[index][0], name=twice,
            )  # fmt: skip
        table[key] = tuple(names)
    return table


def _forms(key: str) -> Iterator[str]:
    """A name as it is saved, and without each of the prefixes that wrappers put before it."""
    yield key
    while found := next((prefix for prefix in _PREFIXES if key.startswith(prefix)), None):
        key = key[len(found) :]
        yield key


def _literal(key: str) -> str:
    """A pattern of this name alone, as it is compared: without what wrappers put before it."""
    return re.escape(renaming.strip(key, ()))


def _listed(renames: Any, where: str) -> Sequence[Any]:
    if isinstance(renames, str) or not isinstance(renames, Sequence):
        raise AtlasError(
            "{where}: the table of names is a list of rules, not {kind}.",
            where=where, kind=type(renames).__name__,
        )  # fmt: skip
    return renames


def _rule(rule: Any, where: str) -> matching.Rule:
    """A rule in one form: its pattern, and as many of our names as there are. Raises AtlasError for what is none."""
    pattern, names = rule if isinstance(rule, Sequence) and len(rule) == 2 else (None, None)
    names = () if names is None else [names] if isinstance(names, str) else names
    texts = isinstance(names, Sequence) and all(
        isinstance(name, str) and "\\\\" not in name for name in names
    )
    if not isinstance(pattern, str) or not texts:
        raise AtlasError(
            "{where}: a rule of the table is a pattern and our name for it, several names, or null, not {found}.",
            where=where, found=str(rule)[:80],
        )  # fmt: skip
    return pattern, tuple(names)
