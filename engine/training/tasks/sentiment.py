"""What people say of a film, a meal or a place, in sentences of a grammar of our own: praise or complaint?

Words alone do not tell: "not" turns the word after it, "but" lets the second half decide, and "although" the half
without it. "exciting but slow" is a complaint, "slow but exciting" is praise. Counting good and bad words gives the
answer for 46 sentences of 100, none for 37, and a wrong one for 17; weights trained for single words are right for 64.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from engine.config import N_
from engine.tokenizers import WordTokenizer
from engine.training.examples import Example
from engine.training.tasks.sampled import Sampled
from engine.training.tasks.task import Kind

LABELS = ("complaint", "praise")
DEGREES = ("very", "really", "quite", "rather")
TURNING = ("not", "never", "hardly")

Aspect = tuple[str, str]  # words for LABELS: what one says where the other is not so


@dataclass(frozen=True)
class Topic:
    things: tuple[str, ...]
    aspects: tuple[Aspect, ...]


def _topic(things: str, aspects: str) -> Topic:
    pairs = (aspect.split("/") for aspect in aspects.split())
    return Topic(tuple(things.split()), tuple((complaint, praise) for complaint, praise in pairs))


TOPICS = (
    _topic(
        "film book concert play show story speech novel song lecture",
        "bad/good boring/exciting stupid/clever predictable/original slow/lively dull/interesting confusing/clear",
    ),
    _topic(
        "meal soup cake salad dinner pizza breakfast curry",
        "bad/good bland/delicious stale/fresh greasy/light expensive/cheap salty/healthy meagre/generous",
    ),
    _topic(
        "hotel room garden restaurant museum park beach flat",
        "ugly/nice dirty/clean noisy/quiet dark/bright unfriendly/friendly expensive/cheap crowded/peaceful",
    ),
)


class Sentiment(Sampled):
    """Groups: "plain", "turned" by a not, "contrast" of two halves, and "turned contrast"."""

    name: Literal["sentiment"] = "sentiment"
    title: ClassVar[str] = N_("Sentiment")
    summary: ClassVar[str] = N_("A sentence is praise or complaint, which single words do not tell.")
    kind: ClassVar[Kind] = "classify"

    @property
    def labels(self) -> tuple[str, ...]:
        return LABELS

    @property
    def max_source(self) -> int:
        return 11  # although the film was very slow, it was never dull

    @property
    def max_target(self) -> int:
        return 1

    @cached_property
    def tokenizer(self) -> WordTokenizer:
        rows = (row for topic in TOPICS for row in (topic.things, *topic.aspects))
        grammar = ("the", "it", "was", "and", "but", "although", ",", *DEGREES, *TURNING)
        return WordTokenizer(dict.fromkeys([*grammar, *(word for row in rows for word in row), *LABELS]))

    def one(self, generator: random.Random) -> tuple[str, Example]:
        topic, label = generator.choice(TOPICS), generator.choice((0, 1))
        aspect, another = generator.sample(topic.aspects, 2)
        thing, said = generator.choice(topic.things), half(aspect, label, generator)
        too, yet = half(another, label, generator), half(another, 1 - label, generator)
        alone, both = f"the {thing} was {said}", f"the {thing} was {said} and {too}"
        contrasts = (
            f"the {thing} was {yet} but {said}",
            f"although the {thing} was {yet}, it was {said}",
            f"the {thing} was {said} although it was {yet}",
        )
        text = generator.choice((alone, alone, both, both, *contrasts))
        return text, Example(text, LABELS[label], group=group_of(text))


def half(aspect: Aspect, label: int, generator: random.Random) -> str:
    """A word for the label, or its contrary turned."""
    if generator.random() < 0.25:
        return f"{generator.choice(TURNING)} {aspect[1 - label]}"
    degree = f"{generator.choice(DEGREES)} " if generator.random() < 0.5 else ""
    return degree + aspect[label]


def group_of(text: str) -> str:
    words = {*text.split()}
    found = {"turned": words & {*TURNING}, "contrast": words & {"but", "although"}}
    return " ".join(name for name, there in found.items() if there) or "plain"
