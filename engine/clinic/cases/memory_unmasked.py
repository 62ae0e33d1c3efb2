"""The source's padding is hidden while it is read, and forgotten where the decoder looks at it."""

from __future__ import annotations

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import QUERIES_AND_KEYS, Curve, Curves, Evidence, Grid, Measure
from engine.capture import as_numpy, capture
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.filled_up import drawn, reverser, right, words, writings
from engine.clinic.greedy import Read, answers
from engine.config import N_
from engine.model.transformer import EncoderDecoder

LETTERS, MOST = 4, 8  # of each text; of padding
WEIGHTS = "decoder.layers.0.cross_attention.weights"


class Settings(SeededSettings):
    padding: int = Field(default=4, ge=0, le=MOST, title=N_("Padding of each text"))


def broken(
    model: EncoderDecoder,
    source: Tensor,
    lengths: Tensor,
    target: Tensor,
) -> Tensor:
    """source, target (batch, pos) -> (batch, target, vocab)."""
    memory = model.encode(source, lengths)
    return model.decode(target, memory)


def mended(
    model: EncoderDecoder,
    source: Tensor,
    lengths: Tensor,
    target: Tensor,
) -> Tensor:
    """source, target (batch, pos) -> (batch, target, vocab)."""
    memory = model.encode(source, lengths)
    return model.decode(target, memory, lengths)


def run(settings: Settings) -> Evidence:
    texts, total = drawn(settings.seed, LETTERS), LETTERS + settings.padding
    bad, good = (written(read, texts, settings.padding) for read in (broken, mended))
    bad_weights, good_weights = (weights(read, texts[0], settings.padding) for read in (broken, mended))
    rows, columns = ("<s>", *texts[0][::-1]), words(texts[0], total)
    hidden = np.tile(np.arange(total) >= LETTERS, (len(rows), 1))
    return Evidence(
        measures=(
            Measure.of_shares(N_("Whole texts written right"), right(texts, bad), right(texts, good)),
            Measure(
                N_("Weight of the decoder on padding"),
                float((bad_weights * hidden).sum(-1).mean()), float((good_weights * hidden).sum(-1).mean()),
            ),
            Measure.of_shares(
                N_("Answers that the longer text changes"), changed(broken, texts, bad), changed(mended, texts, good)
            ),
        ),
        panels=(
            writings(texts, bad, good),
            Grid(
                N_("weights of the cross-attention"), rows, columns, bad_weights, good_weights, hidden, hidden,
                QUERIES_AND_KEYS,
            ),
            Curves(
                N_("whole texts written right, %"), N_("letters by which another text is longer"),
                (over_padding(broken, texts),), (over_padding(mended, texts),),
            ),
        ),
    )  # fmt: skip


def written(read: Read, texts: list[str], padding: int) -> list[str]:
    """What the model that was trained aright writes where all texts are filled up by so much."""
    lm = reverser()
    assert isinstance(lm.model, EncoderDecoder)
    return answers(lm.model, lm.tokenizer, texts, LETTERS + 4, LETTERS + padding, read)


def weights(read: Read, text: str, padding: int) -> np.ndarray:
    """Of head 0, while the right answer is read: (query, key)."""
    lm = reverser()
    assert isinstance(lm.model, EncoderDecoder)
    ids = lm.encode(text).ids + [0] * padding
    target = lm.encode(text[::-1], begin=True).ids
    with torch.no_grad(), capture(WEIGHTS) as trace:
        read(lm.model, lm.batch(ids), torch.tensor([len(text)]), lm.batch(target))
    return as_numpy(trace[WEIGHTS][0, 0])


def changed(read: Read, texts: list[str], beside: list[str]) -> float:
    """The share, 0 to 1, that differs from what is written without padding."""
    alone = written(read, texts, 0)
    return sum(one != other for one, other in zip(alone, beside, strict=True)) / len(texts)


def over_padding(read: Read, texts: list[str]) -> Curve:
    paddings = np.arange(MOST + 1)
    return Curve(paddings, np.array([100 * right(texts, written(read, texts, int(p))) for p in paddings]))


CASE = Case(
    name="memory_unmasked",
    symptoms=("batch", "good_loss_bad_text"),
    title=N_("The decoder sees the source's padding"),
    happens=N_(
        "The mask of the source is made, used in the encoder, and not handed on: the decoder looks at padding as "
        "at words. A text alone is answered right; beside a longer one, which it is filled up for, it is answered "
        "differently."
    ),
    check=N_("Answer one text alone, then in a batch beside a longer one: both answers must be the same."),
    cure=N_("Hand the source's mask to the cross-attention too: there the source's tokens are the keys."),
    question=Question(
        N_("Whose padding must be hidden in the cross-attention?"),
        (N_("The source's"), N_("The target's"), N_("Both")),
        right=0,
        why=N_(
            "Keys are the source's tokens. The target's padding stands there as queries only, and what they get is "
            "not counted."
        ),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="torch.nn.TransformerDecoder, memory_key_padding_mask",
)
