"""Trained by the calendar: five rounds over a thousand texts, and nobody asked what it writes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import Field

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.copying import (
    TASK,
    Teacher,
    copier,
    copies,
    curve,
    given_the_right_ones,
    held_out,
    last,
    lesson,
    writings,
)
from engine.config import N_
from engine.training.batches import Batch
from engine.training.tasks import exact

BATCH = 64
MOST = 320  # steps, for what does not get there

Copied = Callable[[], float]


class Settings(SeededSettings):
    epochs: int = Field(default=5, ge=1, le=10, title=N_("Rounds"))
    samples: int = Field(default=1000, ge=200, le=1000, title=N_("Texts to learn from"))
    rate: float = Field(default=1e-3, ge=1e-3, le=6e-3, title=N_("Learning rate"))


def broken(
    learn: Teacher,
    batches: Sequence[Batch],
    copied: Copied,
    epochs: int,
) -> None:
    """copied: the share of held-out texts written right."""
    for _ in range(epochs):
        for batch in batches:
            learn(batch)


def mended(
    learn: Teacher,
    batches: Sequence[Batch],
    copied: Copied,
    epochs: int,
) -> None:
    """copied: the share of held-out texts written right."""
    while copied() < 0.9 and len(learn.losses) < MOST:
        for batch in batches:
            learn(batch)


@dataclass(frozen=True)
class Outcome:
    losses: Curve
    accuracy: float
    texts: list[str]


def run(settings: Settings) -> Evidence:
    examples = held_out(100)
    bad, good = (outcome(rounds, settings) for rounds in (broken, mended))
    return Evidence(
        measures=(
            Measure.of_shares(N_("Whole texts written right"), exact(examples, bad.texts), exact(examples, good.texts)),
            Measure.of_shares(N_("Tokens right, the right ones before them given"), bad.accuracy, good.accuracy),
            Measure(N_("Training steps"), len(bad.losses.at), len(good.losses.at)),
            Measure(N_("Loss of the last step"), last(bad.losses), last(good.losses), "nats"),
        ),
        panels=(
            writings(examples, bad.texts, good.texts),
            Curves(N_("loss, nats"), N_("step"), (bad.losses,), (good.losses,), log=True),
        ),
    )  # fmt: skip


def outcome(rounds: Callable[[Teacher, Sequence[Batch], Copied, int], None], settings: Settings) -> Outcome:
    """The losses, and what is written for the held-out letters afterwards."""
    model, examples = copier(settings.seed), held_out(100)
    texts = TASK.draw(settings.samples, random.Random(f"texts {settings.seed}"))
    batches = [lesson(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
    teacher = Teacher(model, rate=lambda step: settings.rate)

    def copied() -> float:
        return exact(examples, copies(model, examples))

    rounds(teacher, batches, copied, settings.epochs)
    return Outcome(curve(teacher.losses), given_the_right_ones(model, examples), copies(model, examples))


CASE = Case(
    name="five_epochs",
    symptoms=("good_loss_bad_text",),
    title=N_("Five rounds are called training"),
    happens=N_(
        "The loop ends after a fixed number of rounds, while the loss is still falling. Many letters are right by "
        "then, but a text is right only if all of its letters are, and hardly one is. The code is sound: the "
        "training has only begun."
    ),
    check=N_(
        "Look at the curve of the loss: is it level where it ends? Let the model write held-out texts, and count "
        "how many are right as a whole."
    ),
    cure=N_("End by what you want, such as whole held-out texts written right, not by the number of rounds."),
    question=Question(
        N_(
            "Of ten tokens, each is right with a probability of 0.8, independently. How many texts are right?"
        ),
        (N_("About 8 of 10"), N_("About half"), N_("About 1 of 10")),
        right=2,
        why=N_("0.8 to the power of 10 is 0.107."),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
)
