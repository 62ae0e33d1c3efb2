"""Two thousand characters, read again and again: the loss falls, and what was never read gets harder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Int
from pydantic import Field
from torch import Tensor, nn

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import decoder
from engine.config import N_
from engine.model.slots import drawn_by
from engine.training.tasks.text import Text

FEW, MANY = 2_000, 200_000  # characters
WINDOW, BATCH, HELD_OUT, EVERY = 32, 16, 64, 20
RATE = 3e-3


@dataclass(frozen=True)
class Remedy:
    dropout: float = 0.0
    smoothing: float = 0.0
    characters: int = FEW


REMEDIES = {
    "more_data": Remedy(characters=MANY),
    "dropout": Remedy(dropout=0.3),
    "label_smoothing": Remedy(smoothing=0.1),
}


class Settings(SeededSettings):
    cure: Literal["more_data", "dropout", "label_smoothing"] = Field(default="more_data", title=N_("Cure"))
    steps: int = Field(default=160, ge=80, le=320, multiple_of=EVERY, title=N_("Training steps"))


@dataclass
class Studied:
    """Nats a character: of the characters learned from and of those held out, without smoothing and dropout."""

    at: list[int] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)


def by_heart(text: str, study: Callable[..., Studied], cure: str) -> Studied:
    """Two thousand characters are some sixty different stretches: a small model can learn them by heart."""
    return study(text[:FEW])


def cured(text: str, study: Callable[..., Studied], cure: str) -> Studied:
    remedy = REMEDIES[cure]
    return study(text[: remedy.characters], dropout=remedy.dropout, smoothing=remedy.smoothing)


def run(settings: Settings) -> Evidence:
    task = Text()
    text, held_out = task.corpus.training, torch.tensor(task.tokenizer.ids(task.corpus.held_out))

    def study(own: str, dropout: float = 0.0, smoothing: float = 0.0) -> Studied:
        model = decoder(settings.seed, 64, symbols=len(task.tokenizer), n_heads=4, d_ff=128, dropout=dropout)
        ids = torch.tensor(task.tokenizer.ids(own))
        return studied(model, ids, held_out, settings, smoothing)

    broken, mended = by_heart(text, study, settings.cure), cured(text, study, settings.cure)
    return Evidence(
        measures=(
            Measure(N_("Held-out loss at the end"), broken.held_out[-1], mended.held_out[-1], "nats"),
            Measure(N_("Lowest held-out loss"), min(broken.held_out), min(mended.held_out), "nats"),
            Measure(N_("Step of the lowest"), best(broken), best(mended)),
            Measure(N_("Loss on its own text at the end"), broken.own[-1], mended.own[-1], "nats"),
        ),
        panels=(Curves(N_("loss, nats"), N_("step"), curves(broken), curves(mended)),),
    )  # fmt: skip


def studied(
    model: nn.Module,
    own: Int[Tensor, " pos"],
    held_out: Int[Tensor, " other"],
    settings: Settings,
    smoothing: float,
) -> Studied:
    """Trained on stretches of its own text, and looked at now and then on both."""
    generator = torch.Generator().manual_seed(settings.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    looks = [stretches(text, torch.Generator().manual_seed(0), HELD_OUT) for text in (own, held_out)]
    found = Studied()
    for step in range(1, settings.steps + 1):
        model.train()
        with drawn_by(generator):
            loss = cost(model, stretches(own, generator, BATCH), smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            look(model, step, looks, found)
    return found


def look(model: nn.Module, step: int, looks: list[Tensor], found: Studied) -> None:
    model.eval()
    with torch.no_grad():
        own, held_out = (cost(model, rows).item() for rows in looks)
    found.at.append(step)
    found.own.append(own)
    found.held_out.append(held_out)


def cost(model: nn.Module, rows: Int[Tensor, "batch pos"], smoothing: float = 0.0) -> Tensor:
    """Nats a character, each from those before it."""
    logits = model(rows[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), label_smoothing=smoothing)


def stretches(text: Int[Tensor, " pos"], generator: torch.Generator, count: int) -> Int[Tensor, "batch some"]:
    """Anywhere in the text, one character longer than what is read."""
    starts = torch.randint(len(text) - WINDOW, (count, 1), generator=generator)
    return text[starts + torch.arange(WINDOW + 1)]


def best(found: Studied) -> int:
    return found.at[int(np.argmin(found.held_out))]


def curves(found: Studied) -> tuple[Curve, ...]:
    at = np.array(found.at)
    held_out = Curve(at, np.array(found.held_out), N_("held out"))
    return Curve(at, np.array(found.own), N_("its own text")), held_out


CASE = Case(
    name="overfits",
    symptoms=("overfits", "good_loss_bad_text"),
    title=N_("It learns its examples by heart"),
    happens=N_(
        "A small Transformer reads some sixty different stretches of text again and again. It learns each of them by "
        "heart: the loss on its own text goes on falling, while text that it never read gets harder from some step "
        "on. Accuracy on what was trained on says nothing about that."
    ),
    check=N_(
        "Keep examples back, and look at their loss beside that of the batches. Where the one rises while the other "
        "falls, all that is learned from there on is learned by heart."
    ),
    cure=N_(
        "More text helps most, by far: compare the cures. Dropout makes it worse more slowly, label smoothing hardly "
        "changes when it begins; or stop at the lowest held-out loss. Where examples are drawn anew each time, "
        "nothing can be learned by heart, and dropout only slows."
    ),
    question=Question(
        N_(
            "Choose dropout as the cure. What becomes of the lowest held-out loss that is reached on the way?"
        ),
        (N_("It is much lower"), N_("It hardly changes: what rises afterwards rises less")),
        right=1,
        why=N_(
            "Dropout makes learning by heart harder; it adds no knowledge of text that was not there. More text does."
        ),
    ),
    broken=by_heart,
    mended=cured,
    run=run,
    settings=Settings,
    source="Srivastava et al. 2014, section 1",
)
