"""What a visitor's own table teaches: the second cell of each row is the first one's translation, or its label.

A file is read when it is first needed, so that settings can be looked at without it.
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from engine.config import N_, AtlasError, Settings
from engine.tokenizers import CharacterTokenizer, WordTokenizer
from engine.training.examples import Example
from engine.training.tasks.table import Row, Table, table_of
from engine.training.tasks.task import Kind

MOST_DIFFERENT = 8_000  # tokens: each has a vector of its own
MOST_LABELS = 50
TOKENIZERS = {"words": WordTokenizer, "characters": CharacterTokenizer}


class _OwnTable(Settings):
    """What both tasks share."""

    name: str

    path: str = Field(title=N_("File"))
    heading: bool = Field(default=False, title=N_("The first row is a heading"))
    tokens: Literal["words", "characters"] = Field(default="words", title=N_("Cut into"))

    @cached_property
    def table(self) -> Table:
        """Raises AtlasError for a file that cannot be trained on."""
        return table_of(self.path, self.heading)

    @cached_property
    def tokenizer(self) -> WordTokenizer | CharacterTokenizer:
        """Knows every word, or character, of the file. Raises AtlasError where there are too many."""
        cut = TOKENIZERS[self.tokens]([]).spans
        cells = [cell for row in self.table.rows for cell in row]
        pieces = sorted({cell[start:end] for cell in cells for start, end in cut(cell)})
        if len(pieces) > MOST_DIFFERENT:
            raise AtlasError(
                "{path} has {count} different tokens, more than {limit}",
                path=self.path, count=len(pieces), limit=MOST_DIFFERENT,
            )  # fmt: skip
        return TOKENIZERS[self.tokens](pieces)

    @property
    def max_source(self) -> int:
        return self._longest[0]

    @cached_property
    def _longest(self) -> tuple[int, ...]:
        """Tokens of the longest cell of either column."""
        columns = zip(*self.table.rows, strict=True)
        return tuple(max(len(self.tokenizer.ids(cell)) for cell in column) for column in columns)

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        return [self.example(row) for row in generator.choices(self.table.training, k=count)]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        """Some of the rows held out, none of them twice: all where there are fewer than `count`."""
        rows = self.table.held_out
        chosen = random.Random(f"{self.name} {seed}").sample(rows, min(count, len(rows)))
        return {"held_out": [self.example(row) for row in chosen]}

    def example(self, row: Row) -> Example:
        raise NotImplementedError


class OwnPairs(_OwnTable):
    name: Literal["own_pairs"] = "own_pairs"
    title: ClassVar[str] = N_("Pairs of your own")
    summary: ClassVar[str] = N_("A table of your own, whose second column is to be written for the first.")
    kind: ClassVar[Kind] = "translate"

    @property
    def max_target(self) -> int:
        return self._longest[1]

    def example(self, row: Row) -> Example:
        """The target as the tokenizer writes it: between words, one blank each."""
        return Example(row[0], self.tokenizer.decode(self.tokenizer.ids(row[1])))


class OwnLabels(_OwnTable):
    name: Literal["own_labels"] = "own_labels"
    title: ClassVar[str] = N_("Labels of your own")
    summary: ClassVar[str] = N_(
        "A table of your own, whose second column tells what kind of text the first is."
    )
    kind: ClassVar[Kind] = "classify"

    @property
    def max_target(self) -> int:
        return 1

    @property
    def labels(self) -> tuple[str, ...]:
        """In the order of their characters. Raises AtlasError where there is one only, or are too many."""
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        found = tuple(sorted({label for _, label in self.table.rows}))
        if not 2 <= len(found) <= MOST_LABELS:
            raise AtlasError(
                "{path} has {count} different labels, and from 2 to {limit} can be told apart",
                path=self.path, count=len(found), limit=MOST_LABELS,
            )  # fmt: skip
        return found

    def example(self, row: Row) -> Example:
        return Example(*row, group=row[1])
