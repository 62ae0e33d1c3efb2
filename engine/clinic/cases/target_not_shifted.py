"""Each place is asked for the very token that it reads: a perfect loss, and a text that stands still."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor, nn

from engine.analysis.evidence import Evidence, Measure, Writing, Writings
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import SYMBOLS, Learned, decoder, learn, loss_curves
from engine.config import N_
from engine.training.tasks.sequences import LETTERS

LENGTH, BATCH, PROMPT, WRITTEN = 12, 16, 4, 8


class Settings(SeededSettings):
    steps: int = Field(default=60, ge=20, le=150, title=N_("Training steps"))


def unshifted(rows: Int[Tensor, "batch pos"]) -> tuple[Tensor, Tensor]:
    """What is read, and what each place is asked for."""
    return rows[:, :-1], rows[:, :-1]


def shifted(rows: Int[Tensor, "batch pos"]) -> tuple[Tensor, Tensor]:
    """What is read, and what each place is asked for."""
    return rows[:, :-1], rows[:, 1:]


def run(settings: Settings) -> Evidence:
    starts = torch.arange(SYMBOLS)
    (broken, broken_texts), (mended, mended_texts) = (
        trained(listing, settings) for listing in (unshifted, shifted)
    )
    right = [said(in_order(starts, PROMPT + WRITTEN)[at, PROMPT:]) for at in range(SYMBOLS)]
    return Evidence(
        measures=(
            Measure(N_("Texts that go on as they should, of 32"), same(broken_texts, right), same(mended_texts, right)),
            Measure(N_("Loss, last ten steps"), broken.last, mended.last, "nats"),
        ),
        panels=(
            Writings(N_("The alphabet and the digits 2 to 7, gone on with"), tuple(
                Writing(said(in_order(starts, PROMPT)[at]), broken_texts[at], mended_texts[at], right[at])
                for at in (0, 7, 14, 21)
            )),
            loss_curves(broken, mended),
        ),
    )  # fmt: skip


def trained(
    listing: Callable[[Tensor], tuple[Tensor, Tensor]], settings: Settings
) -> tuple[Learned, list[str]]:
    """A model that reads the alphabet from anywhere on, and what it writes after each beginning."""
    generator = torch.Generator().manual_seed(settings.seed)
    model = decoder(settings.seed)
    starts = (torch.randint(SYMBOLS, (BATCH,), generator=generator) for _ in range(settings.steps))
    batches = (listing(in_order(start, LENGTH + 1)) for start in starts)
    found = learn(model, batches, torch.optim.Adam(model.parameters(), lr=4e-3))
    return found, [said(row) for row in written(model, in_order(torch.arange(SYMBOLS), PROMPT))]


def in_order(starts: Int[Tensor, " batch"], length: int) -> Int[Tensor, "batch pos"]:
    """Letters one after the other; after the last comes the first."""
    return (starts[:, None] + torch.arange(length)) % SYMBOLS


def written(model: nn.Module, ids: Int[Tensor, "batch pos"]) -> Int[Tensor, "batch more"]:
    """What the model goes on with, always the likeliest."""
    with torch.no_grad():
        for _ in range(WRITTEN):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], dim=1)
    return ids[:, -WRITTEN:]


def same(texts: list[str], expected: list[str]) -> int:
    return sum(one == other for one, other in zip(texts, expected, strict=True))


def said(row: Int[Tensor, " pos"]) -> str:
    return "".join(LETTERS[id] for id in row.tolist())


CASE = Case(
    name="target_not_shifted",
    symptoms=("good_loss_bad_text", "repeats"),
    title=N_("The target is not shifted"),
    happens=N_(
        "A place sees itself: the causal mask hides only what comes later. Asked for the very token that it reads, a "
        "model has only to hand it on, and the loss falls to nothing within a few steps. When it writes, it hands on "
        "its last token again and again."
    ),
    check=N_(
        "Print the ids that go in above the ids that are asked for: the second row shall stand one place further on."
    ),
    cure=N_(
        "Feed all but the last token and ask for all but the first. Shift once, either in the data or in the loss."
    ),
    question=Question(
        N_("Both the data and the loss shift by one. What does such a model learn?"),
        (N_("The next token, as it should"), N_("The token after the next one"), N_("Its own token")),
        right=1,
        why=N_(
            "Two shifts ask each place for the token two further on, so every second token of a text is left out."
        ),
    ),
    broken=unshifted,
    mended=shifted,
    run=run,
    settings=Settings,
    source="Vaswani et al. 2017, section 3.1",
)
