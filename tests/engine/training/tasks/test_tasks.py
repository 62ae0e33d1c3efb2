"""What all tasks have in common, whatever they teach."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from typing import get_args

import pytest

from engine.config import AtlasError
from engine.training.examples import Example
from engine.training.tasks import TASKS, Kind, Task, exact, is_held_out, task_named
from engine.training.tasks.cuts import Pieces
from engine.training.tasks.text import MaskedText, Text

# What this family of tasks offers, with options at both ends of what they allow.
SETTINGS: list[tuple[str, dict]] = [
    ("copy", {}),
    ("copy", {"shortest": 2, "longest": 2, "symbols": 10}),
    ("copy", {"shortest": 64, "longest": 64, "symbols": 32}),
    ("reverse", {}),
    ("sort", {}),
    ("sort", {"shortest": 2, "longest": 2, "symbols": 10}),
    ("sort", {"shortest": 10, "longest": 10, "symbols": 10}),
    ("recall", {}),
    ("recall", {"back": 3, "shortest": 4, "longest": 10}),
    ("addition", {}),
    ("addition", {"ones_first": False}),
    ("addition", {"digits": 2}),
    ("addition", {"digits": 8}),
    ("induction", {}),
    ("induction", {"unique": False}),
    ("induction", {"shortest": 4, "longest": 4, "length": 8}),
    ("numbers", {}),
    ("numbers", {"languages": ["en", "fr", "de", "zh"], "into": "words"}),
    ("phrases", {}),
    ("phrases", {"into": "Chinese"}),
    ("sentiment", {}),
    ("text", {}),
    ("text", {"cut": {"by": "pieces", "vocabulary": 300}, "window": 16}),
    ("masked_text", {"window": 8}),
]

every = pytest.mark.parametrize(("name", "options"), SETTINGS, ids=str)


@every
def test_it_has_the_face_of_a_task(name: str, options: dict) -> None:
    task = task_named(name, **options)
    assert isinstance(task, Task)
    assert task.name == name
    assert task.kind in get_args(Kind)
    assert task.summary.endswith(".")


@every
def test_it_is_the_same_task_after_a_journey_as_json(name: str, options: dict) -> None:
    task = task_named(name, **options)
    again = task_named(**json.loads(task.model_dump_json()))  # pyright: ignore[reportAttributeAccessIssue]
    assert again == task
    assert again.draw(5, random.Random(3)) == task.draw(5, random.Random(3))
    assert again.tokenizer.to_json() == task.tokenizer.to_json()


@every
def test_only_the_seed_decides(name: str, options: dict) -> None:
    task = task_named(name, **options)
    random.seed(1)
    drawn, suites = task.draw(20, random.Random(7)), task.suites(20, seed=3)
    random.seed(2)
    assert task.draw(20, random.Random(7)) == drawn
    assert task.suites(20, seed=3) == suites
    assert task.draw(20, random.Random(8)) != drawn
    assert task.suites(20, seed=4) != suites


@every
def test_examples_fit_and_are_made_of_known_tokens(name: str, options: dict) -> None:
    task = task_named(name, **options)
    for example in (*task.draw(60, random.Random(0)), *task.suites(30)["held_out"]):
        source, target = task.tokenizer.ids(example.text), task.tokenizer.ids(example.target)
        assert len(source) <= task.max_source
        assert 0 < len(target) <= task.max_target
        assert task.tokenizer.unknown_id not in (*source, *target)
        assert task.tokenizer.decode(target) == example.target
        assert len(example.alignment) in (0, len(target))
        reach = len(source) if task.kind != "language" else len(target)
        assert all(0 <= at < reach for places in example.alignment for at in places)


@pytest.mark.parametrize(
    "text",
    ["", "?", "ß", "日本語", "e\u0301", "\u0301", "👩‍👩‍👧", "A B\tC\n", "<mask>", "</s>", "\x00", "a" * 300],
)
@pytest.mark.parametrize(
    "make",
    [lambda: task_named("reverse"), lambda: task_named("addition"), lambda: task_named("induction"), Text,
     lambda: Text(cut=Pieces()), MaskedText, lambda: MaskedText(cut=Pieces())],
    ids=["letters", "sums", "induction", "characters", "pieces", "masked characters", "masked pieces"],
)  # fmt: skip
def test_a_visitor_may_type_anything(make: Callable[[], Task], text: str) -> None:
    tokenizer = kept(make).tokenizer
    encoding = tokenizer.encode(text)
    assert encoding.ids == tokenizer.ids(text)
    assert all(0 <= id < len(tokenizer) for id in encoding.ids)
    assert [(token.start, token.end) for token in encoding.tokens] == list(tokenizer.spans(text))
    tokenizer.decode(encoding.ids)


_kept: dict[str, Task] = {}


def kept(make: Callable[[], Task]) -> Task:
    """One of each for all texts: pieces take a second to be found."""
    task = make()
    return _kept.setdefault(repr(task), task)


def test_every_task_is_listed_under_its_own_name() -> None:
    for name, task in TASKS.items():
        assert task.model_fields["name"].default == name


def test_a_form_can_be_made_of_every_option() -> None:
    """Each says what it is called, and between which limits a number lies."""
    for name, task in TASKS.items():
        schema = task.model_json_schema()["properties"]
        for option in task.model_fields.keys() - {"name"}:
            assert task.model_fields[option].title, (name, option)
            if schema[option].get("type") in ("integer", "number"):
                assert {"minimum", "maximum"} <= schema[option].keys(), (name, option)


def test_an_unknown_task_is_refused_by_name() -> None:
    with pytest.raises(AtlasError, match=r"^there is no task 'telepathy', only copy, reverse, sort, "):
        task_named("telepathy")


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(AtlasError, match=r"^there is no setting called backwards$"):
        task_named("copy", backwards=True)
    with pytest.raises(AtlasError, match=r"^longest must be at most 64, not 65$"):
        task_named("copy", longest=65)


def test_a_tenth_of_all_items_is_held_out() -> None:
    share = sum(is_held_out(f"{first}+{second}") for first in range(100, 300) for second in range(first, 300))
    assert share / (200 * 201 / 2) == pytest.approx(0.1, abs=0.005)
    assert [word for word in "abcdefghijklmnopqrst" if is_held_out(word)] == ["o"]


def test_exact_counts_whole_targets() -> None:
    assert exact([Example("a", "xyz"), Example("b", "xyz")], ["xyz", "xy"]) == 0.5


def test_screens_can_list_tasks_without_waiting_for_torch() -> None:
    code = "import sys, engine.training.tasks; sys.exit(bool({'torch', 'sklearn', 'num2words'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
