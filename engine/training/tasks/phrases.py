"""Sentences of a grammar of our own, from Chinese to English or back: see phrase_grammar.

Each Chinese sentence has one English sentence and the other way round. One English sentence in ten is held out. Tokens
are words in both languages: 图书馆 is "library", and a line between the two says more than three lines would.
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from engine.config import N_
from engine.tokenizers import WordTokenizer
from engine.training.examples import Example
from engine.training.tasks.phrase_grammar import Both, Word, sentence
from engine.training.tasks.phrase_words import vocabulary
from engine.training.tasks.sampled import Sampled
from engine.training.tasks.task import Kind

LONGEST = 26  # words, in either language
NOWHERE: frozenset[int] = frozenset()


class Phrases(Sampled):
    """Groups tell whether the subject has a clause, which stands on the other side of it in the other language."""

    name: Literal["phrases"] = "phrases"
    title: ClassVar[str] = N_("Chinese and English")
    summary: ClassVar[str] = N_(
        "Sentences are translated between two languages that order their words differently."
    )
    kind: ClassVar[Kind] = "translate"

    into: Literal["English", "Chinese"] = Field(default="English", title=N_("Translated into"))

    @property
    def max_source(self) -> int:
        return LONGEST

    @property
    def max_target(self) -> int:
        return LONGEST

    @cached_property
    def tokenizer(self) -> WordTokenizer:
        return WordTokenizer(vocabulary())

    def one(self, generator: random.Random) -> tuple[str, Example]:
        said, has_clause = sentence(generator)
        english = " ".join(word.text for word in said.english)
        return english, self.example(said, "clause" if has_clause else "plain")

    def example(self, said: Both, group: str) -> Example:
        chinese = "".join(word.text for word in said.chinese)
        english = " ".join(word.text for word in said.english)
        if self.into == "English":
            return Example(chinese, english, places(said.chinese, said.english), group)
        return Example(english, chinese, places(said.english, said.chinese), group)


def places(source: tuple[Word, ...], target: tuple[Word, ...]) -> tuple[frozenset[int], ...]:
    """For each word of the target where its counterparts stand in the source."""
    found: dict[object, list[int]] = {}
    for at, word in enumerate(source):
        if word.link is not None:
            found.setdefault(word.link, []).append(at)
    return tuple(frozenset(found[word.link]) if word.link in found else NOWHERE for word in target)
