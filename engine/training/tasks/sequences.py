"""Letters without a meaning: copied, reversed, sorted, or recalled from some places back.

Lengths are drawn evenly, letters evenly from the first `symbols` of the alphabet. A source is held out by what it
reads, so that no held-out source was ever trained on.
"""

from __future__ import annotations

import random
from functools import cached_property
from string import ascii_lowercase
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from engine.config import N_, AtlasError
from engine.tokenizers import CharacterTokenizer
from engine.training.examples import Example
from engine.training.tasks.sampled import Sampled, refuse_disorder
from engine.training.tasks.task import Kind

LETTERS = ascii_lowercase + "234567"  # the 32 of RFC 4648


class Letters(Sampled):
    """Sources of `shortest` to `longest` letters; what is answered is up to the task."""

    kind: ClassVar[Kind] = "translate"

    shortest: int = Field(default=4, ge=2, le=64, title=N_("Shortest"))
    longest: int = Field(default=12, ge=2, le=64, title=N_("Longest"))
    symbols: int = Field(default=20, ge=10, le=len(LETTERS), title=N_("Different letters"))

    @model_validator(mode="after")
    def _in_order(self) -> Letters:
        refuse_disorder(self.shortest, self.longest)
        return self

    @property
    def max_source(self) -> int:
        return self.longest

    @property
    def max_target(self) -> int:
        return self.longest

    @cached_property
    def tokenizer(self) -> CharacterTokenizer:
        return CharacterTokenizer(LETTERS[: self.symbols])

    def one(self, generator: random.Random) -> tuple[str, Example]:
        source = self.letters(generator, generator.randint(self.shortest, self.longest))
        return source, self.answered(source)

    def letters(self, generator: random.Random, count: int) -> str:
        return "".join(generator.choices(LETTERS[: self.symbols], k=count))

    def answered(self, source: str) -> Example:
        raise NotImplementedError


class Copy(Letters):
    name: Literal["copy"] = "copy"
    title: ClassVar[str] = N_("Copy")
    summary: ClassVar[str] = N_("Letters are written again in their order.")

    def answered(self, source: str) -> Example:
        return _from_places(source, range(len(source)))


class Reverse(Letters):
    name: Literal["reverse"] = "reverse"
    title: ClassVar[str] = N_("Reverse")
    summary: ClassVar[str] = N_("Letters are written from the last to the first.")

    def answered(self, source: str) -> Example:
        return _from_places(source, range(len(source))[::-1])


class Sort(Letters):
    """Letters that all differ: of equal ones nobody could say which was meant."""

    name: Literal["sort"] = "sort"
    title: ClassVar[str] = N_("Sort")
    summary: ClassVar[str] = N_("Letters that all differ are written in alphabetical order.")

    @model_validator(mode="after")
    def _enough(self) -> Sort:
        if self.longest > self.symbols:
            raise AtlasError(
                "{longest} letters cannot all differ where there are {symbols} different ones",
                longest=self.longest, symbols=self.symbols,
            )  # fmt: skip
        return self

    def letters(self, generator: random.Random, count: int) -> str:
        return "".join(generator.sample(LETTERS[: self.symbols], count))

    def answered(self, source: str) -> Example:
        order = LETTERS.index
        return _from_places(source, sorted(range(len(source)), key=lambda at: order(source[at])))


class Recall(Letters):
    """At each letter the one that stood `back` places before it. Of the first ones nothing is asked."""

    name: Literal["recall"] = "recall"
    title: ClassVar[str] = N_("Recall")
    summary: ClassVar[str] = N_("At each letter the model says which one stood some places before it.")
    kind: ClassVar[Kind] = "tag"

    back: int = Field(default=2, ge=1, le=16, title=N_("Places back"))
    shortest: int = Field(default=24, ge=2, le=64, title=N_("Shortest"))
    longest: int = Field(default=24, ge=2, le=64, title=N_("Longest"))
    symbols: int = Field(default=32, ge=10, le=len(LETTERS), title=N_("Different letters"))

    @model_validator(mode="after")
    def _within(self) -> Recall:
        if self.back >= self.shortest:
            raise AtlasError(
                "nothing stands {back} places back in {shortest} letters",
                back=self.back, shortest=self.shortest,
            )  # fmt: skip
        return self

    def answered(self, source: str) -> Example:
        before = [frozenset[int]()] * self.back
        found = [frozenset([at]) for at in range(len(source) - self.back)]
        target = source[: self.back] + source[: -self.back]  # the first ones stand for nothing
        return Example(source, target, (*before, *found), str(len(source)))


def _from_places(source: str, places: list[int] | range) -> Example:
    """The letters of those places, in that order."""
    target = "".join(source[at] for at in places)
    return Example(source, target, tuple(frozenset([at]) for at in places), str(len(source)))
