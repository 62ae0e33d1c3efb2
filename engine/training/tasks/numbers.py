"""Numbers from 0 to 99,999: from words to digits, "forty-two" -> "42", or back.

One number in ten is held out, in every language. In training half of the numbers are shorter than five digits, as
those are that people try; "held_out" draws evenly from all, "short" from those below a thousand.
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from engine.config import N_, Settings
from engine.tokenizers import CharacterTokenizer
from engine.training.examples import Example
from engine.training.tasks.numerals import LIMIT, LONGEST, Language, Word, spelled
from engine.training.tasks.task import Kind, is_held_out

SHORT = 1000
LETTERS = "0123456789 ,-abcdefghijklmnopqrstuvwxyzßéöü零一二三四五六七八九十百千万"


class Numbers(Settings):
    """Groups are languages. Where there are several, digits are told which to be written in: "fr 42"."""

    name: Literal["numbers"] = "numbers"
    title: ClassVar[str] = N_("Number words")
    summary: ClassVar[str] = N_("Numbers in words are written in digits, or digits in words.")
    kind: ClassVar[Kind] = "translate"

    languages: tuple[Language, ...] = Field(default=("en",), min_length=1, title=N_("Languages"))
    into: Literal["digits", "words"] = Field(default="digits", title=N_("Written in"))

    @property
    def max_source(self) -> int:
        return self._longest_words if self.into == "digits" else len(self.tag("en")) + len(str(LIMIT - 1))

    @property
    def max_target(self) -> int:
        return len(str(LIMIT - 1)) if self.into == "digits" else self._longest_words

    @property
    def _longest_words(self) -> int:
        return max(LONGEST[language] for language in self.languages)

    @cached_property
    def tokenizer(self) -> CharacterTokenizer:
        return CharacterTokenizer(LETTERS)

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        return [
            self._one(generator, 10 ** generator.choice((1, 2, 3, 4, 5, 5, 5, 5)), False)
            for _ in range(count)
        ]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        generator = random.Random(f"numbers {seed}")
        below = {"held_out": LIMIT, "short": SHORT}
        return {
            name: [self._one(generator, limit, True) for _ in range(count)] for name, limit in below.items()
        }

    def tag(self, language: Language) -> str:
        """What tells the language that words shall be written in."""
        return f"{language} " if len(self.languages) > 1 else ""

    def example(self, number: int, language: Language) -> Example:
        words = spelled(number, language)
        text, digits = "".join(word.text for word in words), str(number)
        if self.into == "digits":
            return Example(text, digits, places_of_digits(words, len(digits)), language)
        source = self.tag(language) + digits
        return Example(source, text, places_of_letters(words, len(source)), language)

    def _one(self, generator: random.Random, limit: int, held_out: bool) -> Example:
        language = generator.choice(self.languages)
        while is_held_out(str(number := generator.randrange(limit))) != held_out:
            pass
        return self.example(number, language)


def places_of_digits(words: list[Word], count: int) -> tuple[frozenset[int], ...]:
    """For each digit the letters of all words that tell it: none for the zeros that nobody says."""
    told: list[set[int]] = [set() for _ in range(count)]
    at = 0
    for word in words:
        for place in word.places:
            told[count - 1 - place] |= {*range(at, at + len(word.text))}
        at += len(word.text)
    return tuple(map(frozenset, told))


def places_of_letters(words: list[Word], length: int) -> tuple[frozenset[int], ...]:
    """For each letter the digits that its word tells; the digits end where the source of that length does."""
    return tuple(frozenset(length - 1 - place for place in word.places) for word in words for _ in word.text)
