"""The grammar of the phrases: both languages say the same, and each word knows its counterparts."""

from __future__ import annotations

import random

import pytest

from engine.training.examples import Example
from engine.training.tasks import is_held_out
from engine.training.tasks import phrase_grammar as grammar
from engine.training.tasks.phrase_grammar import Both, pair
from engine.training.tasks.phrase_words import PLACES, THINGS, VERBS, vocabulary
from engine.training.tasks.phrases import Phrases, places

COUNT = 1000


@pytest.fixture(scope="module")
def drawn() -> list[Example]:
    return Phrases().draw(COUNT, random.Random(0))


def texts(said: Both) -> tuple[str, str]:
    return " ".join(word.text for word in said.chinese), " ".join(word.text for word in said.english)


def verb(english: str) -> grammar.Verb:
    return next(one for one in VERBS if one.base == english)


def lines(said: Both) -> list[tuple[str, str]]:
    """Each English word with the Chinese words it is linked to."""
    found = places(said.chinese, said.english)
    return [
        (word.text, " ".join(said.chinese[at].text for at in sorted(where)))
        for word, where in zip(said.english, found, strict=True)
    ]


def test_there_are_more_than_twenty_thousand_and_each_has_one_counterpart(drawn: list[Example]) -> None:
    """From 20,000 or fewer, a thousand draws would have at least 25 pairs of equals, however they are spread."""
    assert COUNT**2 / (2 * 20_000) == 25
    chinese = {example.text: example.target for example in drawn}
    english = {example.target: example.text for example in drawn}
    assert COUNT - len(chinese) < 5
    assert len(chinese) == len(english)


def test_words_are_found_again_where_nothing_parts_them() -> None:
    """Chinese is cut by the longest known word: never otherwise than the grammar joined it."""
    chance, tokenizer = random.Random(1), Phrases().tokenizer
    for _ in range(300):
        said, _ = grammar.sentence(chance)
        chinese = "".join(word.text for word in said.chinese)
        assert tokenizer.encode(chinese).labels == [word.text for word in said.chinese]
        assert len(said.chinese) <= 26 >= len(said.english)


def test_every_word_is_known_and_listed_once(drawn: list[Example]) -> None:
    tokenizer = Phrases().tokenizer
    for example in drawn[:300]:
        for text in (example.text, example.target):
            assert tokenizer.unknown_id not in tokenizer.ids(text), text
            assert tokenizer.decode(tokenizer.ids(text)) == text
    assert len(vocabulary()) == len(set(vocabulary()))


@pytest.mark.parametrize(
    ("tense", "plural", "said"),
    [("past", False, "看 了 / read"), ("habit", False, "看 / reads"), ("habit", True, "看 / read"),
     ("future", False, "看 / read")],
)  # fmt: skip
def test_verbs_by_tense_and_person(tense: str, plural: bool, said: str) -> None:
    assert " / ".join(texts(grammar.done(verb("read"), tense, plural))) == said


def test_a_verb_of_two_words_means_all_of_its_counterpart() -> None:
    assert lines(grammar.done(verb("look after"), "past", False)) == [
        ("looked", "照顾 了"),
        ("after", "照顾 了"),
    ]


@pytest.mark.parametrize(
    ("thing", "kind", "number", "chinese", "english"),
    [
        ("book", ("有趣 的", "interesting"), "一", "一 本 有趣 的 书", "an interesting book"),
        ("book", ("新", "new"), "一", "一 本 新 书", "a new book"),
        ("apple", None, "一", "一 个 苹果", "an apple"),
        ("bicycle", None, "两", "两 辆 自行车", "two bicycles"),
        ("letter", None, "这", "这 封 信", "this letter"),
        ("tea", ("热", "hot"), "一", "一 杯 热 茶", "a cup of hot tea"),
        ("water", None, "三", "三 杯 水", "three glasses of water"),
        ("noodles", None, "那", "那 碗 面条", "that bowl of noodles"),
    ],
)
def test_things_are_measured(
    thing: str, kind: tuple[str, str] | None, number: str, chinese: str, english: str
) -> None:
    said = grammar.counted(THINGS[thing], pair(*kind) if kind else Both(), number)
    assert texts(said) == (chinese, english)


@pytest.mark.parametrize(
    ("place", "chinese", "english"),
    [("家", "在 家", "at home"), ("公园 里", "在 公园 里", "in the park"), ("学校", "在 学校", "at school"),
     ("北京", "在 北京", "in Beijing")],
)  # fmt: skip
def test_places(place: str, chinese: str, english: str) -> None:
    assert place in PLACES
    assert texts(grammar.place(place)) == (chinese, english)


def test_lines_cross_and_reach_around() -> None:
    garden = grammar.place("公园 里")
    assert lines(garden) == [("in", "在 里"), ("the", ""), ("park", "公园")]
    family = grammar.by_family((), random.Random(0))
    (title, chinese_title), (_, chinese_name) = lines(family)
    assert title in ("Mr", "Mrs")
    assert texts(family)[0] == f"{chinese_name} {chinese_title}"
    with_me = grammar.around(pair("和 一起", "with"), pair("我", "me"))
    assert (texts(with_me)[0], lines(with_me)) == ("和 我 一起", [("with", "和 一起"), ("me", "我")])


def test_a_clause_stands_before_its_noun_in_chinese() -> None:
    found = {grammar.with_clause((("老师", "teacher"),), random.Random(seed)) for seed in range(60)}
    said = {texts(one): lines(one) for one in found}
    assert said["住 在 北京 的 老师", "the teacher who lives in Beijing"] == [
        ("the", ""), ("teacher", "老师"), ("who", "的"), ("lives", "住"), ("in", "在"), ("Beijing", "北京"),
    ]  # fmt: skip
    assert said["在 医院 工作 的 老师", "the teacher who works at the hospital"] == [
        ("the", ""), ("teacher", "老师"), ("who", "的"), ("works", "工作"), ("at", "在"), ("the", ""),
        ("hospital", "医院"),
    ]  # fmt: skip
    assert said["会 说 法语 的 老师", "the teacher who speaks French"][3] == ("speaks", "会 说")


def test_positions_are_those_of_tokens_in_both_directions() -> None:
    who, when = pair("老师", "teacher"), pair("昨天", "yesterday")
    does = grammar.done(verb("help"), "past", False)
    said = Both(
        who.chinese + when.chinese + does.chinese,
        grammar.THE.english + who.english + does.english + when.english,
    )
    there = Phrases(into="English").example(said, "plain")
    assert (there.source, there.target) == ("老师昨天帮助了", "the teacher helped yesterday")
    assert [set(one) for one in there.alignment] == [set(), {0}, {2, 3}, {1}]
    back = Phrases(into="Chinese").example(said, "plain")
    assert (back.source, back.target) == ("the teacher helped yesterday", "老师昨天帮助了")
    assert [set(one) for one in back.alignment] == [{1}, {3}, {2}, {2}]


def test_both_directions_hold_out_the_same_sentences() -> None:
    there, back = Phrases(into="English"), Phrases(into="Chinese")
    assert not any(is_held_out(example.target) for example in there.draw(50, random.Random(1)))
    assert not any(is_held_out(example.text) for example in back.draw(50, random.Random(1)))
    assert all(is_held_out(example.target) for example in there.suites(20)["held_out"])
    assert all(is_held_out(example.text) for example in back.suites(20)["held_out"])


def test_nobody_does_anything_to_themselves(drawn: list[Example]) -> None:
    for example in drawn:
        words = example.target.split()
        names = [word for word in words if word in ("Anna", "Paul", "Mary", "Xiaoming", "Xiaohong")]
        assert len(names) == len(set(names)), example.target
        assert not ({"I", "we"} & {words[0]} and {"me", "us"} & {*words}), example.target
        assert not (words[0] == "he" and "him" in words), example.target
        people = example.target.count(" teacher")
        assert people <= 1, example.target


def test_what_is_typed_with_capitals_or_blanks_is_read_too() -> None:
    tokenizer = Phrases().tokenizer
    assert tokenizer.ids("The teacher reads BOOKS") == tokenizer.ids("the teacher reads books")
    assert tokenizer.ids("老师 看 书") == tokenizer.ids("老师看书")
