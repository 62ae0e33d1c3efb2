"""Heads joined by a view alone: numbers of different tokens end up in one vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import Curve, Curves, Evidence, Grid, Measure
from engine.capture import Edit, capture, taps
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.copying import (
    D_K,
    copier,
    copies,
    given_the_right_ones,
    held_out,
    last,
    lessons,
    teach,
    writings,
)
from engine.config import N_
from engine.model.attention import split
from engine.training.tasks import exact

LETTERS = 8  # what the grid shows


class Settings(SeededSettings):
    heads: int = Field(default=2, ge=1, le=8, title=N_("Heads"))
    steps: int = Field(default=150, ge=50, le=300, title=N_("Training steps"))


def broken(z: Tensor) -> Tensor:
    """z (batch, head, pos, d_k) -> (batch, pos, d_model)."""
    batch, head, pos, d_k = z.shape
    z = z.contiguous()
    return z.view(batch, pos, head * d_k)


def mended(z: Tensor) -> Tensor:
    """z (batch, head, pos, d_k) -> (batch, pos, d_model)."""
    batch, head, pos, d_k = z.shape
    z = z.transpose(1, 2).contiguous()
    return z.view(batch, pos, head * d_k)


@dataclass(frozen=True)
class Outcome:
    """origins: whose numbers each place's vector holds, as shares, (place of the vector, place of the token)."""

    losses: Curve
    accuracy: float
    texts: list[str]
    origins: np.ndarray


def run(settings: Settings) -> Evidence:
    examples = held_out(200)
    bad, good = (outcome(join, settings) for join in (broken, mended))
    places = tuple(str(place) for place in range(LETTERS))
    return Evidence(
        measures=(
            Measure.of_shares(N_("Whole texts written right"), exact(examples, bad.texts), exact(examples, good.texts)),
            Measure.of_shares(N_("Tokens right, the right ones before them given"), bad.accuracy, good.accuracy),
            Measure.of_shares(N_("Numbers of a vector that are its own token's"), own(bad), own(good)),
            Measure(N_("Loss of the last step"), last(bad.losses), last(good.losses), "nats"),
        ),
        panels=(
            Grid(
                N_("share of a vector's numbers, by the token they come from"),
                places, places, bad.origins, good.origins, axes=(N_("place of the vector"), N_("place of the token")),
            ),
            writings(examples, bad.texts, good.texts),
            Curves(N_("loss, nats"), N_("step"), (bad.losses,), (good.losses,), log=True),
        ),
    )  # fmt: skip


def outcome(join: Callable[[Tensor], Tensor], settings: Settings) -> Outcome:
    """A copier that is taught, judged and asked to write, all of its heads joined by this listing."""
    model, examples = copier(settings.seed, settings.heads), held_out(200)
    edits = {name: joining(join, settings.heads) for name in taps(model) if name.endswith(".z")}
    with capture([], edits, grad=True):
        losses = teach(model, lessons(settings.steps, settings.seed))
        accuracy = given_the_right_ones(model, examples)
        texts = copies(model, examples)
    return Outcome(losses, accuracy, texts, origins(join, settings.heads))


def joining(join: Callable[[Tensor], Tensor], heads: int) -> Edit:
    """Such z that the model's own joining makes of it what the listing makes of the true one."""
    return lambda z, trace: split(join(z), heads)


def origins(join: Callable[[Tensor], Tensor], heads: int) -> np.ndarray:
    """Each number of z is replaced by the place of its token, so that it tells where it went."""
    z = torch.arange(LETTERS)[:, None].expand(1, heads, LETTERS, D_K)
    joined = join(z)[0]  # (pos, d_model)
    return np.stack([(joined == place).float().mean(-1).numpy() for place in range(LETTERS)], axis=1)


def own(outcome: Outcome) -> float:
    return float(np.diag(outcome.origins).mean())


CASE = Case(
    name="heads_not_transposed",
    symptoms=("good_loss_bad_text",),
    title=N_("The heads are joined without the transpose"),
    happens=N_(
        "A view only counts numbers. Without the transpose each vector gets one head's numbers of several "
        "neighbours, later ones too: past the causal mask the future leaks in. Copying trains all the same, and "
        "its loss is excellent; writing fails."
    ),
    check=N_(
        "Join the heads of a tensor in which each number is the place of its token: each vector must hold one "
        "number only."
    ),
    cure=N_(
        "Bring the axis of heads next to that of their numbers first: transpose(1, 2), then view or flatten."
    ),
    question=Question(
        N_("Why does view not complain?"),
        (
            N_("It looks only at how many numbers there are, and these are as many"),
            N_("It transposes by itself where it has to"),
            N_("It does complain on a GPU"),
        ),
        right=0,
        why=N_(
            "batch x head x pos x d_k numbers are batch x pos x d_model numbers, in whatever order they stand."
        ),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="Vaswani et al. 2017, 3.2.2",
)
