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
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from engine.config import TransformerConfig
from engine.training import divergence
from engine.training.adamw import AdamW
from engine.training.arithmetic import Arithmetic, device_named
from engine.training.batches import Batch, divided, total_loss
from engine.training.chance import dropping
from engine.training.details import Look
from engine.training.examples import Example
from engine.training.measure import evaluate
from engine.training.objectives import objective_of
from engine.training.records import Evaluation, State, StepRecord
from engine.training.schedules import learning_rate
from engine.training.settings import TrainingSettings
from engine.training.state import copies, finite_or_none, restore, tensors_of
from engine.training.tasks import Task
from engine.training.tuning import model_for, whole

CLIP_EPS = 1e-6  # torch adds it to the norm that it divides by; nearer than that, it multiplies by 1


def train(config: TransformerConfig, task: Task, settings: TrainingSettings) -> Training:
    """An iterator of StepRecord, one for each step of `settings`, that also holds the model.

    Raises AtlasError when the model cannot hold the task, and when this machine cannot do as the settings say.
    """
    return Training(config, task, settings)


@dataclass(frozen=True)
class Learned:
    """What one batch gave: its mean loss, how many of its tokens were right, and the norm of the gradient."""

    loss: float
    right: int
    tokens: int
    norm: Tensor


class Training(Iterator[StepRecord]):
    """A run in progress.

    step: of how many steps the model is the outcome.
    lowest: the lowest held-out loss so far, waited: how many evaluations have passed since.
    """

    def __init__(self, config: TransformerConfig, task: Task, settings: TrainingSettings) -> None:
        self.config, self.task, self.settings = config, task, settings
        self.objective = objective_of(task)
        self.objective.check(config, task)
        self.device = device_named(settings.device)
        self.arithmetic = Arithmetic(settings.precision, self.device)
        self.model = model_for(config, task.tokenizer, settings).to(self.device)
        self.forward = torch.compile(self.model, dynamic=True) if settings.compile else self.model
        self.trained = {
            name: weight for name, weight in self.model.named_parameters() if weight.requires_grad
        }
        self.optimizer = AdamW(self.trained, settings)
        self.has_dropout = any(stack.dropout for stack in config.stacks.values())
        self.step, self.first_loss = 0, 0.0
        self.lowest, self.waited = math.inf, 0

    @property
    def finished(self) -> bool:
        """Whether all steps are made, or patience has run out."""
        return self.step >= self.settings.steps or self.waited >= (self.settings.patience or math.inf)

    def __next__(self) -> StepRecord:
        """One step. Raises DivergedError, all weights as they were, instead of one that would spoil them."""
        if self.finished:
            raise StopIteration
        step = self.step + 1
        rate = learning_rate(step, self.settings, self.config.d_model)
        learned = self.learn(step)
        gradient_norm = learned.norm.item()
        first_loss = self.first_loss or learned.loss
        limit = divergence.limit(first_loss, self.objective.classes(self.config))
        divergence.refuse(step, learned.loss, gradient_norm, rate, limit)
        look = Look(self.trained) if due(step, self.settings.details_every) else None
        self.move(rate, learned.norm)
        self.step, self.first_loss = step, first_loss
        return StepRecord(
            step=step,
            loss=learned.loss,
            accuracy=learned.right / max(1, learned.tokens),
            learning_rate=rate,
            gradient_norm=gradient_norm,
            tokens=learned.tokens,
            gradient_norms=look and look.gradient_norms,
            update_ratios=look and look.update_ratios(),
            evaluation=self.judge() if self.is_judged(step) else None,
        )

    def learn(self, step: int) -> Learned:
        """The gradients of the step's batch; where fp16 overflows, made again at half the scale."""
        examples = self.task.draw(self.settings.batch_size, self.chance("data", step))
        while True:
            learned = self.gradients(examples, step)
            if learned.norm.isfinite() or not math.isfinite(learned.loss) or not self.arithmetic.halve():
                return learned

    def gradients(self, examples: Sequence[Example], step: int) -> Learned:
        """Those of the mean over all tokens that count, in however many parts the examples are read."""
        chance = self.chance("batch", step)
        batches = [
            self.objective.batch(self.task, part, chance).to(self.device)
            for part in divided(examples, self.settings.accumulate)
        ]
        tokens = sum(int(batch.scored.sum()) for batch in batches)
        if not self.model.training:  # to say so again to every module takes as long as to draw ten examples
            self.model.train()
        self.optimizer.zero_grad()
        with self.dropout(step):
            found = [self.backward(batch, max(1, tokens)) for batch in batches]
        gradients = [weight.grad for weight in self.trained.values() if weight.grad is not None]
        self.arithmetic.unscale(gradients)
        loss, right = sum(loss for loss, _ in found), sum(right for _, right in found)
        return Learned(loss, right, tokens, nn.utils.get_total_norm(gradients))

    def backward(self, batch: Batch, tokens: int) -> tuple[float, int]:
        """Adds a part's gradients; gives its share of the mean loss, and how many tokens are the likeliest."""
        with self.arithmetic.autocast():
            logits = self.forward(**batch.inputs)[batch.scored]
        labels = batch.labels[batch.scored]
        loss = total_loss(logits, labels, self.settings.label_smoothing) / tokens
        (loss * self.arithmetic.scale).backward()
        return loss.item(), int((logits.detach().argmax(-1) == labels).sum())

    def move(self, rate: float, norm: Tensor) -> None:
        """The optimizer's step, the gradient first clipped where it is longer than the limit."""
        clip = self.settings.clip
        if clip is not None and norm + CLIP_EPS > clip:
            nn.utils.clip_grads_with_norm_(self.trained.values(), clip, norm)
        self.optimizer.step(rate)
        self.arithmetic.went_well()

    def is_judged(self, step: int) -> bool:
        every = self.settings.evaluate_every
        return every is not None and (due(step, every) or step == self.settings.steps)

    def judge(self) -> Evaluation:
        """The held-out examples, and whether their loss is the lowest so far, by which early stopping goes."""
        found = evaluate(self.model, self.task, self.held_out)
        best = found.loss < self.lowest
        self.lowest, self.waited = (found.loss, 0) if best else (self.lowest, self.waited + 1)
        return replace(found, best=best)

    @cached_property
    def held_out(self) -> list[Example]:
        return self.task.suites(self.settings.evaluate_count)["held_out"]

    def chance(self, purpose: str, step: int) -> random.Random:
        """A step's generator, one for each purpose: nothing to save, nothing that order could change."""
        return random.Random(f"{purpose} {self.settings.seed} {step}")

    def dropout(self, step: int) -> AbstractContextManager[None]:
        seed = self.chance("dropout", step).getrandbits(63)
        return dropping(seed, self.device, self.settings.compile) if self.has_dropout else nullcontext()

    def weights(self) -> dict[str, Tensor]:
        """The model as trained so far: copies on the CPU, by the names that `build(config)` gives."""
        return copies(whole(self.model))

    def state(self) -> State:
        """What a later process needs to go on from here, beside config, task and settings: see `resume`."""
        values = {
            "step": self.step, "first_loss": self.first_loss,
            "lowest": finite_or_none(self.lowest), "waited": self.waited,
            "scale": self.arithmetic.scale, "good": self.arithmetic.good,
        }  # fmt: skip
        return State(tensors_of(self.model, self.optimizer), values)

    def resume(self, state: State) -> None:
        """Go on where `state` was taken, with the very steps the first run would have made."""
        restore(state.tensors, self.model, self.optimizer)
        values = state.values
        self.step, self.first_loss, self.waited = values["step"], values["first_loss"], values["waited"]
        self.lowest = math.inf if values["lowest"] is None else values["lowest"]
        self.arithmetic.scale, self.arithmetic.good = values["scale"], values["good"]


def due(step: int, every: int | None) -> bool:
    return every is not None and step % every == 0
