"""Whether a model needs what it looks at: the answers it still finds when lines to the true places are cut.

A head that looks at the right place need not be why the answer is right; this is the counter-check.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from torch import Tensor, nn

from engine.capture import capture, taps
from engine.edits import cut_lines
from engine.training.batches import Batch
from engine.training.examples import Example
from engine.training.looks import indices
from engine.training.measure import evaluating
from engine.training.objectives import objective_of
from engine.training.objectives.objective import device_of
from engine.training.probe import Places
from engine.training.tasks import Task


@dataclass(frozen=True)
class CutShares:
    """Of `count` tokens whose true place is known, the right ones before given: the share, 0 to 1, said rightly.

    whole: with every line; cut: without those to the true places; others: without as many others, drawn at random.
    """

    count: int
    whole: float
    cut: float
    others: float


def cut_shares(model: nn.Module, task: Task, examples: Sequence[Example], seed: int = 0) -> CutShares | None:
    """Lines are cut in every layer and head that should look there. None for examples without a known place."""
    objective = objective_of(task)
    true = [objective.places(task, example) for example in examples]
    rows, queries = indices(true)
    if not rows:
        return None
    batch = objective.batch(task, examples, random.Random(seed)).to(device_of(model))
    masked = [name for name in taps(model) if fnmatch(name, f"{objective.sites}.masked")]
    between = any(
        "cross" in name for name in masked
    )  # keys are then tokens of the source, else those up to the query
    chance = random.Random(seed)
    wrong = []
    for example, places in zip(examples, true, strict=True):
        source = len(task.tokenizer.ids(example.text))
        wrong.append({q: others(keys, source if between else q + 1, chance) for q, keys in places.items()})
    right = batch.labels[rows, queries]
    shares = [
        float((answers(model, batch, masked, lines)[rows, queries] == right).double().mean())
        for lines in ([], true, wrong)
    ]
    return CutShares(len(rows), *shares)


def others(keys: frozenset[int], count: int, chance: random.Random) -> frozenset[int]:
    """As many other keys of the first `count`, or all others where there are fewer."""
    rest = sorted(set(range(count)) - keys)
    return frozenset(chance.sample(rest, min(len(keys), len(rest))))


def answers(model: nn.Module, batch: Batch, masked: Sequence[str], lines: Sequence[Places]) -> Tensor:
    """(batch, pos) the likeliest token at each place, without these lines."""
    with evaluating(model), capture([], dict.fromkeys(masked, cut_lines(lines))):
        return model(**batch.inputs).argmax(-1)
