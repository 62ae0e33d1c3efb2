"""What is had without looking: what guessing by frequency costs, and how spread attention is that prefers nothing.

Both are told from examples of the task, not from a model. No torch here. Lengths are in tokens.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from engine.config import TransformerConfig
from engine.training.examples import Example
from engine.training.tasks import Kind, Task

EXAMPLES = 200


@dataclass(frozen=True)
class Guessing:
    """cost: nats a token, of who knows only how frequent each label is; NaN where nobody counted.

    uniform: nats, the mean entropy of attention that gives each key in sight the same, by "encoder" (itself),
        "decoder" (itself) and "cross"; the places that are learned from count.
    longest: tokens of the longest answer that is written by the model itself, 0 where none is.
    """

    cost: float = math.nan
    uniform: dict[str, float] = field(default_factory=dict)
    longest: int = 0

    @property
    def known(self) -> bool:
        return math.isfinite(self.cost)


def guessing(task: Task, config: TransformerConfig) -> Guessing:
    """Counted over examples to train on. May raise AtlasError, where the task reads a file that is gone."""
    examples = task.draw(EXAMPLES, random.Random("guessing"))
    counts = Counter(label for example in examples for label in LABELS[task.kind](task, example))
    total = sum(counts.values())
    cost = -sum(count / total * math.log(count / total) for count in counts.values())
    uniform = {name: sum(each) / len(each) for name, each in spreads(task, config, examples).items() if each}
    longest = task.max_target + 1 if task.kind in ("translate", "continue") else 0
    return Guessing(cost, uniform, longest)


def spreads(task: Task, config: TransformerConfig, examples: list[Example]) -> dict[str, list[float]]:
    """The logarithm of the number of keys in sight, for each query that counts."""
    found: dict[str, list[float]] = {"encoder": [], "decoder": [], "cross": []}
    for example in examples:
        source, places = lengths(task, config, example)
        if config.encoder:
            found["encoder"] += [math.log(source)] * source
        if config.decoder:
            found["decoder"] += [math.log(place + 1) for place in places]
        if config.encoder and config.decoder:
            found["cross"] += [math.log(source)] * len(places)
    return found


def lengths(task: Task, config: TransformerConfig, example: Example) -> tuple[int, range]:
    """How many tokens the encoder reads, and which places of the decoder are learned from."""
    if config.patches:
        return config.patches.positions, range(0)
    ids = task.tokenizer.ids
    source, target = len(ids(example.text)), len(ids(example.target))
    places = {
        "translate": range(target + 1),
        "continue": range(source - 1, source + target),
        "language": range(target - 1),
        "tag": range(source),
    }
    return source, places.get(task.kind, range(0))


def written(task: Task, example: Example) -> Iterator[object]:
    """The target and its end."""
    yield from (*task.tokenizer.ids(example.target), "end")


def followed(task: Task, example: Example) -> Iterator[object]:
    """Every token but the first."""
    yield from task.tokenizer.ids(example.target)[1:]


def tagged(task: Task, example: Example) -> Iterator[object]:
    """The answers to tokens that have one."""
    labels = task.tokenizer.ids(example.target)
    yield from (label for label, places in zip(labels, example.alignment, strict=True) if places)


def filled(task: Task, example: Example) -> Iterator[object]:
    """Any token may be the hidden one."""
    yield from task.tokenizer.ids(example.text)


def named(task: Task, example: Example) -> Iterator[object]:
    yield example.target


LABELS = cast(
    "dict[Kind, Callable[[Task, Example], Iterator[object]]]",
    {
        "translate": written, "continue": written, "language": followed, "tag": tagged, "fill": filled,
        "classify": named,
    },
)  # fmt: skip
