"""What a small Transformer can be taught here. A task draws examples and knows where each answer stands.

Texts are counted in characters (code points), which are the tokens of every task so far. To add a task,
write one class of the shape below and name it in `TASKS`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from engine.config import AtlasError
from engine.tokenizers import CharacterTokenizer
from engine.training.dates import Dates
from engine.training.examples import Example


@runtime_checkable
class Task(Protocol):
    """What the loop needs of a task. All chance comes from the generator or seed that is passed in."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def max_source(self) -> int:
        """The longest source, in characters."""
        ...

    @property
    def max_target(self) -> int:
        """The longest target, in characters; begin and end are not counted."""
        ...

    @property
    def tokenizer(self) -> CharacterTokenizer: ...

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        """Examples to train on."""
        ...

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        """Examples never trained on, `count` of them for each thing tested; "held_out" is always there."""
        ...


TASKS: dict[str, Callable[[], Task]] = {"dates": Dates}


def task_named(name: str) -> Task:
    """The task of this name. Raises AtlasError when there is none."""
    if name not in TASKS:
        raise AtlasError("there is no task {name}, only {names}", name=repr(name), names=", ".join(TASKS))
    return TASKS[name]()


def exact(examples: Sequence[Example], written: Sequence[str]) -> float:
    """Share, 0 to 1, of examples whose whole target was written, character for character."""
    right = [text == example.target for example, text in zip(examples, written, strict=True)]
    return sum(right) / len(right)
