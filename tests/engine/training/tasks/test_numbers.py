"""How numbers are spelled in four languages, and which letters tell which digit."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from num2words import num2words

from engine.config import AtlasError
from engine.training.tasks import is_held_out
from engine.training.tasks.numbers import Numbers
from engine.training.tasks.numerals import LONGEST, Language, spelled

EVERYWHERE = ("en", "fr", "de", "zh")


def text_of(number: int, language: Language) -> str:
    return "".join(word.text for word in spelled(number, language))


def told(text: str, places: Sequence[frozenset[int]]) -> list[str]:
    """The letters of each set of places."""
    return ["".join(text[at] for at in sorted(one)) for one in places]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "零"), (5, "五"), (10, "十"), (12, "十二"), (19, "十九"), (20, "二十"), (35, "三十五"),
        (100, "一百"), (102, "一百零二"), (110, "一百一十"), (112, "一百一十二"), (200, "二百"), (650, "六百五十"),
        (1000, "一千"), (1001, "一千零一"), (1010, "一千零一十"), (1015, "一千零一十五"), (1200, "一千二百"),
        (2022, "二千零二十二"), (3408, "三千四百零八"), (10_000, "一万"), (10_005, "一万零五"),
        (10_012, "一万零一十二"), (10_300, "一万零三百"), (20_304, "二万零三百零四"),
        (50_060, "五万零六十"), (70_809, "七万零八百零九"),
        (12_000, "一万二千"), (27_341, "二万七千三百四十一"), (99_999, "九万九千九百九十九"),
    ],
)  # fmt: skip
def test_chinese(number: int, text: str) -> None:
    assert text_of(number, "zh") == text


def test_chinese_numbers_all_differ_and_are_read_back() -> None:
    for number in (*range(200), *range(200, 100_000, 97)):
        assert read(text_of(number, "zh")) == number


def read(text: str) -> int:
    """A reader of its own: each digit times the unit after it, 零 is silent, a lone 十 is ten."""
    units = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
    total = digit = 0
    for character in text:
        if character in units:
            total += (digit or 1) * units[character]
            digit = 0
        else:
            digit = "零一二三四五六七八九".index(character)
    return total + digit


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_the_others_are_written_as_num2words_writes_them(language: Language) -> None:
    special = [
        0,
        1,
        10,
        21,
        71,
        80,
        81,
        91,
        100,
        101,
        180,
        200,
        1000,
        1001,
        1080,
        1100,
        2000,
        80_000,
        80_080,
        99_999,
    ]
    for number in (*special, *random.Random(0).sample(range(100_000), 300)):
        assert text_of(number, language) == num2words(number, lang=language)


@pytest.mark.parametrize("language", EVERYWHERE)
def test_every_digit_but_a_silent_zero_is_told_by_some_word(language: Language) -> None:
    for number in (*range(1000), *range(1000, 100_000, 397)):
        places = set().union(*(word.places for word in spelled(number, language)))
        digits = reversed(str(number))
        assert places == {place for place, digit in enumerate(digits) if digit != "0" or number == 0}


@pytest.mark.parametrize(
    ("language", "number", "words"),
    [
        ("en", 27_341, ["twenty", "seven", "three", "forty", "one"]),
        ("en", 70_013, ["seventy", "", "", "thirteen", "thirteen"]),
        ("en", 1_500, ["one", "five", "", ""]),
        ("fr", 71, ["soixanteonze", "onze"]),  # sixty and eleven
        ("fr", 97, ["quatre-vingtdix", "sept"]),
        ("fr", 1_181, ["mille", "cent", "quatre-vingt", "un"]),
        ("de", 21_743, ["zwanzig", "ein", "sieben", "vierzig", "drei"]),
        ("zh", 12, ["十", "二"]),
        ("zh", 10_305, ["一", "", "三", "", "五"]),
        ("en", 0, ["zero"]),
    ],
)
def test_digits_stand_in_the_words_that_tell_them(language: Language, number: int, words: list[str]) -> None:
    found = Numbers(languages=(language,)).example(number, language)
    assert found.target == str(number)
    assert told(found.text, found.alignment) == words


def test_words_stand_in_the_digits_they_tell() -> None:
    found = Numbers(languages=("en", "fr"), into="words").example(71, "fr")
    assert (found.source, found.target, found.group) == ("fr 71", "soixante et onze", "fr")
    silent, seven, both = [set()], [{3}], [{3, 4}]
    assert [set(places) for places in found.alignment] == [*seven * 8, *silent * 4, *both * 4]


def test_one_language_needs_no_tag() -> None:
    assert Numbers(languages=("de",), into="words").example(3, "de").source == "3"


def test_held_out_numbers_are_never_drawn() -> None:
    task = Numbers(languages=EVERYWHERE)
    drawn = {example.target for example in task.draw(800, random.Random(0))}
    assert not any(map(is_held_out, drawn))
    suites = task.suites(60)
    assert all(is_held_out(example.target) for suite in suites.values() for example in suite)
    assert max(int(example.target) for example in suites["short"]) < 1000
    assert sum(len(target) == 5 for target in drawn) < 0.75 * len(drawn)
    assert {example.group for example in suites["held_out"]} == set(EVERYWHERE)


@pytest.mark.parametrize("language", EVERYWHERE)
def test_the_longest_fits(language: Language) -> None:
    thousands = [text_of(number * 1000, language) for number in range(100)]
    longest = max(max(map(len, thousands)) + len(text_of(number, language)) for number in range(1000))
    joint = {"en": 2, "fr": 1, "de": 0, "zh": 0}[language]
    assert longest + joint == LONGEST[language] == Numbers(languages=(language,)).max_source
    assert Numbers(languages=(language,), into="words").max_target == LONGEST[language]


def test_some_language_is_needed() -> None:
    with pytest.raises(AtlasError, match=r"languages must hold at least 1, not \(\)"):
        Numbers(languages=())
