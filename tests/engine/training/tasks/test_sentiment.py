"""Praise and complaint: what decides, and that counting words does not."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from engine.training.examples import Example
from engine.training.tasks import is_held_out
from engine.training.tasks.sentiment import LABELS, TOPICS, Sentiment, group_of

OPPOSITE = {word: -1 for topic in TOPICS for word, _ in topic.aspects} | {
    word: 1 for topic in TOPICS for _, word in topic.aspects
}


@pytest.fixture(scope="module")
def drawn() -> list[Example]:
    return Sentiment().draw(3000, random.Random(0))


def judged(text: str) -> str:
    """A reader of its own: which half decides, and whether that half is turned."""
    halves = text.replace("although the", "although it").split(", it was ")
    decides = halves[1] if len(halves) == 2 else text.split(" although ")[0].split(" but ")[-1]
    said = next(word for word in decides.split() if word in OPPOSITE)
    turned = {"not", "never", "hardly"} & {*decides.split(said)[0].split()[-1:]}
    return LABELS[(OPPOSITE[said] > 0) != bool(turned)]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("the film was good", "praise"),
        ("the film was not good", "complaint"),
        ("the film was not bad and very clear", "praise"),
        ("the film was exciting but slow", "complaint"),
        ("the film was slow but exciting", "praise"),
        ("although the film was slow, it was hardly boring", "praise"),
        ("the film was hardly boring although it was slow", "praise"),
        ("the film was never exciting although it was clear", "complaint"),
    ],
)
def test_the_reader_of_this_test_reads_as_people_do(text: str, label: str) -> None:
    assert judged(text) == label


def test_every_label_is_what_a_reader_says(drawn: list[Example]) -> None:
    for example in drawn:
        assert judged(example.text) == example.target, example.source


def test_counting_words_is_right_for_46_of_100_without_an_answer_for_37_and_wrong_for_17(
    drawn: list[Example],
) -> None:
    answers = Counter()
    for example in drawn:
        count = sum(OPPOSITE.get(word, 0) for word in example.text.replace(",", "").split())
        answers["none" if count == 0 else LABELS[count > 0] == example.target] += 1
    shares = {answer: count / len(drawn) for answer, count in answers.items()}
    assert shares == pytest.approx({True: 0.46, "none": 0.37, False: 0.17}, abs=0.03)


def test_labels_and_groups_are_balanced(drawn: list[Example]) -> None:
    labels = Counter(example.target for example in drawn)
    assert labels["praise"] / len(drawn) == pytest.approx(0.5, abs=0.04)
    groups = Counter(example.group for example in drawn)
    assert groups.keys() == {"plain", "turned", "contrast", "turned contrast"}
    assert min(groups.values()) > 0.1 * len(drawn)
    assert group_of("although the soup was never stale, it was bland") == "turned contrast"


def test_held_out_sentences_are_never_drawn(drawn: list[Example]) -> None:
    assert not any(is_held_out(example.text) for example in drawn)
    assert all(is_held_out(example.text) for example in Sentiment().suites(100)["held_out"])


def test_the_longest_sentence_fits() -> None:
    task = Sentiment()
    longest = "although the film was very slow, it was never dull"
    assert len(task.tokenizer.ids(longest)) == task.max_source
    assert task.tokenizer.unknown_id not in task.tokenizer.ids(longest)
