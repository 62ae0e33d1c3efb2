"""The face of all objectives, and what they refuse alike."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from engine.config import Assembly, AtlasError, TransformerConfig
from engine.training.batches import Batch
from engine.training.examples import Example, Image
from engine.training.tasks import Task


@runtime_checkable
class Objective(Protocol):
    """One for each kind of task; has no state, so threads may share it.

    sites: a glob for the attention that shows where the model looks for an answer.
    """

    sites: str

    def check(self, config: TransformerConfig, task: Task) -> None:
        """Raises AtlasError where such a model cannot learn the task."""
        ...

    def classes(self, config: TransformerConfig) -> int:
        """How many labels there are to choose from."""
        ...

    def batch(self, task: Task, examples: Sequence[Example], chance: random.Random) -> Batch:
        """Examples as tensors, on the CPU."""
        ...

    def real(self, batch: Batch) -> dict[str, Bool[Tensor, "batch query"]]:
        """For each stack, which of its queries are worth looking at; of a stack that is not named, all."""
        ...

    def places(self, task: Task, example: Example) -> dict[int, frozenset[int]]:
        """Which query is about to write a token whose place is known, and the keys where it stands."""
        ...

    def given(self, task: Task, example: Example) -> str | Image:
        """The part of an example that `write` goes on from."""
        ...

    def write(self, model: nn.Module, task: Task, examples: Sequence[Example]) -> list[str]:
        """What the model makes of each example by itself, greedily: to be compared with its target."""
        ...


def check_fits(config: TransformerConfig, task: Task, assemblies: Sequence[Assembly], longest: int) -> None:
    """Raises AtlasError for another assembly, a model of fewer positions, and another number of tokens."""
    if config.assembly not in assemblies:
        raise AtlasError(
            "the task {task} needs a model that is {expected}, not {assembly}",
            task=task.name, expected=assemblies[0], assembly=config.assembly,
        )  # fmt: skip
    if config.max_len < longest:
        raise AtlasError(
            "the task {task} needs {longest} positions, but max_len is {max_len}",
            task=task.name, longest=longest, max_len=config.max_len,
        )  # fmt: skip
    if config.vocab_size != len(task.tokenizer):
        raise AtlasError(
            "the task {task} has {expected} tokens, but vocab_size is {vocab_size}",
            task=task.name, expected=len(task.tokenizer), vocab_size=config.vocab_size,
        )  # fmt: skip


def check_head(config: TransformerConfig, task: Task, kind: str) -> None:
    """Raises AtlasError for an encoder that does not end in such a head."""
    if config.encoder_head.kind != kind:
        raise AtlasError(
            "the task {task} needs an encoder whose head is {expected}, not {kind}",
            task=task.name, expected=kind, kind=config.encoder_head.kind,
        )  # fmt: skip


def framed(task: Task, ids: Sequence[int]) -> list[int]:
    """Between the task's begin and end."""
    begin, end = task.tokenizer.bos_id, task.tokenizer.eos_id
    assert begin is not None
    assert end is not None
    return [begin, *ids, end]


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
