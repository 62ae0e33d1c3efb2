"""How dates are written, where their answers stand, and what is kept from training."""

from __future__ import annotations

import datetime
import random

import pytest

from engine.training.tasks import is_held_out
from engine.training.tasks.date_forms import LOCALES, NEVER_TRAINED, NUMERIC, Part, forms_in_words, written
from engine.training.tasks.date_habits import (
    HABITS,
    as_typed,
    ordinal,
    spaced_out,
    with_article,
    without_marks,
)
from engine.training.tasks.dates import Dates, example, plain

TUESDAY = datetime.date(2025, 6, 3)


@pytest.fixture(scope="module")
def dates() -> Dates:
    return Dates()


def text_of(parts: list[Part]) -> str:
    return "".join(part.text for part in parts)


@pytest.mark.parametrize(
    ("locale", "form", "text"),
    [
        ("fr", "full", "mardi 3 juin 2025"),
        ("de", "long", "3. Juni 2025"),
        ("en_US", "long", "June 3, 2025"),
        ("en_GB", "d 'of' MMMM y", "3 of June 2025"),
        ("pt_BR", "full", "terça-feira, 3 de junho de 2025"),
        ("es", "d 'de' MMMM 'del' y", "3 de junio del 2025"),
        ("ru", "full", "вторник, 3 июня 2025\u202fг."),  # CLDR's own narrow no-break space stays in the text
        ("zh", "full", "2025年6月3日星期二"),
        ("zh", "han full", "二〇二五年六月三日星期二"),
        ("nl", "yMMMEd", "di 3 jun 2025"),
        ("it", "dd.MM.y", "03.06.2025"),
    ],
)
def test_forms_are_those_of_the_locale(locale: str, form: str, text: str) -> None:
    assert text_of(written(TUESDAY, locale, form)) == text


@pytest.mark.parametrize(
    ("month", "day", "text"),
    [
        (10, 10, "一九九九年十月十日"),
        (11, 11, "一九九九年十一月十一日"),
        (12, 20, "一九九九年十二月二十日"),
        (1, 31, "一九九九年一月三十一日"),
    ],
)
def test_chinese_numerals(month: int, day: int, text: str) -> None:
    assert text_of(written(datetime.date(1999, month, day), "zh", "han")) == text


def test_alignment_points_at_digits_of_the_year_and_spans_of_month_and_day() -> None:
    found = plain(TUESDAY, "fr", "full")
    #  0 1 2 3 4 5 6 7 8 9 ...
    #  m a r d i   3   j u i n   2 0 2 5
    year, month, day, hyphen = [{13}, {14}, {15}, {16}], {8, 9, 10, 11}, {6}, set()
    assert found.source == "mardi 3 juin 2025"
    assert found.target == "2025-06-03"
    assert [set(places) for places in found.alignment] == [*year, hyphen, month, month, hyphen, day, day]


def test_alignment_follows_what_a_habit_inserts() -> None:
    parts = spaced_out(written(TUESDAY, "zh", "long"), "zh")
    found = example(TUESDAY, parts, "zh")
    assert found.source == "2025 年 6 月 3 日"
    assert [set(places) for places in found.alignment[:4]] == [{0}, {1}, {2}, {3}]
    assert set(found.alignment[5]) == {7}
    assert set(found.alignment[9]) == {11}


def test_held_out_days_are_a_tenth_and_never_drawn(dates: Dates) -> None:
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(days=n) for n in range(20_000)]
    assert sum(is_held_out(day.isoformat()) for day in days) / len(days) == pytest.approx(0.1, abs=0.01)
    drawn = dates.draw(500, random.Random(0))
    assert not any(is_held_out(one.target) for one in drawn)
    for suite in dates.suites(100).values():
        assert all(is_held_out(one.target) for one in suite)


def test_no_form_of_training_writes_what_was_never_trained(dates: Dates) -> None:
    for form in NEVER_TRAINED:
        for one in dates.suites(30)[f"never trained: {form}"]:
            day = datetime.date.fromisoformat(one.target)
            seen = {
                text_of(written(day, locale, trained)).lower()
                for locale in LOCALES
                for trained in (*forms_in_words(locale), *NUMERIC)
            }
            assert one.text.lower() not in seen


def test_every_locale_and_form_fits_and_has_known_characters_only(dates: Dates) -> None:
    longest = datetime.date(2999, 9, 25)  # Wednesday, the longest name in most locales
    for locale in LOCALES:
        for form in (*forms_in_words(locale), *NUMERIC):
            assert len(text_of(written(longest, locale, form))) <= dates.max_source
    for examples in (dates.draw(1000, random.Random(1)), *dates.suites(200).values()):
        for one in examples:
            assert len(one.source) <= dates.max_source
            assert dates.tokenizer.unknown_id not in dates.tokenizer.ids(one.text), one.source
            assert dates.tokenizer.decode(dates.tokenizer.ids(one.target)) == one.target


def test_what_is_typed_is_shown_and_only_looked_up_in_lower_case(dates: Dates) -> None:
    typed = "MARDI 3\u00a0Juin\u202f２０２５"
    encoding = dates.tokenizer.encode(typed)
    assert encoding.ids == dates.tokenizer.ids("mardi 3 juin 2025")
    assert "".join(typed[token.start : token.end] for token in encoding.tokens) == typed
    assert encoding.labels[:5] == list("MARDI")
    assert not encoding.problems


def test_a_letter_and_its_accent_are_one_token(dates: Dates) -> None:
    apart = "marted\u0069\u0300"
    assert dates.tokenizer.ids(apart) == dates.tokenizer.ids("martedì")
    last = dates.tokenizer.encode(apart).tokens[-1]
    assert (last.start, last.end) == (6, 8)


def test_special_tokens_are_four_different_ids_outside_the_alphabet(dates: Dates) -> None:
    tokenizer = dates.tokenizer
    specials = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unknown_id}
    assert len(specials) == 4
    assert specials.isdisjoint(tokenizer.ids("".join(tokenizer.vocabulary)))


def test_only_the_seed_decides(dates: Dates) -> None:
    random.seed(1)
    drawn, suites = dates.draw(50, random.Random(7)), dates.suites(20, seed=3)
    random.seed(2)
    assert dates.draw(50, random.Random(7)) == drawn
    assert dates.suites(20, seed=3) == suites
    assert dates.draw(50, random.Random(8)) != drawn


@pytest.mark.parametrize(
    ("day", "text"),
    [("1", "1st"), ("2", "2nd"), ("3", "3rd"), ("4", "4th"), ("11", "11th"), ("12", "12th"), ("13", "13th"),
     ("21", "21st"), ("22", "22nd"), ("23", "23rd"), ("30", "30th"), ("31", "31st"), ("03", "03")],
)  # fmt: skip
def test_english_ordinals(day: str, text: str) -> None:
    assert ordinal(day, "en_GB") == text


def test_other_ordinals_exist_for_the_first_only() -> None:
    assert [ordinal(day, "fr") for day in ("1", "2", "31")] == ["1er", "2", "31"]
    assert ordinal("1", "de") == "1"


def test_habits_leave_dates_in_digits_whole() -> None:
    parts = written(TUESDAY, "fr", "dd.MM.y")
    assert with_article(parts, "fr") == parts
    assert text_of(without_marks(written(datetime.date(2025, 8, 3), "fr", "long"), "fr")) == "3 aout 2025"


def test_every_habit_is_heard_of_now_and_then() -> None:
    generator = random.Random(0)
    typed = {text_of(as_typed(written(TUESDAY, "zh", "full"), "zh", generator)) for _ in range(300)}
    assert "2025年6月3号星期二" in typed
    assert "2025 年 6 月 3 日 星期二" in typed
    assert len(typed) > 15
    assert all(0 < probability < 1 for probability in HABITS.values())
