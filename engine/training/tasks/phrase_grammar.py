"""Sentences with one meaning, written in Chinese and in English at once.

    老师   昨天   在 图书馆   看 了   一 本 有趣 的 书           who, when, where, does, what
    the teacher   read   an interesting book   at the library   yesterday    who, does, what, where, when

In Chinese a clause stands before its noun: 住 在 北京 的 老师, the teacher who lives in Beijing. Words that share
a link mean each other; a word without a counterpart ("the") has none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import NamedTuple

from engine.training.tasks import phrase_words as words
from engine.training.tasks.phrase_words import Thing, Verb

Rows = Sequence[tuple[str, str]]  # Chinese, English


class Word(NamedTuple):
    text: str
    link: object = None


class Both(NamedTuple):
    """The same in Chinese and in English."""

    chinese: tuple[Word, ...] = ()
    english: tuple[Word, ...] = ()


def joined(*parts: Both) -> Both:
    return Both(chinese(parts), english(parts))


def chinese(parts: Iterable[Both]) -> tuple[Word, ...]:
    return tuple(chain.from_iterable(part.chinese for part in parts))


def english(parts: Iterable[Both]) -> tuple[Word, ...]:
    return tuple(chain.from_iterable(part.english for part in parts))


@dataclass(frozen=True)
class Subject:
    said: Both
    plural: bool = False  # for an English verb: I and you too
    pronoun: str = ""
    clause: bool = False


NOTHING = Both()
THE, OF = Both(english=(Word("the"),)), Both(english=(Word("of"),))

# The words' tables as rows, one of which is chosen.
(
    CHARACTERS, CITIES, EMPLOYERS, FAMILIES, LIKED, NAMES, OWNERS, PEOPLE, POINTING, TITLES, TONGUES,
) = (
    tuple(table.items()) for table in (
        words.CHARACTERS, words.CITIES, words.EMPLOYERS, words.FAMILIES, words.LIKED, words.NAMES, words.OWNERS,
        words.PEOPLE, words.POINTING, words.TITLES, words.TONGUES,
    )
)  # fmt: skip
TIMES = {tense: tuple(table.items()) for tense, table in words.TIMES.items()}
TENSES, SUBJECTS = tuple(TIMES), tuple(words.SUBJECTS)
COUNTS = words.NUMBERS | words.POINTING
SOME, ANY = tuple(COUNTS), ("", *COUNTS)


def pair(chinese: str, english: str) -> Both:
    """Words that mean each other: in order where there are as many, else all of them together."""
    left, right = parted(chinese), parted(english)
    if len(left) == len(right):
        links = [object() for _ in left]
        return Both(tuple(map(Word, left, links)), tuple(map(Word, right, links)))
    return together(left, right)


@cache
def parted(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def together(chinese: Sequence[str], english: Sequence[str]) -> Both:
    link = object()
    return Both(tuple(Word(one, link) for one in chinese), tuple(Word(one, link) for one in english))


def around(outside: Both, inside: Both) -> Both:
    """The first Chinese word of one before the other, the rest after it, as in 和 ... 一起; in English before it."""
    before, after = outside.chinese[:1], outside.chinese[1:]
    return Both(before + inside.chinese + after, outside.english + inside.english)


def any_of(rows: Rows, chance: random.Random) -> Both:
    return pair(*chance.choice(rows))


def sentence(chance: random.Random) -> tuple[Both, bool]:
    """Any sentence, and whether its subject has a clause. Somebody is helped, or something is done to a thing."""
    verb, tense = chance.choice(words.VERBS), chance.choice(TENSES)
    noun, other = ((row,) for row in chance.sample(PEOPLE, 2))
    who = subject(noun, chance)
    company = NOTHING
    if not verb.things:
        what = someone(other, who, chance)
    else:
        what = something(verb, tense, chance)
        if chance.random() < 0.3:
            company = around(pair("和 一起", "with"), someone(other, who, chance))
    where = place(chance.choice(verb.places)) if chance.random() < 0.6 else NOTHING
    when = any_of(TIMES[tense], chance)
    will = pair("会", "will") if tense == "future" else NOTHING
    does = done(verb, tense, who.plural)
    return Both(
        chinese((who.said, when, will, company, where, does, what)),
        english((who.said, will, does, what, company, where, when)),
    ), who.clause


# ── who ─────────────────────────────────────────────────────────────────────────────────────────────────────


def subject(noun: Rows, chance: random.Random) -> Subject:
    if chance.random() < 0.25:
        pronoun = chance.choice(SUBJECTS)
        said = pair(pronoun, words.SUBJECTS[pronoun])
        return Subject(said, plural=pronoun in words.PLURAL, pronoun=pronoun)
    if chance.random() < 0.4:
        return Subject(with_clause(noun, chance), clause=True)
    return Subject(called(noun, chance))


def someone(noun: Rows, beside: Subject, chance: random.Random) -> Both:
    """Somebody else than the subject."""
    if chance.random() < 0.25:
        same = words.FIRST_PERSON if beside.pronoun in words.FIRST_PERSON else (beside.pronoun,)
        return any_of([row for row in words.OBJECTS.items() if row[0] not in same], chance)
    other = called(noun, chance)
    while spoken(other) == spoken(beside.said):  # the same name
        other = called(noun, chance)
    return other


def spoken(said: Both) -> list[str]:
    return [word.text for word in said.english]


def called(noun: Rows, chance: random.Random) -> Both:
    return chance.choice(WAYS_TO_CALL)(noun, chance)


def known(noun: Rows, chance: random.Random) -> Both:
    return joined(THE, any_of(noun, chance))


def pointed_out(noun: Rows, chance: random.Random) -> Both:
    measure = "位" if noun[0][0] in words.PROFESSIONS else "个"
    pointing, said = chance.choice(POINTING)
    return joined(pair(f"{pointing} {measure}", said), any_of(noun, chance))


def of_somebody(noun: Rows, chance: random.Random) -> Both:
    owner, said = chance.choice(OWNERS)
    return joined(pair(f"{owner} 的", said), any_of(noun, chance))


def of_a_kind(noun: Rows, chance: random.Random) -> Both:
    return joined(THE, any_of(CHARACTERS, chance), any_of(noun, chance))


def by_name(noun: Rows, chance: random.Random) -> Both:
    return any_of(NAMES, chance)


def by_family(noun: Rows, chance: random.Random) -> Both:
    """王 先生, Mr Wang: the title stands after the name."""
    family, title = any_of(FAMILIES, chance), any_of(TITLES, chance)
    return Both(family.chinese + title.chinese, title.english + family.english)


WAYS_TO_CALL: tuple[Callable[[Rows, random.Random], Both], ...] = (
    known, pointed_out, of_somebody, of_a_kind, by_name, by_family,
)  # fmt: skip


def with_clause(noun: Rows, chance: random.Random) -> Both:
    """喜欢 音乐 的 老师, the teacher who likes music."""
    person, who = any_of(noun, chance), pair("的", "who")
    clause = chance.choice(CLAUSES)(chance)
    return Both(chinese((clause, who, person)), english((THE, person, who, clause)))


def lives(chance: random.Random) -> Both:
    return joined(pair("住 在", "lives in"), any_of(CITIES, chance))


def works(chance: random.Random) -> Both:
    """在 医院 工作, works at the hospital."""
    where, work = joined(pair("在", "at"), THE, any_of(EMPLOYERS, chance)), pair("工作", "works")
    return Both(chinese((where, work)), english((work, where)))


def likes(chance: random.Random) -> Both:
    return joined(pair("喜欢", "likes"), any_of(LIKED, chance))


def speaks(chance: random.Random) -> Both:
    return joined(pair("会 说", "speaks"), any_of(TONGUES, chance))


CLAUSES = (lives, works, likes, speaks)

# ── what, where ─────────────────────────────────────────────────────────────────────────────────────────────


def done(verb: Verb, tense: str, plural: bool) -> Both:
    if tense == "past":
        return together((verb.chinese, "了"), verb.past.split())
    return pair(verb.chinese, verb.base if tense == "future" or plural else verb.third)


def place(chinese: str) -> Both:
    """在 公园 里, in the park: 在 and 里 are one preposition."""
    preposition, *_, noun = words.PLACES[chinese].split()
    where, *inside = chinese.split()
    article = THE if " the " in words.PLACES[chinese] else NOTHING
    return around(pair(" ".join(["在", *inside]), preposition), joined(article, pair(where, noun)))


def something(verb: Verb, tense: str, chance: random.Random) -> Both:
    """Some of what the verb is done to: one or more, this or that, or, of a habit, any."""
    thing = words.THINGS[chance.choice(verb.things)]
    kind = pair(*chance.choice(verb.adjectives)) if chance.random() < 0.35 else NOTHING
    number = chance.choice(ANY if tense == "habit" else SOME)
    if not number:
        return joined(kind, pair(thing.chinese, thing.plural))
    return counted(thing, kind, number)


def counted(thing: Thing, kind: Both, number: str) -> Both:
    """两 本 书, two books; 一 杯 热 茶, a cup of hot tea."""
    count = COUNTS[number]
    many = count in ("two", "three", "four")
    if thing.containers:
        measured = pair(f"{number} {thing.measure}", f"{count} {thing.containers[many]}")
        return joined(measured, OF, kind, pair(thing.chinese, thing.plural))
    said = joined(kind, pair(thing.chinese, thing.plural if many else thing.english))
    if count == "a" and said.english[0].text[0] in "aeiou":
        count = "an"
    return joined(pair(f"{number} {thing.measure}", count), said)
