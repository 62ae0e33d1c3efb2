"""Every new token reads the whole text anew: writing gets slower with each one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import SYMBOLS, decoder
from engine.config import N_, Rope
from engine.decoding import text_reader
from engine.model.transformer import DecoderOnly

PROMPT, LAST = 8, 10


class Settings(SeededSettings):
    tokens: int = Field(default=160, ge=40, le=320, title=N_("Tokens to write"))
    layers: int = Field(default=4, ge=1, le=6, title=N_("Layers"))


def anew(model: DecoderOnly, ids: Tensor) -> Iterator[Tensor]:
    while True:
        token = model(ids)[:, -1:].argmax(-1)
        yield token
        ids = torch.cat([ids, token], dim=1)


def cached(model: DecoderOnly, ids: Tensor) -> Iterator[Tensor]:
    """Keys and values of earlier tokens never change, since none of them sees a later one: they are kept."""
    reader = text_reader(model)
    while True:
        ids = reader.read(ids)[:, -1:].argmax(-1)
        yield ids


def run(settings: Settings) -> Evidence:
    model = decoder(settings.seed, 128, n_layers=settings.layers, n_heads=4, positions=Rope())
    assert isinstance(model, DecoderOnly)
    model.eval()
    count = settings.tokens
    prompt = torch.randint(SYMBOLS, (1, PROMPT), generator=torch.Generator().manual_seed(settings.seed))
    with torch.no_grad():
        (broken, slow), (mended, fast) = (timed(listing, model, prompt, count) for listing in (anew, cached))
    return Evidence(
        measures=(
            Measure(N_("Time for all tokens"), float(slow.sum()) / 1000, float(fast.sum()) / 1000, "s", timed=True),
            Measure(N_("Time for one of the last ten"), late(slow), late(fast), "ms", timed=True),
            Measure(N_("Positions read"), PROMPT * count + count * (count - 1) // 2, PROMPT + count - 1),
            Measure(N_("Tokens that are others than without a cache"), 0, others(broken, mended)),
        ),
        panels=(
            Curves(N_("time of a token, ms"), N_("tokens written"), over(slow), over(fast), timed=True),
        ),
    )  # fmt: skip


def timed(
    listing: Callable[[DecoderOnly, Tensor], Iterator[Tensor]], model: DecoderOnly, prompt: Tensor, count: int
) -> tuple[list[int], np.ndarray]:
    """The tokens, and the milliseconds that each took."""
    tokens, times = [], []
    writing = listing(model, prompt)
    for _ in range(count):
        begun = time.perf_counter()
        tokens.append(int(next(writing)))
        times.append(1000 * (time.perf_counter() - begun))
    return tokens, np.array(times)


def late(times: np.ndarray) -> float:
    return float(np.median(times[-LAST:]))


def others(tokens: list[int], more: list[int]) -> int:
    return sum(one != other for one, other in zip(tokens, more, strict=True))


def over(times: np.ndarray) -> tuple[Curve, ...]:
    return (Curve(np.arange(1, len(times) + 1), times),)


CASE = Case(
    name="no_cache",
    symptoms=("slow", "long_inputs"),
    title=N_("Writing without a cache"),
    happens=N_(
        "To write one token more, only the new token has to ask: keys and values of the earlier ones are what they "
        "were. Without a cache all of them are computed again for each token, so the work for n tokens grows with "
        "the square of n even before attention is counted. The weights here are fresh; time does not depend on them."
    ),
    check=N_("Time the tokens one by one. Does the hundredth take longer than the tenth?"),
    cure=N_(
        "Keep the keys and values of each layer, and feed the newest token only. The text stays the same."
    ),
    question=Question(
        N_(
            "With the cache, a hundred tokens are written after a prompt of eight. How many positions are read in "
            "all?"
        ),
        (N_("107"), N_("5,750"), N_("10,800")),
        right=0,
        why=N_(
            "The eight of the prompt at once, then each new token but the last once: 8 + 99. Without a cache it is 8 "
            "+ 9 + ... + 107 = 5,750."
        ),
    ),
    broken=anew,
    mended=cached,
    run=run,
    settings=Settings,
    source="Shazeer 2019, section 2.4",
)  # fmt: skip
