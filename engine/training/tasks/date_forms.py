"""How a day is written: the forms of ten locales, with their names of months and weekdays, from Babel (CLDR).

A form is one of CLDR's lengths by name, a skeleton, a pattern, or a name of HAN_NUMERALS.
"""

from __future__ import annotations

import datetime
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache

from babel import Locale
from babel.dates import DateTimeFormat, get_date_format, tokenize_pattern

LOCALES = ("en_US", "en_GB", "de", "fr", "es", "it", "nl", "pt_BR", "ru", "zh")

# Slashes stand only where the year comes first: 6/3/2025 is June in one locale and March in another.
WORDED = ("full", "long", "medium", "dd MMM y", "d MMMM y", "yMMMEd")
NUMERIC = ("y-MM-dd", "dd.MM.y", "d.M.y", "y/MM/dd", "y/M/d")

# What one locale alone has. "han" is written 二〇二五年六月三日.
HAN_NUMERALS = {"han": "y年M月d日", "han full": "y年M月d日EEEE"}
ONLY = {
    "en_US": ("d 'of' MMMM y",),
    "en_GB": ("d 'of' MMMM y", "d MMMM, y"),
    "es": ("d 'de' MMMM 'del' y",),
    "zh": ("y年MM月dd日", *HAN_NUMERALS),
}

# Month first is trained in American English alone (the locales left out share month names with it); the year
# before a month in words, nowhere.
NEVER_TRAINED = {"MMMM d, y": ("fr", "es", "it", "pt_BR", "ru", "zh"), "y MMMM d": LOCALES}

FIELDS = {"y": "year", "M": "month", "d": "day"}
HAN = "〇一二三四五六七八九"
TYPED_ONLY = "。号零"  # what no form contains and habits put in


@dataclass(frozen=True)
class Part:
    """A stretch of a written date; field is year, month, day, or "" for whatever carries no answer."""

    text: str
    field: str = ""


def forms_in_words(locale: str) -> tuple[str, ...]:
    """The locale's trained forms that name the month (in Chinese: that use its characters)."""
    return WORDED + ONLY.get(locale, ())


def written(day: datetime.date, locale: str, form: str) -> list[Part]:
    """The day in a form of the locale, in parts."""
    fields = DateTimeFormat(day, _parsed(locale))
    parts = []
    for kind, value in _tokens(locale, form):
        if kind == "chars":
            parts.append(Part(value))
        else:
            letter, count = value
            parts.append(Part(fields[letter * count], FIELDS.get(letter, "")))
    if form in HAN_NUMERALS:
        return [replace(part, text=_han(part)) if part.field else part for part in parts]
    return parts


_parsed = lru_cache(maxsize=len(LOCALES))(Locale.parse)


@lru_cache(maxsize=256)
def _tokens(locale: str, form: str) -> list[tuple]:
    if form in ("full", "long", "medium"):
        return tokenize_pattern(get_date_format(form, locale).pattern)
    skeletons = _parsed(locale).datetime_skeletons
    return tokenize_pattern(skeletons[form].pattern if form in skeletons else HAN_NUMERALS.get(form, form))


def _han(part: Part) -> str:
    """Chinese numerals: a year digit by digit, a month or day as a number."""
    if part.field == "year":
        return "".join(HAN[int(digit)] for digit in part.text)
    tens, ones = divmod(int(part.text), 10)
    return (HAN[tens] if tens > 1 else "") + ("十" if tens else "") + (HAN[ones] if ones else "")


def without_accents(text: str) -> str:
    return "".join(mark for mark in unicodedata.normalize("NFD", text) if not unicodedata.combining(mark))


def alphabet() -> list[str]:
    """Every character a date can be made of, in the plain lower-case form that the tokenizer looks up."""
    days = [datetime.date(2025, month, month) for month in range(1, 13)]
    days += [datetime.date(2025, 6, day) for day in range(1, 8)]  # a week
    texts = [HAN, "十", "0123456789", "-/.", TYPED_ONLY]
    for locale in LOCALES:
        for form in forms_in_words(locale):
            texts += ["".join(part.text for part in written(day, locale, form)) for day in days]
    plain = unicodedata.normalize("NFKC", "".join(texts)).lower()
    return sorted(set(plain + without_accents(plain)))
