"""From examples to tensors: filled up on the right to a common length, with what counts told beside.

What is real is told by length, never by an id, so a padding id that is also the end does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Bool, Float, Int
from torch import Tensor

from engine.training.examples import Example

FILLING = 0  # any id would do


@dataclass(frozen=True)
class Batch:
    """What a model reads and what is learned from it: `model(**inputs)` gives logits, (*labels.shape, class).

    labels: the right class at each place; scored: the places that count, (batch, pos), or (batch) of whole examples.
    """

    inputs: dict[str, Tensor]
    labels: Int[Tensor, "batch ..."]
    scored: Bool[Tensor, "batch ..."]

    def to(self, device: torch.device) -> Batch:
        inputs = {name: value.to(device) for name, value in self.inputs.items()}
        return Batch(inputs, self.labels.to(device), self.scored.to(device))


def divided(examples: Sequence[Example], parts: int) -> list[Sequence[Example]]:
    """Into so many parts, as equal as can be."""
    bounds = [len(examples) * part // parts for part in range(parts + 1)]
    return [examples[start:end] for start, end in pairwise(bounds)]


def padded(rows: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "batch pos"], Int[Tensor, " batch"]]:
    """Rows of ids as one tensor, and how long each row really is."""
    # numpy reads nested lists three times as fast as torch does
    longest = max(len(row) for row in rows)
    filled = [[*row, *[FILLING] * (longest - len(row))] for row in rows]
    return torch.from_numpy(np.array(filled, int)), torch.tensor([len(row) for row in rows])


def within(lengths: Int[Tensor, " batch"], longest: int) -> Bool[Tensor, "batch pos"]:
    """The places before each length."""
    return torch.arange(longest) < lengths[:, None]


def total_loss(
    logits: Float[Tensor, "scored classes"], labels: Int[Tensor, " scored"], smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Cross-entropy in nats, summed over places that count; no place costs 0.

    Smoothing gives smoothing / classes to every class, the right one included (torch's definition; Szegedy et al.
    2016). Half precision is summed in fp32.
    """
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(exact, labels, label_smoothing=smoothing, reduction="sum")
