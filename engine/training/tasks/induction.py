"""A random stretch of letters, repeated: what followed the last time follows again (Olsson et al. 2022).

Nothing but the sequence itself says what comes next, and the stretch's length differs each time, so a model has
to find the letter that it has just read where it stood before, and to look one further: an induction head.
"""

from __future__ import annotations

import random
from collections import defaultdict
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from engine.config import N_, AtlasError
from engine.tokenizers import CharacterTokenizer
from engine.training.examples import Example
from engine.training.tasks.sampled import Sampled, refuse_disorder
from engine.training.tasks.sequences import LETTERS
from engine.training.tasks.task import Kind

NOWHERE: frozenset[int] = frozenset()


class Induction(Sampled):
    """unique: within a stretch all letters differ, so that what follows is never in doubt.

    Asked for is each letter that follows one of a second or later round; its answer stands wherever a letter
    follows an earlier one like the one just read. Groups are the lengths of the stretch.
    """

    name: Literal["induction"] = "induction"
    title: ClassVar[str] = N_("Induction")
    summary: ClassVar[str] = N_(
        "A random stretch of letters is repeated; what followed before follows again."
    )
    kind: ClassVar[Kind] = "language"

    shortest: int = Field(default=8, ge=4, le=128, title=N_("Shortest stretch"))
    longest: int = Field(default=24, ge=4, le=128, title=N_("Longest stretch"))
    length: int = Field(default=48, ge=8, le=256, title=N_("Letters"))
    unique: bool = Field(default=True, title=N_("All letters of a stretch differ"))

    @model_validator(mode="after")
    def _repeated(self) -> Induction:
        refuse_disorder(self.shortest, self.longest)
        if self.unique and self.longest > len(LETTERS):
            raise AtlasError(
                "{longest} letters cannot all differ where there are {symbols} different ones",
                longest=self.longest, symbols=len(LETTERS),
            )  # fmt: skip
        if self.length < self.longest + 2:
            raise AtlasError(
                "a stretch of {longest} letters is not repeated within {length}",
                longest=self.longest, length=self.length,
            )  # fmt: skip
        return self

    @property
    def max_source(self) -> int:
        return 0

    @property
    def max_target(self) -> int:
        return self.length

    @cached_property
    def tokenizer(self) -> CharacterTokenizer:
        return CharacterTokenizer(LETTERS)

    def one(self, generator: random.Random) -> tuple[str, Example]:
        period = generator.randint(self.shortest, self.longest)
        letters = generator.sample(LETTERS, period) if self.unique else generator.choices(LETTERS, k=period)
        stretch = "".join(letters)
        return stretch, self.repeated(stretch)

    def repeated(self, stretch: str) -> Example:
        target = (stretch * (self.length // len(stretch) + 1))[: self.length]
        return Example("", target, tuple(followers(target, len(stretch))), str(len(stretch)))


def followers(text: str, period: int) -> list[frozenset[int]]:
    """For each letter, where one stands that follows an earlier one like its own predecessor.

    Empty up to the first letter of the second round, which nothing announces.
    """
    places: dict[str, list[int]] = defaultdict(list)
    found = [NOWHERE] * min(period + 1, len(text))
    for at in range(1, len(text)):
        if at > period:
            found.append(frozenset(places[text[at - 1]]))
        places[text[at - 1]].append(at)
    return found
