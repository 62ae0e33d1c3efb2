"""The training loop: `for record in train(config, task, settings)` makes one optimizer step a turn.

    run = train(config, task, TrainingSettings(steps=2000))
    for record in run: ...
    run.model                                    # the model, as trained so far

It never prints. Everything random follows from the seed and the number of the step, so a run repeats itself
to the bit on one machine, whatever other threads draw meanwhile. Axes: batch, pos, vocab.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float, Int
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from engine.config import AtlasError, TransformerConfig
from engine.model.build import build
from engine.model.transformer import EncoderDecoder
from engine.training.batches import collate
from engine.training.tasks import Task


class TrainingSettings(BaseModel):
    """How to train. Rates are per step, `clip` bounds the norm of the whole gradient."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: PositiveInt
    batch_size: PositiveInt = 64
    learning_rate: PositiveFloat = 3e-3
    warmup: int = Field(default=100, ge=0)
    final_rate: float = Field(default=0.05, ge=0, le=1)  # share of the learning rate left at the end
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: PositiveFloat = 1.0
    seed: int = 0


@dataclass(frozen=True)
class StepRecord:
    """One optimizer step; loss and accuracy are those of its batch before the weights moved."""

    step: int  # the first is 1
    loss: float  # nats a token, smoothing included
    accuracy: float  # share of tokens that are the likeliest, given the true ones before
    learning_rate: float  # the one this step used
    gradient_norm: float  # before clipping
    tokens: int  # target tokens learned from


def train(config: TransformerConfig, task: Task, settings: TrainingSettings) -> Training:
    """An iterator of StepRecord, one for each step of `settings`, that also holds the model.

    Raises AtlasError when the model cannot hold the task.
    """
    return Training(config, task, settings)


class Training(Iterator[StepRecord]):
    """A run in progress."""

    def __init__(self, config: TransformerConfig, task: Task, settings: TrainingSettings) -> None:
        check_room(config, task)
        self.config, self.task, self.settings = config, task, settings
        self.step = 0
        self.model = reader_and_writer(config, settings.seed)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=settings.learning_rate,
            betas=(0.9, 0.98),
            eps=1e-9,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        self.has_dropout = any(stack.dropout for stack in config.stacks.values())

    def __next__(self) -> StepRecord:
        if self.step == self.settings.steps:
            raise StopIteration
        self.step += 1
        rate = learning_rate(self.step, self.settings)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = collate(self.task.draw(self.settings.batch_size, self.chance("data")), self.task.tokenizer)
        self.model.train()
        with self.dropout():
            logits = self.model(batch.source_ids, batch.target_ids[:, :-1], batch.source_lengths)
        labels, lengths = batch.target_ids[:, 1:], batch.target_lengths - 1
        loss = sequence_loss(logits, labels, lengths, self.settings.label_smoothing)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return StepRecord(
            step=self.step,
            loss=loss.item(),
            accuracy=token_accuracy(logits, labels, lengths),
            learning_rate=rate,
            gradient_norm=norm.item(),
            tokens=int(lengths.sum()),
        )

    def chance(self, purpose: str) -> random.Random:
        """This step's generator, one for each purpose: nothing to save, nothing that order could change."""
        return random.Random(f"{purpose} {self.settings.seed} {self.step}")

    def dropout(self) -> AbstractContextManager[None]:
        return seeded(self.chance("dropout").getrandbits(63)) if self.has_dropout else nullcontext()

    def state(self) -> dict[str, Any]:
        """What a later process needs to go on from here, beside config, task and settings: see `resume`."""
        return {"step": self.step, "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def resume(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken, with the very steps the first run would have made."""
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


def check_room(config: TransformerConfig, task: Task) -> None:
    longest = max(task.max_source, task.max_target + 1)  # begin goes in, end only comes out
    if config.max_len < longest:
        raise AtlasError(
            "the task {task} needs {longest} positions, but max_len is {max_len}",
            task=task.name,
            longest=longest,
            max_len=config.max_len,
        )
    if config.vocab_size != len(task.tokenizer):
        raise AtlasError(
            "the task {task} has {expected} tokens, but vocab_size is {vocab_size}",
            task=task.name,
            expected=len(task.tokenizer),
            vocab_size=config.vocab_size,
        )


def reader_and_writer(config: TransformerConfig, seed: int) -> EncoderDecoder:
    model = build(config, seed)
    if not isinstance(model, EncoderDecoder):
        raise AtlasError(
            "every task so far needs an encoder and a decoder, not a model that is {assembly}",
            assembly=config.assembly,
        )
    return model


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """Up in a line over `warmup` steps, then down half a cosine to its final share at the last step."""
    if step <= settings.warmup:
        return settings.learning_rate * step / settings.warmup
    progress = (step - settings.warmup) / (settings.steps - settings.warmup)
    falling = 0.5 * (1 + math.cos(math.pi * progress))
    return settings.learning_rate * (settings.final_rate + (1 - settings.final_rate) * falling)


def sequence_loss(
    logits: Float[Tensor, "batch pos vocab"],
    labels: Int[Tensor, "batch pos"],
    lengths: Int[Tensor, " batch"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Cross-entropy in nats, mean over the real labels; the filling counts nothing, and only filling gives 0.

    Real is told by length, so a padding id that is also the end id does no harm. Smoothing gives
    smoothing / vocab to every token, the right one included (torch's definition; Szegedy et al. 2016).
    """
    real = real_positions(labels, lengths)
    total = F.cross_entropy(logits[real], labels[real], label_smoothing=smoothing, reduction="sum")
    return total / max(1, int(real.sum()))


def token_accuracy(logits: Tensor, labels: Tensor, lengths: Tensor) -> float:
    """Share of real labels that are the likeliest token, given all true tokens before."""
    real = real_positions(labels, lengths)
    return (logits.argmax(-1) == labels)[real].float().mean().item()


def real_positions(ids: Int[Tensor, "batch pos"], lengths: Int[Tensor, " batch"]) -> Tensor:
    return torch.arange(ids.shape[1]) < lengths[:, None]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Dropout knows only torch's global generator: seed it for a moment, then put back what was there."""
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)
