"""How good a trained model is: what it writes, greedily, and where its cross-attention looks meanwhile.

Axes: batch, head, query (the target's tokens), key (the source's).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from engine.capture import capture
from engine.decoding import greedy, target_reader, texts
from engine.model.transformer import EncoderDecoder
from engine.tokenizers import CharacterTokenizer
from engine.training.batches import collate, padded
from engine.training.examples import Example
from engine.training.tasks import Task, exact

TOGETHER = 500  # texts in one batch: more would only take memory
ALIGNED = 1000  # examples that alignment is measured on


def report(model: EncoderDecoder, task: Task, count: int, seed: int = 0) -> dict[str, Any]:
    """Everything a card says of a model: each suite of the task, the held-out one by group, the alignment."""
    suites = task.suites(count, seed)
    written = {name: write(model, task, [example.source for example in suites[name]]) for name in suites}
    return {
        "exact": {name: exact(suites[name], written[name]) for name in suites},
        "count": count,
        "held_out_by_group": by_group(suites["held_out"], written["held_out"]),
        "alignment": alignment(model, task.tokenizer, suites["held_out"][:ALIGNED]),
    }


def write(model: EncoderDecoder, task: Task, sources: Sequence[str]) -> list[str]:
    """What the model writes for each source, always taking the likeliest token."""
    written = []
    with evaluating(model):
        for start in range(0, len(sources), TOGETHER):
            ids, lengths = padded([task.tokenizer.ids(text) for text in sources[start : start + TOGETHER]])
            begin = torch.full((len(ids), 1), task.tokenizer.bos_id)
            end = task.tokenizer.eos_id
            longest = task.max_target + 1
            reader = target_reader(model, ids, lengths)
            steps = greedy(reader, begin, max_new_tokens=longest, max_len=longest + 1, eos_id=end)
            written += [task.tokenizer.decode(row) for row in texts(steps, len(ids))]
    return written


def by_group(examples: Sequence[Example], written: Sequence[str]) -> dict[str, float]:
    """Share of whole targets right in each group of the examples."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for example, text in zip(examples, written, strict=True):
        groups[example.group].append(text == example.target)
    return {group: sum(right) / len(right) for group, right in sorted(groups.items())}


def alignment(
    model: EncoderDecoder, tokenizer: CharacterTokenizer, examples: Sequence[Example]
) -> dict[str, Any]:
    """Where cross-attention looks, the true target given token by token.

    layers: each head's share, 0 to 1, of scored target characters whose heaviest source position is a true one,
    and the same for the mean of a layer's heads. best: the head with the largest share, chosen on these very
    examples, so its share flatters a little.
    """
    batch = collate(examples, tokenizer)
    with evaluating(model), capture("decoder.layers.*.cross_attention.weights") as trace:
        model(batch.source_ids, batch.target_ids[:, :-1], batch.source_lengths)
    layers = [
        {
            "layer": layer,
            "heads": [share(weights[:, head], examples) for head in range(weights.shape[1])],
            "mean": share(weights.mean(dim=1), examples),
        }
        for layer, weights in enumerate(trace.values())
    ]
    heads = [(right, one["layer"], head) for one in layers for head, right in enumerate(one["heads"])]
    right, layer, head = max(heads)
    return {"layers": layers, "best": {"layer": layer, "head": head, "share": right}, "count": len(examples)}


def share(weights: Tensor, examples: Sequence[Example]) -> float:
    """weights (batch, query, key). Query t, which has read the target up to t, writes its character t."""
    heaviest = weights.argmax(dim=-1).tolist()
    hits = [
        heaviest[row][at] in places
        for row, example in enumerate(examples)
        for at, places in enumerate(example.alignment)
        if places
    ]
    return sum(hits) / len(hits)


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
