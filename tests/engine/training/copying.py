"""A task that a tiny model learns in seconds: say the letters again."""

from __future__ import annotations

import random
from functools import cached_property
from typing import ClassVar

from engine.config import StackConfig, TransformerConfig
from engine.tokenizers import CharacterTokenizer, Tokenizer
from engine.training.examples import Example
from engine.training.tasks import Kind


class Copying:
    name = "copying"
    title: ClassVar[str] = "Copying"
    summary: ClassVar[str] = "Letters, said again."
    kind: ClassVar[Kind] = "translate"
    max_source = 5
    max_target = 5

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return CharacterTokenizer("abcdef")

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        return [again("".join(generator.choices("abcdef", k=generator.randint(2, 5)))) for _ in range(count)]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        return {"held_out": self.draw(count, random.Random(f"held out {seed}"))}


def again(text: str) -> Example:
    return Example(text, text, tuple(frozenset([at]) for at in range(len(text))), group=str(len(text)))


def small(task: Copying, dropout: float = 0.0) -> TransformerConfig:
    stack = StackConfig(n_layers=1, n_heads=2, d_ff=64, dropout=dropout)
    return TransformerConfig(
        vocab_size=len(task.tokenizer), d_model=32, max_len=8, encoder=stack, decoder=stack
    )
