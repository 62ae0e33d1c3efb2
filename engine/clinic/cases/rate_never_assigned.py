"""The learning rate is computed at every step, and the optimizer never hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from pydantic import Field
from torch import nn

from engine.analysis.evidence import Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.copying import (
    copier,
    copies,
    curve,
    every_token,
    held_out,
    last,
    lessons,
    warmed_up,
    writings,
)
from engine.config import N_
from engine.training.batches import Batch

Lessons = Iterable[Batch]
Rate = Callable[[int], float]
Log = Iterator[tuple[float, float]]


class Settings(SeededSettings):
    steps: int = Field(default=100, ge=20, le=200, title=N_("Training steps"))


def broken(model: nn.Module, batches: Lessons, rate: Rate) -> Log:
    """Tells the learning rate and the loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0)
    for step, batch in enumerate(batches, start=1):
        lr = rate(step)
        loss = every_token(model(**batch.inputs), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield lr, loss.item()


def mended(model: nn.Module, batches: Lessons, rate: Rate) -> Log:
    """Tells the learning rate and the loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0)
    for step, batch in enumerate(batches, start=1):
        optimizer.param_groups[0]["lr"] = lr = rate(step)
        loss = every_token(model(**batch.inputs), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield lr, loss.item()


def run(settings: Settings) -> Evidence:
    examples = held_out(4)
    bad, good = copier(settings.seed), copier(settings.seed)
    losses = [
        curve([loss for _, loss in train(model, lessons(settings.steps, settings.seed), warmed_up)])
        for train, model in ((broken, bad), (mended, good))
    ]
    return Evidence(
        measures=(
            Measure.of_shares(N_("Parameters that have changed"), changed(bad, settings), changed(good, settings)),
            Measure(N_("Loss of the first step"), float(losses[0].values[0]), float(losses[1].values[0]), "nats"),
            Measure(N_("Loss of the last step"), last(losses[0]), last(losses[1]), "nats"),
        ),
        panels=(
            Curves(N_("loss, nats"), N_("step"), (losses[0],), (losses[1],)),
            writings(examples, copies(bad, examples), copies(good, examples)),
        ),
    )  # fmt: skip


def changed(model: nn.Module, settings: Settings) -> float:
    """The share of numbers, 0 to 1, that are not what they were at the start."""
    pairs = [*zip(model.parameters(), copier(settings.seed).parameters(), strict=True)]
    return sum(int((now != then).sum()) for now, then in pairs) / sum(now.numel() for now, _ in pairs)


CASE = Case(
    name="rate_never_assigned",
    symptoms=("loss_stays", "repeats"),
    title=N_("The learning rate reaches nobody"),
    happens=N_(
        "The schedule is computed, and even printed; the optimizer keeps the 0 that it was made with. Gradients "
        "are there and steps are made, each of length 0. The loss moves only because each batch is another."
    ),
    check=N_(
        "Print the rate that the optimizer has, optimizer.param_groups[0]['lr'], not the one you computed; and "
        "compare a weight before and after a step."
    ),
    cure=N_(
        "Write the rate into every parameter group before step(), or leave that to a scheduler of torch.optim."
    ),
    question=Question(
        N_("Which sign tells this from a rate that is merely too low?"),
        (
            N_("The loss falls slowly"),
            N_("No weight has changed at all, to the last bit"),
            N_("The gradients are 0"),
        ),
        right=1,
        why=N_(
            "The gradients are as large as ever. A rate that is too low changes weights a little; 0 changes none."
        ),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="torch.optim, per-parameter options",
)
