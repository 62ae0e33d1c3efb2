"""torch's attention given (batch, pos, d_model) where it expects (pos, batch, d_model)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from engine.analysis.evidence import Evidence, Grid, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.influence import influence
from engine.clinic.known_words import LETTERS, known_word
from engine.config import N_
from engine.language_model import load

HEADS = 4


class Settings(SeededSettings):
    letters: int = Field(default=6, ge=2, le=LETTERS, title=N_("Letters of each text"))


def broken(d_model: int, heads: int) -> nn.Module:
    """For x (batch, pos, d_model)."""
    return nn.MultiheadAttention(d_model, heads)


def mended(d_model: int, heads: int) -> nn.Module:
    """For x (batch, pos, d_model)."""
    return nn.MultiheadAttention(d_model, heads, batch_first=True)


def run(settings: Settings) -> Evidence:
    first, second, other = (known_word(settings.seed, n)[: settings.letters] for n in range(3))
    last = first[:-1] + "z"
    bad, good = (attend(make, settings) for make in (broken, mended))
    letters = (*first, *second)
    return Evidence(
        measures=(
            Measure(
                N_("Change of the first text where the second is another"),
                moved(bad, (first, second), (first, other)), moved(good, (first, second), (first, other)),
            ),
            Measure(
                N_("Change of its first letter where its last is another"),
                moved(bad, (first, second), (last, second), 1), moved(good, (first, second), (last, second), 1),
            ),
        ),
        panels=(
            Grid(
                N_("influence of a letter on the outputs, of both texts"),
                letters, letters, by_letter(bad, (first, second)), by_letter(good, (first, second)),
                axes=(N_("output at this letter"), N_("of this letter")),
            ),
        ),
    )  # fmt: skip


def attend(make: Callable[[int, int], nn.Module], settings: Settings) -> Callable[[Tensor], Tensor]:
    """Self-attention with torch's own fresh weights, the same for both listings: (batch, pos, d_model) to the same."""
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        attention = make(load("text").config.d_model, HEADS).eval()
    return lambda x: attention(x, x, x)[0]


def embedded(*texts: str) -> Tensor:
    """The vectors that a trained model has for these letters, (batch, pos, d_model)."""
    lm = load("text")
    with torch.no_grad():
        return torch.cat([lm.model.embedding(lm.batch(lm.encode(text).ids)) for text in texts])


def moved(
    attention: Callable[[Tensor], Tensor],
    texts: Sequence[str],
    others: Sequence[str],
    letters: int | None = None,
) -> float:
    """The largest change of a number of the first text's output, at its first `letters`."""
    with torch.no_grad():
        change = attention(embedded(*texts)) - attention(embedded(*others))
    return change[0, :letters].abs().max().item()


def by_letter(attention: Callable[[Tensor], Tensor], texts: Sequence[str]) -> np.ndarray:
    x = embedded(*texts)
    return influence(lambda rows: attention(rows.view_as(x)).reshape(-1, x.shape[-1]), x.flatten(0, 1))


CASE = Case(
    name="batch_taken_for_length",
    symptoms=("batch", "loss_stays"),
    title=N_("The batch is taken for the length"),
    happens=N_(
        "torch's attention expects (pos, batch, d_model) unless told otherwise. Given (batch, pos, d_model) it "
        "takes texts for positions: each letter looks at the letters at the same place of the other texts, never "
        "at its own text. The shapes fit, so nothing complains."
    ),
    check=N_("Change one text of a batch: the outputs of the others may not change, to the last bit."),
    cure=N_(
        "Say batch_first=True, in nn.MultiheadAttention as in nn.TransformerEncoderLayer and nn.Transformer."
    ),
    question=Question(
        N_("A batch holds one text only. What does each letter look at in the broken listing?"),
        (N_("At its own text, as it should"), N_("At itself alone"), N_("At nothing, all is NaN")),
        right=1,
        why=N_("There is one text, so it sees one position: the softmax over one score is 1."),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="torch.nn.MultiheadAttention, batch_first",
)
