"""Letters written again: a task that a tiny Transformer learns within seconds, and how it is taught here.

The loop is a plain one, so that a case can put its listing in the place of any part. Axes: batch, pos, vocab.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float
from torch import Tensor, nn

from engine.analysis.evidence import Curve, Writing, Writings
from engine.clinic.greedy import answers
from engine.config import N_, StackConfig, TransformerConfig
from engine.model.build import build
from engine.model.transformer import EncoderDecoder
from engine.training.batches import Batch
from engine.training.examples import Example
from engine.training.objectives import objective_of
from engine.training.tasks.sequences import Copy

TASK = Copy(shortest=3, longest=8, symbols=10)
D_K = 16
RATE, WARMUP = 6e-3, 20
LETTERS_AT_MOST = TASK.longest + 4  # a model that does not stop is stopped here

Rate = Callable[[int], float]
Loss = Callable[[Float[Tensor, "batch pos vocab"], Batch], Float[Tensor, ""]]


def copier(seed: int, n_heads: int = 2) -> EncoderDecoder:
    """A fresh one: one layer reads, one writes."""
    stack = StackConfig(n_layers=1, n_heads=n_heads, d_k=D_K, d_ff=64)
    config = TransformerConfig(
        vocab_size=len(TASK.tokenizer), d_model=32, max_len=16, encoder=stack, decoder=stack,
        tied_embeddings=False, head_bias=True,
    )  # fmt: skip
    model = build(config, seed)
    assert isinstance(model, EncoderDecoder)
    return model


def lessons(steps: int, seed: int, size: int = 32) -> Iterator[Batch]:
    """So many batches, each drawn anew."""
    for step in range(steps):
        yield lesson(TASK.draw(size, random.Random(f"lesson {seed} {step}")))


def lesson(examples: Sequence[Example]) -> Batch:
    return objective_of(TASK).batch(TASK, examples, random.Random(0))  # which hides nothing at random


def every_token(logits: Float[Tensor, "batch pos vocab"], batch: Batch) -> Float[Tensor, ""]:
    """Cross-entropy in nats, the mean over letters and ends."""
    return F.cross_entropy(logits[batch.scored], batch.labels[batch.scored])


def warmed_up(step: int) -> float:
    """The learning rate of a step, the first of which is 1: constant after a short warm-up."""
    return RATE * min(1, step / WARMUP)


class Teacher:
    """Makes one step of Adam with each batch that it is given, the gradient clipped at 1, and keeps the losses."""

    def __init__(self, model: nn.Module, loss: Loss = every_token, rate: Rate = warmed_up) -> None:
        self.model, self.loss, self.rate = model, loss, rate
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), fused=True)
        self.losses: list[float] = []

    def __call__(self, batch: Batch) -> None:
        loss = self.loss(self.model(**batch.inputs), batch)
        self.losses.append(loss.item())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1)
        self.optimizer.param_groups[0]["lr"] = self.rate(len(self.losses))
        self.optimizer.step()


def teach(
    model: nn.Module, batches: Iterable[Batch], loss: Loss = every_token, rate: Rate = warmed_up
) -> Curve:
    """The loss of each step."""
    teacher = Teacher(model, loss, rate)
    for batch in batches:
        teacher(batch)
    return curve(teacher.losses)


def curve(values: Sequence[float], label: str = "") -> Curve:
    """One value for each step, the first at 1."""
    return Curve(np.arange(1, len(values) + 1), np.array(values), label)


def last(losses: Curve) -> float:
    return float(losses.values[-1])


def held_out(count: int) -> list[Example]:
    """Letters that no lesson has."""
    return TASK.suites(count)["held_out"]


@torch.no_grad()
def given_the_right_ones(model: nn.Module, examples: Sequence[Example]) -> float:
    """Share, 0 to 1, of tokens that are the likeliest after the right ones before them, ends included."""
    batch = lesson(examples)
    right = model(**batch.inputs).argmax(-1) == batch.labels
    return right[batch.scored].float().mean().item()


def copies(model: EncoderDecoder, examples: Sequence[Example]) -> list[str]:
    """What the model writes by itself."""
    return answers(model, TASK.tokenizer, [example.text for example in examples], LETTERS_AT_MOST)


def writings(examples: Sequence[Example], broken: Sequence[str], mended: Sequence[str]) -> Writings:
    """The first of them, as both models write them."""
    shown = zip(examples[:4], broken, mended, strict=False)
    return Writings(
        N_("What the model writes by itself"),
        tuple(Writing(example.text, bad, good, example.target) for example, bad, good in shown),
    )
