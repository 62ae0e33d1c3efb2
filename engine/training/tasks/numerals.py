"""Numbers from 0 to 99,999 in words: English, French and German by num2words, Chinese by rules of our own.

A spelled number is a list of Words, each with the powers of ten whose digits it tells: "vierzig" tells the tens,
"nineteen" tens and ones; "and" and a "thousand" that follows its number tell none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

Language = Literal["en", "fr", "de", "zh"]

LIMIT = 100_000
LONGEST: dict[Language, int] = {"en": 55, "fr": 61, "de": 52, "zh": 9}  # characters (73,373 in English)

POWERS = {
    "en": {"hundred": 2, "thousand": 3},
    "fr": {"cent": 2, "mille": 3},
    "de": {"hundert": 2, "tausend": 3},
}
INSIDE = {"en": {}, "fr": {"quatre-vingt": 80}, "de": {"ein": 1}}  # written otherwise than when alone
COMPOSED = {"en": (), "fr": (17, 18, 19, 70, 90), "de": ()}  # up to 20, or tens, without a word of their own

HAN = "零一二三四五六七八九"
UNITS = ("", "十", "百", "千", "万")


@dataclass(frozen=True)
class Word:
    """A stretch of a spelled number; places are powers of ten, 0 for the ones."""

    text: str
    places: frozenset[int] = frozenset()


def spelled(number: int, language: Language) -> list[Word]:
    """The number in words of the language, blanks and hyphens included: joined they are its text."""
    if language == "zh":
        return list(_in_chinese(number))
    thousands, rest = divmod(number, 1000)
    if not thousands:
        return [*_told(rest, language)]
    joint = {"en": " and " if rest < 100 else ", ", "fr": " ", "de": ""}[language]
    return [*_told(thousands * 1000, language), *([Word(joint), *_told(rest, language)] if rest else [])]


def _in_chinese(number: int) -> Iterator[Word]:
    """一万零五, 一千零一十, 十二: 零 once for zeros between digits, and 十 alone where 一十 would begin.

    Always 二, as in arithmetic; 两 (两百, 两万) is for counting things.
    """
    digits = str(number)
    for place, digit, before in zip(reversed(range(len(digits))), digits, " " + digits, strict=False):
        if digit == "0" and number:
            continue
        if before == "0":
            yield Word(HAN[0])
        if 10 <= number < 20 and place == 1:
            yield Word(UNITS[1], frozenset([1]))
        else:
            yield Word(HAN[int(digit)], frozenset([place]))
            yield Word(UNITS[place])


@cache
def _told(number: int, language: Language) -> tuple[Word, ...]:
    """A number below 1000, or whole thousands, in the words of num2words, each with what it tells.

    Several words may tell one digit: in soixante et onze, 71, the tens are six and one more.
    """
    from num2words import num2words  # takes a moment, and other tasks do not need it

    values, powers = _values(language), POWERS[language]
    pieces = [piece for piece in re.split(_pattern(language), num2words(number, lang=language)) if piece]
    words, power = [], 0
    for index, piece in reversed([*enumerate(pieces)]):
        places: set[int] = set()
        if piece in powers:
            power = powers[piece]
            places = set() if index else {power}  # "mille" alone is one thousand
        elif piece in values:
            tens, ones = divmod(values[piece], 10)
            places = {power} if ones or not tens else set()
            places |= {power + 1} if tens else set()
        words.append(Word(piece, frozenset(places)))
    return tuple(reversed(words))


@cache
def _pattern(language: Language) -> re.Pattern[str]:
    words = sorted([*_values(language), *POWERS[language]], key=len, reverse=True)
    return re.compile(f"({'|'.join(words)})")


@cache
def _values(language: Language) -> dict[str, int]:
    """The words below a hundred that are not made of others, and what each counts."""
    from num2words import num2words

    own = [number for number in (*range(20), *range(20, 100, 10)) if number not in COMPOSED[language]]
    return INSIDE[language] | {num2words(number, lang=language): number for number in own}
