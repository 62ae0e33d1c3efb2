"""Texts to ask a model in training: examples of its task, and a visitor's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from engine.training.examples import Example
from engine.training.objectives import objective_of
from engine.training.probe import Probe

if TYPE_CHECKING:
    from engine.training.tasks import Task

WRITING = ("translate", "continue", "language")


@runtime_checkable
class Answering(Protocol):
    """A task that can say the right answer to any source, not only to those it draws."""

    def answered(self, source: str) -> Example: ...


def probe_of(task: Task, example: Example) -> Probe:
    """An example of the task as a model reads it, its right answer given."""
    objective = objective_of(task)
    text, target = {
        "translate": lambda: (example.text, example.target),
        "continue": lambda: (example.text + example.target, None),
        "language": lambda: (example.target, None),
    }.get(task.kind, lambda: (example.text, None))()
    return Probe(text, target, objective.places(task, example), objective.sites, task.kind in WRITING)


def probe_for(task: Task, text: str, known: Mapping[str, Probe]) -> Probe:
    """A visitor's text. known: probes by their texts; else the task may know the answer itself, or nobody does."""
    if text in known:
        return known[text]
    if isinstance(task, Answering) and is_of(task, text):
        return probe_of(task, task.answered(text))
    return Probe(text, sites=objective_of(task).sites, goes_on=task.kind in WRITING)


def is_of(task: Task, text: str) -> bool:
    """Whether a text is a source that the task could have drawn, by its tokens and their number."""
    tokens = task.tokenizer.ids(text)
    shortest = getattr(task, "shortest", 1)
    return task.tokenizer.decode(tokens) == text and shortest <= len(tokens) <= task.max_source


def held_out_probes(task: Task, count: int) -> dict[str, Probe]:
    """Examples that the task keeps from training, by their texts; none where it reads images."""
    examples = task.suites(count)["held_out"]
    found = [probe_of(task, example) for example in examples if isinstance(example.source, str)]
    return {probe.text: probe for probe in found}
