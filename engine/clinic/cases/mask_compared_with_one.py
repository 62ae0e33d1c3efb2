"""A causal mask of zeros and minus infinities, asked where it is 1: nowhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import QUERIES_AND_KEYS, Curve, Curves, Evidence, Grid, Measure
from engine.capture import as_numpy
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.copying import (
    copier,
    copies,
    given_the_right_ones,
    held_out,
    last,
    lesson,
    lessons,
    teach,
    writings,
)
from engine.clinic.in_place import weighed_by
from engine.config import N_
from engine.training.tasks import exact


class Settings(SeededSettings):
    steps: int = Field(default=150, ge=50, le=300, title=N_("Training steps"))


def broken(scores: Tensor) -> Tensor:
    """scores (batch, head, query, key): hide the future."""
    full = torch.full_like(scores, -math.inf)
    mask = torch.triu(full, diagonal=1)
    return scores.masked_fill(mask == 1, -math.inf).softmax(-1)


def mended(scores: Tensor) -> Tensor:
    """scores (batch, head, query, key): hide the future."""
    full = torch.ones_like(scores)
    mask = torch.triu(full, diagonal=1)
    return scores.masked_fill(mask == 1, -math.inf).softmax(-1)


@dataclass(frozen=True)
class Outcome:
    """weights: the decoder's own, of the first example, the mean of its heads, (query, key)."""

    losses: Curve
    accuracy: float
    texts: list[str]
    weights: np.ndarray


def run(settings: Settings) -> Evidence:
    examples = held_out(200)
    bad, good = (outcome(weigh, settings) for weigh in (broken, mended))
    shown = ("<s>", *examples[0].target)
    future = np.triu(np.ones((len(shown), len(shown)), bool), 1)
    return Evidence(
        measures=(
            Measure.of_shares(N_("Whole texts written right"), exact(examples, bad.texts), exact(examples, good.texts)),
            Measure.of_shares(N_("Tokens right, the right ones before them given"), bad.accuracy, good.accuracy),
            Measure(N_("Loss of the last step"), last(bad.losses), last(good.losses), "nats"),
            Measure(N_("Weight on the future"), seen(bad, future), seen(good, future)),
        ),
        panels=(
            writings(examples, bad.texts, good.texts),
            Grid(N_("weights"), shown, shown, bad.weights, good.weights, future, future, QUERIES_AND_KEYS),
            Curves(N_("loss, nats"), N_("step"), (bad.losses,), (good.losses,), log=True),
        ),
    )  # fmt: skip


def outcome(weigh: Callable[[Tensor], Tensor], settings: Settings) -> Outcome:
    """A copier that is taught, judged and asked to write with this listing in its decoder."""
    model, examples = copier(settings.seed), held_out(200)
    with weighed_by(model, "decoder.*.self_attention", weigh) as trace:
        losses = teach(model, lessons(settings.steps, settings.seed))
        texts = copies(model, examples)
        accuracy = given_the_right_ones(model, examples)
        model(**lesson(examples[:1]).inputs)
    weights = as_numpy(trace["decoder.layers.0.self_attention.weights"])[0].mean(0)
    return Outcome(losses, accuracy, texts, weights)


def seen(outcome: Outcome, future: np.ndarray) -> float:
    """The mean over all queries of the weight that goes to later places."""
    return float((outcome.weights * future).sum(-1).mean())


CASE = Case(
    name="mask_compared_with_one",
    symptoms=("good_loss_bad_text",),
    title=N_("The causal mask hides nothing"),
    happens=N_(
        "The mask holds 0 and minus infinity, and is asked where it equals 1: nowhere. In training each place "
        "reads its own answer one place to the right, so the loss is excellent. When the model writes by itself, "
        "that place is still empty."
    ),
    check=N_(
        "Change the last token of a text: no output before it may change. Or add up the weights above the diagonal."
    ),
    cure=N_("Build the mask of ones, or keep it boolean, so that the question fits what the mask holds."),
    question=Question(
        N_("Which of these would have shown the mistake?"),
        (
            N_("The loss on held-out texts"),
            N_("Letting the model write, without the right tokens before"),
            N_("More training steps"),
        ),
        right=1,
        why=N_(
            "Held-out texts are read with their right answers as well, and every place looks ahead there too. Only "
            "writing takes the future away."
        ),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="Vaswani et al. 2017, 3.2.3",
)
