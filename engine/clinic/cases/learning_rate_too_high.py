"""A learning rate that Adam cannot use: the loss leaps, or settles at what guessing costs."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from pydantic import Field
from torch import nn

from engine.analysis.evidence import Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import CHANCE, Batch, Learned, decoder, learn, letters, loss_curves, norm_curves
from engine.config import N_


class Settings(SeededSettings):
    rate: float = Field(default=0.1, ge=0.03, le=3.0, title=N_("Learning rate, too high"))
    steps: int = Field(default=120, ge=60, le=300, title=N_("Training steps"))


def too_fast(model: nn.Module, batches: Iterable[Batch], rate: float) -> Learned:
    """Adam divides a gradient by its own size: each weight moves by about `rate`, however small its gradient."""
    return learn(model, batches, torch.optim.Adam(model.parameters(), lr=rate))


def measured(model: nn.Module, batches: Iterable[Batch], rate: float) -> Learned:
    """The weights of such a model are some tenths large: a step of 0.004 shifts them, one of 0.1 replaces them."""
    return learn(model, batches, torch.optim.Adam(model.parameters(), lr=0.004))


def run(settings: Settings) -> Evidence:
    models = [decoder(settings.seed) for _ in range(2)]
    broken, mended = (
        listing(model, letters(settings.seed, settings.steps), settings.rate)
        for listing, model in zip((too_fast, measured), models, strict=True)
    )
    return Evidence(
        measures=(
            Measure(N_("Loss, last ten steps"), broken.last, mended.last, "nats"),
            Measure(N_("What guessing costs"), CHANCE, CHANCE, "nats"),
            Measure(N_("Highest loss on the way"), max(broken.losses), max(mended.losses), "nats"),
        ),
        panels=(loss_curves(broken, mended), norm_curves(broken, mended)),
    )


CASE = Case(
    name="learning_rate_too_high",
    symptoms=("loss_stays",),
    title=N_("The learning rate is too high"),
    happens=N_(
        "Adam divides each gradient by its own usual size, so a weight moves by about the learning rate at every "
        "step, however small its gradient is. At 0.1 the weights of a small Transformer, some tenths large "
        "themselves, are overwritten within a few steps. Then the loss leaps, or it lies down at what guessing "
        "costs, and stays."
    ),
    check=N_(
        "Compare the loss with what guessing costs, the logarithm of the number of classes. Look at how far a step "
        "moves the weights: a thousandth of their length is usual, a tenth is far too much."
    ),
    cure=N_(
        "Divide the rate by ten until the first hundred steps bring the loss down without leaps, and warm up."
    ),
    question=Question(
        N_("The gradients are clipped to a norm of 1. Does that tame Adam at a learning rate of 0.1?"),
        (N_("Yes, the steps become small"), N_("Hardly: Adam divides by the gradient's size again")),
        right=1,
        why=N_(
            "What all gradients are multiplied by falls out again when Adam divides by their size; clipping only "
            "helps where some steps have a gradient much larger than the others."
        ),
    ),
    broken=too_fast,
    mended=measured,
    run=run,
    settings=Settings,
    source="Kingma & Ba 2015, section 2.1",
)  # fmt: skip
