"""What several cases train: a small decoder that is to say which letter stood some places before.

Letters are drawn at random, so knowing nothing costs ln 32 = 3.47 nats a letter. Axes: batch, pos, vocab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.analysis.evidence import Curve, Curves
from engine.config import N_, StackConfig, TransformerConfig
from engine.model.build import build

SYMBOLS = 32
CHANCE = math.log(SYMBOLS)  # nats
UNASKED = -100  # the label that F.cross_entropy passes over
LAST = 10  # steps whose mean stands for the end of a run

Batch = tuple[Int[Tensor, "batch pos"], Int[Tensor, "batch pos"]]  # ids, labels
Rate = Callable[[int], float]  # of a step, the first is 1


def decoder(
    seed: int, d_model: int = 32, *, symbols: int = SYMBOLS, max_len: int = 64, **stack: Any
) -> nn.Module:
    """A decoder-only model with fresh weights; `stack` is what StackConfig takes."""
    layers = StackConfig(**{"n_layers": 2, "n_heads": 2, **stack})
    config = TransformerConfig(
        vocab_size=symbols, d_model=d_model, max_len=max_len, decoder=layers, tied_embeddings=False
    )
    return build(config, seed)


def letters(seed: int, steps: int, batch: int = 32, length: int = 16, back: int = 2) -> Iterator[Batch]:
    """Batches of random letters, each with the label that stood `back` places before; the first have none."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield recall(torch.randint(SYMBOLS, (batch, length), generator=generator), back)


def recall(ids: Int[Tensor, "batch pos"], back: int) -> Batch:
    labels = ids.roll(back, dims=1)
    labels[:, :back] = UNASKED
    return ids, labels


def loss_of(logits: Float[Tensor, "batch pos vocab"], labels: Int[Tensor, "batch pos"]) -> Tensor:
    """Nats a letter, over those that are asked for."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=UNASKED)


def right(logits: Float[Tensor, "batch pos vocab"], labels: Int[Tensor, "batch pos"]) -> float:
    """Share of the asked letters that are the likeliest."""
    asked = labels != UNASKED
    return float((logits.argmax(-1) == labels)[asked].double().mean())


@dataclass(frozen=True)
class Learned:
    """Of each step the loss, nats, and the norm of the gradient before any clipping."""

    losses: list[float]
    norms: list[float]

    @property
    def last(self) -> float:
        """Mean loss of the last steps."""
        return sum(self.losses[-LAST:]) / len(self.losses[-LAST:])


def learn(
    model: nn.Module,
    batches: Iterable[Batch],
    optimizer: torch.optim.Optimizer,
    rate: Rate | None = None,
    clip: float = math.inf,
) -> Learned:
    """One step a batch. It goes on whatever the loss becomes, as a loop without a check does."""
    found = Learned([], [])
    for step, (ids, labels) in enumerate(batches, start=1):
        for group in optimizer.param_groups:
            group["lr"] = rate(step) if rate else group["lr"]
        loss = loss_of(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        found.losses.append(loss.item())
        found.norms.append(norm.item())
    return found


def over_steps(values: list[float], label: str = "") -> tuple[Curve, ...]:
    """One curve, a point a step."""
    return (Curve(np.arange(1, len(values) + 1), np.array(values), label),)


def loss_curves(broken: Learned, mended: Learned, log: bool = False) -> Curves:
    """Nats a letter, of each step."""
    return Curves(N_("loss, nats"), N_("step"), over_steps(broken.losses), over_steps(mended.losses), log)


def norm_curves(broken: Learned, mended: Learned) -> Curves:
    """Of the whole gradient at each step, before clipping."""
    return Curves(
        N_("gradient norm"), N_("step"), over_steps(broken.norms), over_steps(mended.norms), log=True
    )
