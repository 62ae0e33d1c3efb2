"""A LoRA adapter (Hu et al. 2021) as PEFT saves it, merged into its base while that is read.

W' = W + alpha / r * B A, or alpha / sqrt(r) (Kalajdzievski 2023, rsLoRA); A is (r, in) and B (out, r). What was
trained as a whole (modules_to_save, biases) takes the place of the base's tensor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from engine.config import AtlasError
from engine.pretrained import lora_settings, matching, renaming, weights
from engine.pretrained.weights import Weights

CONFIG = lora_settings.NAME
_FILES = ("adapter_model.safetensors", "adapter_model.bin")
_WRAPPED = "base_model.model."
_HALF = re.compile(r"(?P<module>.+)\.lora_(?P<table>embedding_)?(?P<side>[AB])(\.default)?(\.weight)?")
_INSIDE = re.compile(r"\.(base_layer|modules_to_save(\.default)?)(?=\.)")


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
        self.config = lora_settings.checked(weights.read_json(path / CONFIG), path)
        files = [path / name for name in _FILES if (path / name).is_file()]
        if not files:
            raise AtlasError(
                "{path} has no {names}: copy the whole folder of the adapter.",
                path=str(path), names=" / ".join(_FILES),
            )  # fmt: skip
        self.weights = Weights(files[:1])
        self.weights.check_types(self.weights)
        self._changed: set[str] = set()
        self._ranks: dict[str, float] = {}
        self._alphas: dict[str, float] = {}

    @property
    def base(self) -> str | None:
        """Where its base was when it was trained: a path, or a name of the Hugging Face hub."""
        return self.config.get("base_model_name_or_path") or None

    def over(self, base: Weights, prefixes: Sequence[str], *, inputs_first: bool = False) -> Merged:
        """The base's tensors as the adapter changes them; prefixes: what files of its family put before names.

        inputs_first: files of its family keep matrices as (in, out); PEFT, too, goes by that and not by what
        "fan_in_fan_out" says.
        Raises AtlasError when the two do not fit each other, or when half of the adapter is missing.
        """
        theirs = {renaming.strip(name, prefixes): name for name in base}
        halves, wholes = self._sorted()
        keys = [*(f"{module}.weight" for module in halves), *wholes]
        found = {key: theirs[bare] for key in keys if (bare := renaming.strip(key, prefixes)) in theirs}
        self._refuse_others([key for key in keys if key not in found], holds_any=bool(keys))
        changes: dict[str, LowRank | Whole] = {found[key]: Whole(saved) for key, saved in wholes.items()}
        self._ranks = self._own([*halves], "rank_pattern", "r")
        self._alphas = self._own([*halves], "alpha_pattern", "lora_alpha")
        for module, sides in halves.items():
            name = found[f"{module}.weight"]
            changes[name] = self._low_rank(module, sides, base.shapes[name], inputs_first)
        self._refuse_gaps(set(changes), theirs)
        self._refuse_lost(wholes)
        self._refuse_lost_biases(set(changes), base, [found[f"{module}.weight"] for module in halves])
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

    def _low_rank(
        self, module: str, sides: Mapping[str, str], shape: tuple[int, ...], inputs_first: bool
    ) -> LowRank:
        table = "embedding_" if "embedding_A" in sides else ""  # a table of vectors is kept as (in, out)
        A, B = sides.get(f"{table}A"), sides.get(f"{table}B")
        if A is None or B is None:
            raise AtlasError(
                "{path} holds only one of the two matrices for {module}: copy the whole adapter.",
                path=str(self.path), module=module,
            )  # fmt: skip
        (rank, wide), (high, also) = self._matrix(A), self._matrix(B)
        delta, turned = (high, wide), (wide, high)
        fits = turned if (table or inputs_first) and shape == turned else delta
        if rank != also or shape != fits:
            raise AtlasError(
                "{path}: the matrices for {module} are {first} and {second} where the base has {expected}: the "
                "adapter belongs to another model.",
                path=str(self.path), module=module, first=_by(self.weights.shapes[A]),
                second=_by(self.weights.shapes[B]), expected=_by(shape),
            )  # fmt: skip
        if rank != (said := self._ranks[module]):
            raise AtlasError(
                "{path} says that the matrices for {module} have rank {said}, and they have {rank}: its settings and "
                "its matrices do not belong together.",
                path=str(self.path), module=module, said=said, rank=rank,
            )  # fmt: skip
        return LowRank(A, B, self._scale(module, rank), turned=fits is turned)

    def _matrix(self, name: str) -> tuple[int, ...]:
        shape = self.weights.shapes[name]
        return shape if len(shape) == 2 else (0, 0)

    def _scale(self, module: str, rank: int) -> float:
        """alpha / r."""
        alpha = self._alphas[module]
        return alpha / (math.sqrt(rank) if self.config.get("use_rslora") else rank)

    def _own(self, modules: Sequence[str], patterns: str, usual: str) -> dict[str, Any]:
        """A setting for each module, which may be its own: patterns match a whole name or its end."""
        own = self.config.get(patterns) or {}
        where = f'{self.path / CONFIG} ("{patterns}")'
        found = matching.first([(rf"(.*\.)?({key})", ()) for key in own], [[name] for name in modules], where)
        values = [self.config[usual], *own.values()]
        return {
            name: values[0 if match is None else 1 + match[0]]
            for name, match in zip(modules, found, strict=True)
        }

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

    def _refuse_lost(self, wholes: Iterable[str]) -> None:
        """Each module that the settings say was trained as a whole has to be there."""
        modules = [f".{bare.rpartition('.')[0]}" for bare in wholes]
        saved = self.config.get("modules_to_save") or ()
        self._refuse_lacking([key for key in saved if not any(name.endswith(f".{key}") for name in modules)])

    def _refuse_lost_biases(self, changed: set[str], base: Weights, matrices: Iterable[str]) -> None:
        """Where the settings say that biases were trained, those that the base has have to be there."""
        kind = self.config.get("bias") or "none"
        beside = {"none": (), "lora_only": matrices, "all": base}[kind]
        biases = [f"{name.removesuffix('.weight')}.bias" for name in beside if name.endswith(".weight")]
        whole = {*base} - changed
        self._refuse_lacking([name for name in biases if name in whole])

    def _refuse_lacking(self, names: list[str]) -> None:
        if names:
            raise AtlasError(
                "{path} lacks {names}, which its settings say was trained: copy the whole adapter.",
                path=str(self.path), names=renaming.listed(names),
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


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in shape) or "()"
