"""The face that every task shows to the loop, to measurements and to screens."""

from __future__ import annotations

import random
import zlib
from functools import cached_property
from typing import ClassVar, Literal, Protocol, runtime_checkable

from engine.tokenizers import Tokenizer
from engine.training.examples import Example

# What is asked of a model, and of which one:
#   translate    encoder-decoder: read the source, write the target
#   continue     decoder-only: the source is a prompt, the target follows it; only the target is learned
#   language     decoder-only: no source; every token of the target is learned
#   tag          decoder-only or encoder-only: each token of the source is answered by the target's token at the
#                same position; only where the alignment is not empty
#   fill         encoder-only with a token head: some of the source's tokens are hidden, to be found again
#   classify     encoder-only with a class head: the target is the name of a label
Kind = Literal["translate", "continue", "language", "tag", "fill", "classify"]


@runtime_checkable
class Task(Protocol):
    """A task draws examples and knows where each answer stands.

    It is a frozen class of settings (engine.config.Settings) with its options as fields, so that it travels as
    JSON and a form can be made of its schema: `task_named(**task.model_dump())` is the same task again.
    Lengths are in tokens of its tokenizer, specials not counted. All chance comes from the generator or the
    seed that is passed in.
    """

    title: ClassVar[str]  # some words for a screen, marked with N_
    summary: ClassVar[str]  # one sentence for a screen, marked with N_
    kind: ClassVar[Kind]

    @property
    def name(self) -> str: ...

    @property
    def max_source(self) -> int: ...

    @property
    def max_target(self) -> int: ...

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """It survives any text. Where images are read, it knows the names of the labels."""
        ...

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        """Examples to train on."""
        ...

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        """Examples never trained on, `count` of them for each thing tested; "held_out" is always there."""
        ...


@runtime_checkable
class Classification(Task, Protocol):
    """What a task of the kind "classify" has besides."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in the order of the model's outputs."""
        ...


@runtime_checkable
class Filling(Task, Protocol):
    """What a task of the kind "fill" has besides; its tokenizer has a mask_id."""

    @property
    def hidden_share(self) -> float:
        """How many of a text's tokens are asked for, 0 to 1."""
        ...


def is_held_out(item: str) -> bool:
    """Whether an item is kept from training: a fixed tenth of all there are, spread without pattern."""
    return zlib.crc32(item.encode()) % 10 == 0
