"""Xavier on every matrix there is, the table of embeddings too: the larger the vocabulary, the fainter a word."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from engine.analysis.evidence import Curve, Curves, Evidence, Grid, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.config import N_
from engine.model.positions import Sinusoidal

TEXT = ("the", "cat", "saw", "the", "dog", "and", "the", "dog", "saw", "the", "bird")
VOCABULARIES = (20, 100, 1_000, 5_000, 20_000)


class Settings(SeededSettings):
    vocabulary: int = Field(default=37_000, ge=20, le=50_000, title=N_("Vocabulary"))
    d_model: int = Field(default=512, ge=16, le=512, title="d_model")


def broken(vocabulary: int, d_model: int) -> nn.Embedding:
    """What is read is multiplied by sqrt(d_model) later."""
    table = nn.Embedding(vocabulary, d_model)
    nn.init.xavier_uniform_(table.weight)
    return table


def mended(vocabulary: int, d_model: int) -> nn.Embedding:
    """What is read is multiplied by sqrt(d_model) later."""
    table = nn.Embedding(vocabulary, d_model)
    nn.init.normal_(table.weight, std=d_model**-0.5)
    return table


Fresh = Callable[[int, int], nn.Embedding]


def run(settings: Settings) -> Evidence:
    bad, good = (words(fresh, settings.vocabulary, settings) for fresh in (broken, mended))
    places = positions(len(TEXT), settings.d_model)
    at = np.array([*[size for size in VOCABULARIES if size < settings.vocabulary], settings.vocabulary])
    return Evidence(
        measures=(
            Measure(N_("Size of a word's numbers (rms)"), rms(bad), rms(good)),
            Measure(N_("Size of a position's numbers (rms)"), rms(places), rms(places)),
            Measure.of_shares(
                N_("Share of the word in what the first layer reads"), share(bad, places), share(good, places)
            ),
        ),
        panels=(
            Grid(
                N_("how alike two places of a fresh model are (cosine)"), TEXT, TEXT,
                alike(bad + places), alike(good + places),
            ),
            Curves(
                N_("size of a word's numbers (rms)"), N_("words in the vocabulary"),
                (over_sizes(broken, at, settings),), (over_sizes(mended, at, settings),),
            ),
        ),
    )  # fmt: skip


@torch.no_grad()
def words(fresh: Fresh, vocabulary: int, settings: Settings) -> Float[Tensor, "pos d_model"]:
    """The text's vectors as a stack gets them, equal words equal."""
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        table = fresh(vocabulary, settings.d_model)
    ids = torch.tensor([sorted(set(TEXT)).index(word) for word in TEXT])
    return table(ids) * math.sqrt(settings.d_model)


def positions(length: int, d_model: int) -> Float[Tensor, "pos d_model"]:
    return Sinusoidal(10_000.0).embed(torch.zeros(1, length, d_model), torch.arange(length)[None])[0]


def rms(x: Tensor) -> float:
    return x.square().mean().sqrt().item()


def share(words: Tensor, positions: Tensor) -> float:
    """Of the mean square of both."""
    word, position = words.square().mean().item(), positions.square().mean().item()
    return word / (word + position)


def alike(x: Float[Tensor, "pos d_model"]) -> np.ndarray:
    return F.cosine_similarity(x[:, None], x[None], dim=-1).numpy()


def over_sizes(fresh: Fresh, at: np.ndarray, settings: Settings) -> Curve:
    return Curve(at, np.array([rms(words(fresh, int(size), settings)) for size in at]))


CASE = Case(
    name="embeddings_by_xavier",
    symptoms=("loss_stays",),
    title=N_("Xavier drowns the words in their positions"),
    happens=N_(
        "Xavier draws a matrix the smaller, the more rows and columns it has together; a table of embeddings has "
        "as many rows as there are words. Times sqrt(d_model) a word is large in a small vocabulary and faint in a "
        "large one, while its position keeps its size: places look alike because they are near, not because the "
        "word is the same. Training can mend it, since tables learn too."
    ),
    check=N_(
        "Before training, compare the size of what the embedding gives, times sqrt(d_model), with that of the "
        "position: about 0.71."
    ),
    cure=N_(
        "Draw embeddings by a rule of their own: a standard deviation of d_model^-0.5 where they are multiplied by "
        "sqrt(d_model)."
    ),
    question=Question(
        N_("Why is Xavier right for the other matrices?"),
        (
            N_("They multiply: every output sums over all inputs"),
            N_("They are square"),
            N_("They have a bias"),
        ),
        right=0,
        why=N_(
            "Xavier keeps such sums at one size, whatever the width. Looking up a row sums nothing, so the number "
            "of rows should not matter."
        ),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="Glorot & Bengio 2010, equation 16",
)
