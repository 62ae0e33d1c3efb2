"""How good a trained model is: what it writes, greedily, and where its attention looks meanwhile.

Axes: batch, head, query, key. A site is one layer's attention, "decoder.layers.0.cross_attention".
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import Any

import torch
from torch import nn

from engine.capture import capture
from engine.model.transformer import Transformer
from engine.training.examples import Example
from engine.training.looks import Looks
from engine.training.objectives import objective_of
from engine.training.records import Alignment, Evaluation, Sample
from engine.training.tasks import Task, exact

TOGETHER = 500  # texts that are written in one batch: more would only take memory
WATCHED = 100  # examples whose attention is kept at a time
ALIGNED = 1000  # examples that a report measures alignment on
SAMPLES = 5  # examples that an evaluation shows


def report(model: Transformer, task: Task, count: int, seed: int = 0) -> dict[str, Any]:
    """Everything a card says of a model: each suite of the task, the held-out one by group, the alignment.

    loss, accuracy: of the held-out tokens, given the right ones before; nats a token.
    """
    suites = task.suites(count, seed)
    written = {name: write(model, task, examples) for name, examples in suites.items()}
    watched = suites["held_out"][:ALIGNED]
    looks = watch(model, task, watched)
    found = looks.alignment()
    return {
        "exact": {name: exact(suites[name], written[name]) for name in suites},
        "count": len(suites["held_out"]),
        "held_out_by_group": by_group(suites["held_out"], written["held_out"]),
        "loss": looks.loss / looks.tokens,
        "accuracy": looks.right / looks.tokens,
        "aligned_accuracy": looks.aligned_right / looks.aligned if looks.aligned else None,
        "alignment": found and alignment_for_card(found, len(watched)),
    }


def evaluate(model: Transformer, task: Task, examples: Sequence[Example]) -> Evaluation:
    """Everything a run tells of held-out examples; whether it is the best so far, only the run knows."""
    objective, looks, written = objective_of(task), watch(model, task, examples), write(model, task, examples)
    return Evaluation(
        loss=looks.loss / max(1, looks.tokens),
        accuracy=looks.right / max(1, looks.tokens),
        aligned_accuracy=looks.aligned_right / looks.aligned if looks.aligned else None,
        exact=exact(examples, written),
        alignment=looks.alignment(),
        entropy=looks.entropy(),
        samples=[
            Sample(objective.given(task, example), example.target, text)
            for example, text in zip(examples[:SAMPLES], written, strict=False)
        ],
        best=False,
    )


def write(model: Transformer, task: Task, examples: Sequence[Example]) -> list[str]:
    """What the model makes of each example by itself, always taking the likeliest."""
    written = []
    with evaluating(model):
        for some in chunks(examples, TOGETHER):
            written += objective_of(task).write(model, task, some)
    return written


def watch(model: Transformer, task: Task, examples: Sequence[Example]) -> Looks:
    """The model given the right tokens: what it expects next, and where it looks."""
    objective, looks = objective_of(task), Looks()
    device = next(model.parameters()).device
    for some in chunks(examples, WATCHED):
        batch = objective.batch(task, some, random.Random("measure")).to(device)
        places = [objective.places(task, example) for example in some]
        with evaluating(model), capture("*.weights") as trace:
            looks.add_logits(model(**batch.inputs), batch, places)
        real = objective.real(batch)
        for tap, weights in trace.items():
            site = tap.removesuffix(".weights")
            looks.add_entropy(site, weights, real.get(site.split(".")[0]))
            if fnmatch(site, objective.sites):
                looks.add_weights(site, weights, places)
    return looks


def by_group(examples: Sequence[Example], written: Sequence[str]) -> dict[str, float]:
    """Share of whole targets right in each group of the examples."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for example, text in zip(examples, written, strict=True):
        groups[example.group].append(text == example.target)
    return {group: sum(right) / len(right) for group, right in sorted(groups.items())}


def alignment_for_card(found: Alignment, count: int) -> dict[str, Any]:
    """layers: each head's share of tokens whose most attended position is a true one, and that of the heads' mean.

    masses: each head's mean weight on the true positions together.
    """
    layers = [
        {"layer": layer_of(site), "heads": shares, "mean": found.means[site], "masses": found.masses[site]}
        for site, shares in found.shares.items()
    ]
    best = {"layer": layer_of(found.site), "head": found.head, "share": found.share}
    return {"layers": layers, "best": best, "count": count}


def layer_of(site: str) -> int:
    """3 of "decoder.layers.3.cross_attention"."""
    return int(site.split(".")[2])


def chunks(examples: Sequence[Example], size: int) -> Iterator[Sequence[Example]]:
    for start in range(0, len(examples), size):
        yield examples[start : start + size]


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients inside; afterwards in whatever mode the model was."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
