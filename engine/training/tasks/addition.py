"""Sums of two numbers of equally many digits: "347+785=" is to go on with "1132", or "2311" with its ones first.

Ones first, each digit needs only two digits and one carry; as written, the first digit already needs all of them.
A pair of numbers is held out in both orders.
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from engine.config import N_
from engine.tokenizers import CharacterTokenizer
from engine.training.examples import Example
from engine.training.tasks.sampled import Sampled
from engine.training.tasks.task import Kind


class Addition(Sampled):
    """Groups are the numbers of carries."""

    name: Literal["addition"] = "addition"
    title: ClassVar[str] = N_("Addition")
    summary: ClassVar[str] = N_("Two numbers are added, digit by digit.")
    kind: ClassVar[Kind] = "continue"

    digits: int = Field(default=3, ge=2, le=8, title=N_("Digits"))
    ones_first: bool = Field(default=True, title=N_("Ones first"))

    @property
    def max_source(self) -> int:
        return 2 * self.digits + 2

    @property
    def max_target(self) -> int:
        return self.digits + 1

    @cached_property
    def tokenizer(self) -> CharacterTokenizer:
        return CharacterTokenizer("0123456789+=")

    def one(self, generator: random.Random) -> tuple[str, Example]:
        first, second = (generator.randrange(10 ** (self.digits - 1), 10**self.digits) for _ in range(2))
        item = "+".join(map(str, sorted((first, second))))
        return item, self.added(first, second)

    def added(self, first: int, second: int) -> Example:
        """Each digit's answer stands in the two digits of its place; that of a last carry nowhere."""
        digits = str(first + second)
        places = [self._operands(place) for place in range(len(digits))]
        carried = sum(map(int, f"{first}{second}")) - sum(map(int, digits))  # 9 for each carry
        order = slice(None, None, -1) if self.ones_first else slice(None)
        return Example(
            source=f"{first}+{second}=",
            target=digits[order],
            alignment=tuple(places if self.ones_first else reversed(places)),
            group=str(carried // 9),
        )

    def _operands(self, place: int) -> frozenset[int]:
        """Where the two digits of a place stand in the source; place 0 is that of the ones."""
        first, second = self.digits - 1 - place, 2 * self.digits - place
        return frozenset([first, second]) if place < self.digits else frozenset()
