"""Padding and end share an id, and that id is ignored by the loss: nobody ever learns to stop."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from pydantic import Field
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.copying import (
    LETTERS_AT_MOST,
    TASK,
    copier,
    copies,
    held_out,
    last,
    lessons,
    teach,
    writings,
)
from engine.config import N_
from engine.training.batches import Batch
from engine.training.tasks import exact

PAD, END = TASK.tokenizer.pad_id, TASK.tokenizer.eos_id


class Settings(SeededSettings):
    steps: int = Field(default=150, ge=50, le=300, title=N_("Training steps"))


def broken(logits: Tensor, rows: list[Tensor]) -> Tensor:
    """logits (batch, pos, vocab); rows: ids, the end the last."""
    ids = pad_sequence(rows, batch_first=True, padding_value=END)
    logits = logits.transpose(1, 2)
    return F.cross_entropy(logits, ids, ignore_index=END)


def mended(logits: Tensor, rows: list[Tensor]) -> Tensor:
    """logits (batch, pos, vocab); rows: ids, the end the last."""
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD)
    logits = logits.transpose(1, 2)
    return F.cross_entropy(logits, ids, ignore_index=PAD)


def run(settings: Settings) -> Evidence:
    examples = held_out(200)
    targets = [example.target for example in examples]
    (bad_losses, bad), (good_losses, good) = (outcome(loss, settings) for loss in (broken, mended))
    return Evidence(
        measures=(
            Measure.of_shares(N_("Texts that end by themselves"), ended(bad), ended(good)),
            Measure.of_shares(N_("Whole texts written right"), exact(examples, bad), exact(examples, good)),
            Measure.of_shares(N_("Texts that begin right"), begun(bad, targets), begun(good, targets)),
            Measure(N_("Loss of the last step"), last(bad_losses), last(good_losses), "nats"),
        ),
        panels=(
            writings(examples, bad, good),
            Curves(N_("loss, nats"), N_("step"), (bad_losses,), (good_losses,), log=True),
        ),
    )  # fmt: skip


def outcome(loss: Callable[[Tensor, list[Tensor]], Tensor], settings: Settings) -> tuple[Curve, list[str]]:
    """The losses, and what is written for the held-out letters."""

    def of_batch(logits: Tensor, batch: Batch) -> Tensor:
        rows = [labels[scored] for labels, scored in zip(batch.labels, batch.scored, strict=True)]
        return loss(logits, rows)

    model = copier(settings.seed)
    losses = teach(model, lessons(settings.steps, settings.seed), of_batch)
    return losses, copies(model, held_out(200))


def ended(texts: list[str]) -> float:
    return sum(len(text) < LETTERS_AT_MOST for text in texts) / len(texts)


def begun(texts: list[str], targets: list[str]) -> float:
    return sum(text.startswith(target) for text, target in zip(texts, targets, strict=True)) / len(texts)


CASE = Case(
    name="end_never_scored",
    symptoms=("endless", "repeats"),
    title=N_("The end is ignored with the padding"),
    happens=N_(
        "Where no padding id is at hand the end's is taken, and what is padded is left out of the loss by its id. "
        "So the true end is left out too: the model is never told that a text ends, and writes on until it is cut."
    ),
    check=N_(
        "Count in one batch how many of the scored labels are the end: it should be one for each text. Then count "
        "how many texts end by themselves."
    ),
    cure=N_(
        "Give padding an id of its own; or tell padding by the lengths of the texts, so that the first end still "
        "counts."
    ),
    question=Question(
        N_("The broken one's loss is about as good. Why does it not show?"),
        (
            N_("The place that it gets wrong is the one that is not counted"),
            N_("The loss is a mean, and ends are rare"),
            N_("It would show after more steps"),
        ),
        right=0,
        why=N_("Ends have no part in this loss at all, neither in its value nor in its gradient."),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="torch.nn.CrossEntropyLoss, ignore_index",
)
