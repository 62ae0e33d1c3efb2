"""The dates task: a date as people write it in ten locales, to ISO form. "mardi 3 juin 2025" -> "2025-06-03".

Days run from 1000-01-01 to 2999-12-31 in the proleptic Gregorian calendar, so that all four digits of a year
have to be read. One day in ten is held out: never trained on, in any locale or form.
"""

from __future__ import annotations

import datetime
import random
from functools import cached_property
from typing import ClassVar, Literal

from engine.config import N_, Settings
from engine.tokenizers import CharacterTokenizer
from engine.training.examples import Example
from engine.training.tasks.date_forms import (
    LOCALES,
    NEVER_TRAINED,
    NUMERIC,
    Part,
    alphabet,
    forms_in_words,
    written,
)
from engine.training.tasks.date_habits import as_typed
from engine.training.tasks.task import Kind, is_held_out

FIRST, LAST = datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)


def example(day: datetime.date, parts: list[Part], locale: str) -> Example:
    """Parts with their ISO form. Each digit of the year has its place, a month or a day its whole part."""
    spans: dict[str, range] = {}
    at = 0
    for part in parts:
        spans[part.field] = range(at, at + len(part.text))
        at += len(part.text)
    places = [frozenset([at]) for at in spans["year"]]
    for field in ("month", "day"):
        places += [frozenset(), frozenset(spans[field]), frozenset(spans[field])]
    source = "".join(part.text for part in parts)
    return Example(source=source, target=day.isoformat(), alignment=tuple(places), group=locale)


class Dates(Settings):
    """See the module. Seven draws in ten name the month; four training draws in ten are carelessly typed."""

    name: Literal["dates"] = "dates"

    title: ClassVar[str] = N_("Dates")
    summary: ClassVar[str] = N_(
        "A date as people write it in ten languages, to year, month and day in digits."
    )
    kind: ClassVar[Kind] = "translate"

    @property
    def max_source(self) -> int:
        return 40

    @property
    def max_target(self) -> int:
        return 10

    @cached_property
    def tokenizer(self) -> CharacterTokenizer:
        return CharacterTokenizer(alphabet())

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        """Training days, in the forms of training."""
        return [self._one(generator, held_out=False, careless=generator.random() < 0.4) for _ in range(count)]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        """Held-out days: as Babel writes them, as people type them, and in the forms never trained on."""
        generator = random.Random(f"dates {seed}")
        suites = {
            "held_out": [self._one(generator, held_out=True, careless=False) for _ in range(count)],
            "as_typed": [self._one(generator, held_out=True, careless=True) for _ in range(count)],
        }
        for form, locales in NEVER_TRAINED.items():
            days = [random_day(generator, held_out=True) for _ in range(count)]
            suites[f"never trained: {form}"] = [plain(day, generator.choice(locales), form) for day in days]
        return suites

    def _one(self, generator: random.Random, held_out: bool, careless: bool) -> Example:
        day = random_day(generator, held_out)
        locale = generator.choice(LOCALES)
        form = generator.choice(forms_in_words(locale) if generator.random() < 0.7 else NUMERIC)
        parts = written(day, locale, form)
        typed = as_typed(parts, locale, generator) if careless else parts
        fits = sum(len(part.text) for part in typed) <= self.max_source
        return example(day, typed if fits else parts, locale)


def plain(day: datetime.date, locale: str, form: str) -> Example:
    """The example exactly as the locale's form has it."""
    return example(day, written(day, locale, form), locale)


def random_day(generator: random.Random, held_out: bool) -> datetime.date:
    while True:
        day = FIRST + datetime.timedelta(days=generator.randrange((LAST - FIRST).days + 1))
        if is_held_out(day.isoformat()) == held_out:
            return day
