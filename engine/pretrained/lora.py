"""A LoRA adapter (Hu et al. 2021) as PEFT saves it, merged into its base while that is read.

W' = W + alpha / r * B A, or alpha / sqrt(r) (Kalajdzievski 2023, rsLoRA); A is (r, in) and B (out, r). What was
trained as a whole (modules_to_save, biases) takes the place of the base's tensor.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from engine.config import AtlasError
from engine.pretrained import renaming, weights
from engine.pretrained.weights import Weights

CONFIG = "adapter_config.json"
_FILES = ("adapter_model.safetensors", "adapter_model.bin")
_WRAPPED = "base_model.model."
_HALF = re.compile(r"(?P<module>.+)\.lora_(?P<table>embedding_)?(?P<side>[AB])(\.default)?(\.weight)?")
_INSIDE = re.compile(r"\.(base_layer|modules_to_save(\.default)?)(?=\.)")
# Settings that make it another computation, or another base than the one on disk, by what people call them.
_OTHERS = {
    "use_dora": "DoRA",
    "use_qalora": "QALoRA",
    "lora_bias": "LoRA with a bias of its own",
    "layer_replication": "LoRA with layers used again",
    "target_parameters": "LoRA of single parameters",
    "trainable_token_indices": "LoRA with trained tokens",
    "alora_invocation_tokens": "activated LoRA",
}
_MOVED_BASES = ("pissa", "olora", "loftq", "corda", "lora_ga")  # initialisations that change the base as well


@dataclass(frozen=True)
class LowRank:
    """A matrix of the base with B A added; `turned`: the base keeps it as (in, out)."""

    A: str
    B: str
    scale: float
    turned: bool

    def of(self, adapter: Weights, base: Tensor) -> Tensor:
        delta = self.scale * (adapter[self.B].float() @ adapter[self.A].float())
        return base.float() + (delta.T if self.turned else delta)


@dataclass(frozen=True)
class Whole:
    """A tensor of the adapter that takes the place of the base's."""

    name: str

    def of(self, adapter: Weights, base: Tensor) -> Tensor:
        return adapter[self.name]


class Adapter:
    """A folder with adapter_config.json and the matrices; `over(base)` gives the weights of both together."""

    def __init__(self, path: Path) -> None:
        """Raises AtlasError when a file is missing or damaged, and for adapters of other kinds, by name."""
        self.path = path
        self.config = _checked(weights.read_json(path / CONFIG), path)
        files = [path / name for name in _FILES if (path / name).is_file()]
        if not files:
            raise AtlasError(
                "{path} has no {names}: copy the whole folder of the adapter.",
                path=str(path), names=" / ".join(_FILES),
            )  # fmt: skip
        self.weights = Weights(files[:1])
        self.weights.check_types(self.weights)
        self._changed: set[str] = set()

    @property
    def base(self) -> str | None:
        """Where its base was when it was trained: a path, or a name of the Hugging Face hub."""
        return self.config.get("base_model_name_or_path") or None

    def over(self, base: Weights, prefixes: Sequence[str]) -> Merged:
        """The base's tensors as the adapter changes them; prefixes: what files of its family put before names.

        Raises AtlasError when the two do not fit each other, or when half of the adapter is missing.
        """
        theirs = {renaming.strip(name, prefixes): name for name in base}
        halves, wholes = self._sorted()
        keys = [*(f"{module}.weight" for module in halves), *wholes]
        found = {key: theirs[bare] for key in keys if (bare := renaming.strip(key, prefixes)) in theirs}
        self._refuse_others([key for key in keys if key not in found], holds_any=bool(keys))
        changes: dict[str, LowRank | Whole] = {found[key]: Whole(saved) for key, saved in wholes.items()}
        for module, sides in halves.items():
            name = found[f"{module}.weight"]
            changes[name] = self._low_rank(module, sides, base.shapes[name])
        self._refuse_gaps(set(changes), theirs)
        self._changed = set(changes)
        return Merged(self, base, changes)

    def check_used(self, plan: Mapping[str, str], *, tied: bool) -> None:
        """Raises AtlasError when the model would leave out a change, or use a matrix twice that is changed.

        plan: the tensor of the base that each of our parameters is; tied: embeddings and output are one matrix.
        """
        twice = {plan["embedding.table.weight"]} if tied else set()
        if wrong := sorted(self._changed - set(plan.values()) | self._changed & twice):
            raise AtlasError(
                "{path} changes {names}, which this model does not have to itself: its embeddings and its output "
                "are one matrix, or the tensor belongs to a head that is not built here.",
                path=str(self.path), names=renaming.listed(wrong),
            )  # fmt: skip

    def _sorted(self) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
        """({module: {side: name}}, {tensor of the base: name}) for all that the adapter holds."""
        halves: dict[str, dict[str, str]] = {}
        wholes: dict[str, str] = {}
        for name in self.weights:
            bare = _INSIDE.sub("", name.removeprefix(_WRAPPED))
            if match := _HALF.fullmatch(bare):
                halves.setdefault(match["module"], {})[f"{match['table'] or ''}{match['side']}"] = name
            else:
                wholes[bare] = name
        return halves, wholes

    def _low_rank(self, module: str, sides: Mapping[str, str], shape: tuple[int, ...]) -> LowRank:
        table = "embedding_" if "embedding_A" in sides else ""  # a table of vectors is kept as (in, out)
        A, B = sides.get(f"{table}A"), sides.get(f"{table}B")
        if A is None or B is None:
            raise AtlasError(
                "{path} holds only one of the two matrices for {module}: copy the whole adapter.",
                path=str(self.path), module=module,
            )  # fmt: skip
        (rank, wide), (high, also) = self._matrix(A), self._matrix(B)
        delta, turned = (high, wide), (wide, high)
        # a base may keep its matrices the other way round; of a square one only the settings tell
        asked = bool(table) or bool(self.config.get("fan_in_fan_out"))
        fits = turned if (asked and shape == turned) or shape != delta else delta
        if rank != also or shape != fits:
            raise AtlasError(
                "{path}: the matrices for {module} are {first} and {second} where the base has {expected}: the "
                "adapter belongs to another model.",
                path=str(self.path), module=module, first=_by(self.weights.shapes[A]),
                second=_by(self.weights.shapes[B]), expected=_by(shape),
            )  # fmt: skip
        return LowRank(A, B, self._scale(module, rank), turned=fits is turned)

    def _matrix(self, name: str) -> tuple[int, ...]:
        shape = self.weights.shapes[name]
        return shape if len(shape) == 2 else (0, 0)

    def _scale(self, module: str, rank: int) -> float:
        """alpha / r, where alpha may be a module's own: patterns match a whole name or its end."""
        own = self.config.get("alpha_pattern") or {}
        found = next((key for key in own if re.fullmatch(rf"(.*\.)?({key})", module)), None)
        alpha = self.config["lora_alpha"] if found is None else own[found]
        return alpha / (math.sqrt(rank) if self.config.get("use_rslora") else rank)

    def _refuse_others(self, unknown: list[str], *, holds_any: bool) -> None:
        if unknown or not holds_any:
            raise AtlasError(
                "{path} changes {names}, which its base does not hold: the adapter belongs to another model.",
                path=str(self.path), names=renaming.listed(unknown) or "nothing",
            )  # fmt: skip

    def _refuse_gaps(self, changed: set[str], theirs: Mapping[str, str]) -> None:
        """Where the settings list modules by name and leave none out, each of them has to be there."""
        targets = self.config.get("target_modules")
        left_out = self.config.get("layers_to_transform") or self.config.get("exclude_modules")
        if not isinstance(targets, list) or left_out:
            return
        ends = tuple(f".{target}.weight" for target in targets)
        missing = [bare for bare, name in theirs.items() if f".{bare}".endswith(ends) and name not in changed]
        if missing:
            raise AtlasError(
                "{path} lacks the matrices for {names}, which its settings name: copy the whole adapter.",
                path=str(self.path), names=renaming.listed(missing),
            )  # fmt: skip


class Merged(Weights):
    """The tensors of a base, those that an adapter changes as it changes them."""

    def __init__(self, adapter: Adapter, base: Weights, changes: Mapping[str, LowRank | Whole]) -> None:
        self.path, self._files = base.path, base._files
        self._adapter, self._changes = adapter, changes

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        held, own = self._adapter.weights.shapes, super().shapes
        whole = {
            name: held[change.name] for name, change in self._changes.items() if isinstance(change, Whole)
        }
        return own | whole

    def __getitem__(self, name: str) -> Tensor:
        stored = super().__getitem__(name)
        change = self._changes.get(name)
        return stored if change is None else change.of(self._adapter.weights, stored)


def _checked(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The settings, of LoRA as it is built here; raises AtlasError naming what else they ask for."""
    kind = str(config.get("peft_type", "(none given)"))
    started = config.get("init_lora_weights")
    others = [name for key, name in _OTHERS.items() if config.get(key)]
    if isinstance(started, str) and started.lower().startswith(_MOVED_BASES):
        others.append(f"LoRA begun by {started}")
    if kind != "LORA" or others:
        raise AtlasError(
            "{path} is an adapter of kind {kind}, and only LoRA itself is built here.",
            path=str(path), kind=kind if kind != "LORA" else others[0],
        )  # fmt: skip
    for key, test in _TESTS.items():
        if not test(config.get(key)):
            raise AtlasError(
                '{path}: "{key}" cannot be {found} in the settings of an adapter.',
                path=str(path / CONFIG), key=key, found=json.dumps(config.get(key))[:40],
            )  # fmt: skip
    return config


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_patterns(value: Any) -> bool:
    """Whether it is nothing, or an object of regular expressions and numbers."""
    try:
        return value is None or all(re.compile(key) and _is_number(own) for key, own in value.items())
    except (AttributeError, re.error):
        return False


_TESTS: dict[str, Callable[[Any], bool]] = {
    "lora_alpha": _is_number,
    "alpha_pattern": _are_patterns,
    "base_model_name_or_path": lambda value: value is None or isinstance(value, str),
    "target_modules": lambda value: (
        not isinstance(value, list) or all(isinstance(name, str) for name in value)
    ),
}


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in shape)
