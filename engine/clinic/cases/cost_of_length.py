"""What length costs: scores of every token with every other, and two ways to pay less."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, CaseSettings, Question
from engine.config import N_

HEADS, WIDTH, TIMES = 4, 32, 5

Vectors = Float[Tensor, "head pos d_k"]


class Settings(CaseSettings):
    longest: Literal[256, 512, 1024, 2048] = Field(default=1024, title=N_("Tokens of the longest text"))
    window: int = Field(default=0, ge=0, le=128, multiple_of=32, title=N_("Tokens in a window; 0: none"))


def written_down(q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
    """Every score is written to memory, and so is every weight."""
    n = q.shape[-2]
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(future, -math.inf)
    return scores.softmax(-1) @ v


def one_kernel(q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
    """No score is kept. With a window each block of tokens sees itself and the end of the one before, no further."""
    if not window:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    q, k, v, seen = in_blocks(q, k, v, window)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen).flatten(-3, -2)


def in_blocks(q: Tensor, k: Tensor, v: Tensor, window: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Blocks of queries, each with its own keys and those of the block before, and which of these a query may see."""
    blocks = q.shape[-2] // window
    q, k, v = (each.unflatten(-2, (blocks, window)) for each in (q, k, v))
    before = [F.pad(each, (0, 0, 0, 0, 1, 0))[:, :-1] for each in (k, v)]
    k, v = (torch.cat(pair, dim=-2) for pair in zip(before, (k, v), strict=True))
    at, behind = torch.arange(window)[:, None], torch.arange(2 * window) - window
    seen = (behind <= at) & (behind > at - window)
    first = seen & (behind >= 0)  # nothing stands before the first block
    return q, k, v, torch.stack([first, *[seen] * (blocks - 1)])


def run(settings: Settings) -> Evidence:
    longest, window = settings.longest, settings.window
    lengths = [n for n in (128, 256, 512, 1024, 2048) if n <= longest]
    keys = 2 * window or longest  # that a query is multiplied with, hidden or not
    slow, fast = np.array([timed((written_down, one_kernel), n, window) for n in lengths]).T
    return Evidence(
        measures=(
            Measure(N_("Memory for scores that are written down"), 4e-6 * HEADS * longest**2, None, "MB"),
            Measure(N_("Time at the longest"), float(slow[-1]), float(fast[-1]), "ms", timed=True),
            Measure(N_("Times as long for twice the length"), growth(slow), growth(fast), timed=True),
            Measure(N_("Scores of one layer at the longest"), HEADS * longest**2, HEADS * longest * keys),
        ),
        panels=(
            Curves(
                N_("time of one layer, ms"), N_("tokens"), over(lengths, slow), over(lengths, fast),
                log=True, timed=True,
            ),
        ),
    )  # fmt: skip


def timed(listings: Sequence[Callable[..., Tensor]], n: int, window: int) -> list[float]:
    """Milliseconds of each, the shortest of some times; by turns, so that both meet the same machine."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, HEADS, n, WIDTH, generator=generator)
    times: list[list[float]] = [[] for _ in listings]
    with torch.no_grad():
        for _ in range(TIMES):
            for listing, taken in zip(listings, times, strict=True):
                begun = time.perf_counter()
                listing(q, k, v, window)
                taken.append(1000 * (time.perf_counter() - begun))
    return [min(each) for each in times]


def growth(times: np.ndarray) -> float:
    return float(times[-1] / times[-2])


def over(lengths: list[int], times: np.ndarray) -> tuple[Curve, ...]:
    return (Curve(np.array(lengths), times),)


CASE = Case(
    name="cost_of_length",
    symptoms=("slow", "long_inputs"),
    title=N_("Twice the length, four times the scores"),
    happens=N_(
        "Each token scores every other, so a layer computes n times n scores a head. Written down they fill the "
        "memory first, and falling out of the cache they take more time than their number says."
    ),
    check=N_(
        "Time a layer at several lengths. Short texts hide it: the matrices of a layer cost 12 n d^2, scores 2 n^2 "
        "d; at a width of 768 and 128 tokens that is 3 %, at 4,608 tokens half."
    ),
    cure=N_(
        "One kernel that keeps no scores gives the same result with memory that grows with n; its products are still "
        "n times n. A window makes the work grow with n, and what lies outside is not seen: that is another model."
    ),
    question=Question(
        N_("Flash attention, one kernel, is used. How does the number of products grow with n?"),
        (N_("As n"), N_("As n log n"), N_("As n times n")),
        right=2,
        why=N_(
            "It is exact: every score is still computed, block by block. What grows with n only is the memory."
        ),
    ),
    broken=written_down,
    mended=one_kernel,
    run=run,
    settings=Settings,
    source="Dao et al. 2022, theorem 1",
)  # fmt: skip
