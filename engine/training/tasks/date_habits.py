"""What fingers make of a date: ordinals, dropped accents and commas, wide or stray blanks, a full stop.

A habit takes parts and their locale, and gives the parts as typed, or as they were.
"""

from __future__ import annotations

import random
from dataclasses import replace

from engine.training.tasks.date_forms import Part, without_accents

FIRST_OF_THE_MONTH = {"fr": "1er", "es": "1º", "it": "1º", "pt_BR": "1º"}
ARTICLES = {"fr": "le ", "es": "el ", "it": "il ", "de": "den "}


def as_typed(parts: list[Part], locale: str, generator: random.Random) -> list[Part]:
    """The same date with a random few of the habits."""
    for habit, probability in HABITS.items():
        if generator.random() < probability:
            parts = habit(parts, locale)
    return parts


def with_ordinal(parts: list[Part], locale: str) -> list[Part]:
    """A day as English counts it, 3rd; the first of a month where it has a form of its own, 1er."""
    if not in_words(parts):
        return parts
    return [replace(part, text=ordinal(part.text, locale)) if part.field == "day" else part for part in parts]


def ordinal(day: str, locale: str) -> str:
    if locale.startswith("en") and not day.startswith("0"):
        return day + ("th" if 10 < int(day) < 20 else {"1": "st", "2": "nd", "3": "rd"}.get(day[-1], "th"))
    return FIRST_OF_THE_MONTH.get(locale, day) if day == "1" else day


def with_article(parts: list[Part], locale: str) -> list[Part]:
    return [Part(ARTICLES.get(locale, "")), *parts] if in_words(parts) else parts


def without_marks(parts: list[Part], locale: str) -> list[Part]:
    return [replace(part, text=without_accents(part.text)) for part in parts]


def without_commas(parts: list[Part], locale: str) -> list[Part]:
    return between(parts, ",", "")


def with_wide_blanks(parts: list[Part], locale: str) -> list[Part]:
    return between(parts, " ", "  ")


def with_blank_before(parts: list[Part], locale: str) -> list[Part]:
    return [Part(" "), *parts]


def with_blank_after(parts: list[Part], locale: str) -> list[Part]:
    return [*parts, Part(" ")]


def with_full_stop(parts: list[Part], locale: str) -> list[Part]:
    return [*parts, Part("。" if locale == "zh" else ".")]


def as_spoken(parts: list[Part], locale: str) -> list[Part]:
    """6月3号 for 6月3日, in Chinese. The weekday 星期日 is one part and keeps its name."""
    return [replace(part, text="号") if part.text == "日" else part for part in parts]


def spaced_out(parts: list[Part], locale: str) -> list[Part]:
    """2025 年 6 月 3 日, in Chinese."""
    if locale != "zh":
        return parts
    return [piece for part in parts for piece in (Part(" "), replace(part, text=part.text.strip()))][1:]


def with_wide_zero(parts: list[Part], locale: str) -> list[Part]:
    """二零二五年 for 二〇二五年."""
    return [replace(part, text=part.text.replace("〇", "零")) for part in parts]


def in_words(parts: list[Part]) -> bool:
    return not any(part.field == "month" and part.text.isdigit() for part in parts)


def between(parts: list[Part], old: str, new: str) -> list[Part]:
    """Replace text between the fields, never in them."""
    return [part if part.field else replace(part, text=part.text.replace(old, new)) for part in parts]


# habit: how often
HABITS = {
    with_ordinal: 0.4,
    with_article: 0.15,
    without_marks: 0.15,
    without_commas: 0.15,
    as_spoken: 0.3,
    spaced_out: 0.2,
    with_wide_zero: 0.3,
    with_wide_blanks: 0.1,
    with_full_stop: 0.15,
    with_blank_before: 0.1,
    with_blank_after: 0.1,
}
