"""Texts longer than any in training: positions that were never learned, and distances that were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import SYMBOLS, Batch, decoder, learn, recall, right
from engine.config import N_, Learned, Positions, Rope, Shaw, Sinusoidal, T5Buckets

BACK, SHORTEST, LONGEST, BATCH, TESTED = 3, 4, 10, 32, 64
LENGTHS = (6, 8, 10, 12, 14, 16, 20, 24, 30)
ABSOLUTE: dict[str, Positions] = {"learned": Learned(), "sinusoidal": Sinusoidal()}
RELATIVE: dict[str, Positions] = {
    "shaw": Shaw(reach=8),
    "t5": T5Buckets(buckets=16, farthest=16),
    "rope": Rope(),
}


class Settings(SeededSettings):
    absolute: Literal["learned", "sinusoidal"] = Field(default="learned", title=N_("Positions, absolute"))
    relative: Literal["shaw", "t5", "rope"] = Field(default="shaw", title=N_("Positions, relative"))
    steps: int = Field(default=250, ge=100, le=400, title=N_("Training steps"))


def by_place(settings: Settings, **stack: Any) -> nn.Module:
    """A vector is added for each place: the one for place 11 has never been trained, or never been seen."""
    return decoder(settings.seed, positions=ABSOLUTE[settings.absolute], **stack)


def by_distance(settings: Settings, **stack: Any) -> nn.Module:
    """Three back is the same distance at any place."""
    return decoder(settings.seed, positions=RELATIVE[settings.relative], **stack)


def run(settings: Settings) -> Evidence:
    broken, mended = (taught(listing(settings), settings) for listing in (by_place, by_distance))
    at = np.array(LENGTHS)
    trained, double, triple = (LENGTHS.index(n) for n in (LONGEST, 2 * LONGEST, 3 * LONGEST))
    return Evidence(
        measures=(
            Measure(N_("Letters right in texts of 20"), broken[double], mended[double], "%"),
            Measure(N_("Letters right in texts of 30"), broken[triple], mended[triple], "%"),
            Measure(N_("Letters right in texts of 10, the longest in training"), broken[trained], mended[trained], "%"),
        ),
        panels=(
            Curves(
                N_("letters right, %"), N_("letters of a text"),
                (Curve(at, np.array(broken)),), (Curve(at, np.array(mended)),),
            ),
        ),
    )  # fmt: skip


def taught(model: nn.Module, settings: Settings) -> list[float]:
    """Per cent of letters right, at each length, after training on short texts only."""
    learn(model, short(settings), torch.optim.Adam(model.parameters(), lr=4e-3))
    model.eval()
    found = []
    for length in LENGTHS:
        generator = torch.Generator().manual_seed(settings.seed + 1)
        ids, labels = recall(torch.randint(SYMBOLS, (TESTED, length), generator=generator), BACK)
        with torch.no_grad():
            found.append(100 * right(model(ids), labels))
    return found


def short(settings: Settings) -> Iterator[Batch]:
    """Batches of 4 to 10 letters."""
    generator = torch.Generator().manual_seed(settings.seed)
    for _ in range(settings.steps):
        length = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=generator))
        yield recall(torch.randint(SYMBOLS, (BATCH, length), generator=generator), BACK)


CASE = Case(
    name="beyond_trained_length",
    symptoms=("long_inputs",),
    title=N_("Texts longer than those it was trained on"),
    happens=N_(
        "The model is to say which letter stood three places back, and trains on texts of up to 10 letters. Learned "
        "positions beyond the tenth still have their random first values; sinusoidal ones are defined everywhere, "
        "but no weight has learned what to make of them. Right after the trained length letters are guessed; what is "
        "still right are the first ten places of each text."
    ),
    check=N_(
        "Measure accuracy over the length of the text, or over the place in it. Does it break where training ended?"
    ),
    cure=N_(
        "Give positions as distances (Shaw, T5, RoPE) where the task is one of distances, and train on texts as long "
        "as those that will come. RoPE at many times its length needs scaling, and a distance that was never seen is "
        "not learned either."
    ),
    question=Question(
        N_(
            "Sinusoidal positions can be computed for any place. Do they carry the model beyond its trained length?"
        ),
        (N_("Yes, that is what they are for"), N_("No, here as little as learned ones")),
        right=1,
        why=N_("Choose sinusoidal and run: being defined is not being learned."),
    ),
    broken=by_place,
    mended=by_distance,
    run=run,
    settings=Settings,
    source="Shaw et al. 2018, section 3.2",
)  # fmt: skip
