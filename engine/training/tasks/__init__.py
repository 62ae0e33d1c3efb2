"""What a small Transformer can be taught here, one module for each family of tasks.

task         the face of all of them, and what is kept from training
sequences    letters without a meaning: copy, reverse, sort, recall
addition     sums, digit by digit
induction    a random stretch that is repeated
dates        days in ten languages; date_forms and date_habits write them
numbers      in words or digits, in four languages; numerals spells them
phrases      Chinese and English; phrase_grammar makes the sentences, phrase_words has the words
text         Python's help or a visitor's file, gone on with or filled in; corpus holds it, cuts makes tokens of it
sentiment    praise or complaint, where single words mislead
digits       images of handwritten digits
own_tables   a visitor's pairs, or texts with labels; table checks them
text_file    reads what visitors bring

To add a task, write a class of that face and name it in `TASKS`. Screens import this package: what takes long
to import (num2words) is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.config import AtlasError
from engine.errors import shown
from engine.training.examples import Example
from engine.training.tasks.addition import Addition
from engine.training.tasks.dates import Dates
from engine.training.tasks.digits import Digits
from engine.training.tasks.induction import Induction
from engine.training.tasks.numbers import Numbers
from engine.training.tasks.own_tables import OwnLabels, OwnPairs
from engine.training.tasks.phrases import Phrases
from engine.training.tasks.sentiment import Sentiment
from engine.training.tasks.sequences import Copy, Recall, Reverse, Sort
from engine.training.tasks.task import Classification, Filling, Kind, Task, is_held_out
from engine.training.tasks.text import MaskedText, Text

__all__ = ["TASKS", "Classification", "Filling", "Kind", "Task", "exact", "is_held_out", "task_named"]

TASKS: dict[str, type[Any]] = {
    "copy": Copy,
    "reverse": Reverse,
    "sort": Sort,
    "recall": Recall,
    "addition": Addition,
    "induction": Induction,
    "dates": Dates,
    "numbers": Numbers,
    "phrases": Phrases,
    "text": Text,
    "masked_text": MaskedText,
    "sentiment": Sentiment,
    "digits": Digits,
    "own_pairs": OwnPairs,
    "own_labels": OwnLabels,
}


def task_named(name: str, **options: Any) -> Task:
    """The task of this name. Raises AtlasError when there is none, or when it has no such options."""
    if not isinstance(name, str) or name not in TASKS:
        raise AtlasError("there is no task {name}, only {names}", name=shown(name), names=", ".join(TASKS))
    return TASKS[name](**options)


def exact(examples: Sequence[Example], written: Sequence[str]) -> float:
    """Share, 0 to 1, of examples whose whole target was written, character for character."""
    right = [text == example.target for example, text in zip(examples, written, strict=True)]
    return sum(right) / len(right)
