"""Which tokens may be drawn, and how likely: small functions from logits to logits, applied one after the other.

The order, that of most implementations:

    suppress             tokens that are never written
    penalize             repetition penalty, on what the model gave
    temper               temperature
    top_k, top_p, min_p  each cuts what the one before has left, whose probabilities sum to 1 again
    likeliest            temperature 0: only the likeliest token, which is greedy decoding

A token that is cut has the logit -inf. Settings that change nothing add no filter. Axes: row (a text), vocab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from engine.config import AtlasError
from engine.decoding.limits import check
from engine.errors import is_whole, shown

Logits = Float[Tensor, "row vocab"]
Seen = Bool[Tensor, "row vocab"]  # which tokens a text holds already, its prompt included
Filter = Callable[[Tensor, Tensor], Tensor]  # (logits, seen) -> logits


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn. As it stands: from the model's own probabilities.

    temperature: logits are divided by it; 0 takes the likeliest token, and nothing is drawn.
    top_k: only the k likeliest; 0 for all (Fan et al. 2018).
    top_p: only the fewest likeliest whose probabilities reach p; 1 for all, 0 for one (Holtzman et al. 2020).
    min_p: only those at least min_p times as probable as the likeliest; 0 for all (Nguyen et al. 2024).
    repetition_penalty: a positive logit of a token that the text holds is divided by it, a negative one multiplied;
        1 for none (Keskar et al. 2019).
    seed: of a generator of its own, so that the same settings write the same text.
    Raises AtlasError for a value outside its limit.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check(**asdict(self))
        for field in fields(self):  # a fraction, or a number of numpy's, as the plain number that torch takes
            object.__setattr__(self, field.name, type(field.default)(getattr(self, field.name)))

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    def filters(self, suppressed: Sequence[int] = ()) -> list[Filter]:
        """Those that change anything, in their order."""
        first = [
            (suppress(suppressed), len(suppressed) > 0),
            (penalize(self.repetition_penalty), self.repetition_penalty != 1),
        ]
        drawn = [
            (temper(self.temperature), self.temperature != 1),
            (top_k(self.top_k), self.top_k > 0),
            (top_p(self.top_p), self.top_p < 1),
            (min_p(self.min_p), self.min_p > 0),
        ]
        chain = [*first, (likeliest, True)] if self.greedy else [*first, *drawn]
        return [filter for filter, changes in chain if changes]


GREEDY = Sampling(temperature=0.0)


def check_sampling(sampling: Any) -> None:
    """Raises AtlasError for what is no Sampling."""
    if not isinstance(sampling, Sampling):
        raise AtlasError(
            "sampling must be a Sampling, such as Sampling(temperature=0.8), not {kind}",
            kind=type(sampling).__name__,
        )


def _ids(suppressed: Any) -> tuple[int, ...]:
    """Raises AtlasError for what is no sequence of token ids."""
    if not isinstance(suppressed, Sequence) or not all(map(is_whole, suppressed)):
        raise AtlasError("suppressed takes a sequence of token ids, not {given}", given=shown(suppressed))
    return tuple(map(int, suppressed))


class Chooser:
    """Draws tokens as its settings say, from a generator of its own."""

    def __init__(self, sampling: Sampling, suppressed: Sequence[int] = ()) -> None:
        check_sampling(sampling)
        self.greedy = sampling.greedy
        self.chain = sampling.filters(_ids(suppressed))
        self.generator = torch.Generator("cpu").manual_seed(sampling.seed)

    def filtered(self, logits: Logits, seen: Seen) -> Logits:
        """The logits of what may be drawn, in fp32 at least. Raises AtlasError where nothing may."""
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        for filter in self.chain:
            logits = filter(logits, seen)
        for highest in logits.amax(dim=-1).tolist():
            if not math.isfinite(highest):
                raise AtlasError(
                    "no token can be chosen: the highest of {n} logits is {highest}",
                    n=logits.shape[1],
                    highest=highest,
                )
        return logits

    def choose(self, filtered: Logits) -> Int[Tensor, " row"]:
        return filtered.argmax(dim=-1) if self.greedy else self.draw(filtered.softmax(dim=-1))

    def draw(self, weights: Float[Tensor, "row vocab"]) -> Int[Tensor, " row"]:
        """One token for each row, as probable as its weight says; a row need not sum to 1."""
        upto = weights.cpu().cumsum(dim=-1, dtype=torch.float64)  # on the processor: Metal has no float64
        whole = upto[:, -1:].contiguous()
        share = torch.rand(len(weights), 1, generator=self.generator, dtype=torch.float64, device="cpu")
        first_beyond = torch.searchsorted(upto, whole * share, right=True)
        last_possible = torch.searchsorted(upto, whole)
        return torch.minimum(first_beyond, last_possible)[:, 0].to(weights.device)

    def uniform(self) -> float:
        """A number from 0 up to, but not including, 1."""
        return float(torch.rand((), generator=self.generator, dtype=torch.float64, device="cpu"))


def suppress(ids: Sequence[int]) -> Filter:
    """Tokens that are never written. Raises AtlasError for one that the model has not."""

    def filter(logits: Logits, seen: Seen) -> Logits:
        limit = logits.shape[1]
        if unknown := [id for id in ids if not 0 <= id < limit]:
            raise AtlasError(
                "token {id} cannot be suppressed: the model has {limit} tokens", id=unknown[0], limit=limit
            )
        return logits.index_fill(1, torch.tensor(ids, device=logits.device), -math.inf)

    return filter


def penalize(penalty: float) -> Filter:
    def filter(logits: Logits, seen: Seen) -> Logits:
        return torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)

    return filter


def temper(temperature: float) -> Filter:
    def filter(logits: Logits, seen: Seen) -> Logits:
        limits = torch.finfo(logits.dtype)
        by = min(max(temperature, limits.tiny), limits.max)
        # the highest becomes 0, so that a temperature close to 0 does not make it infinite
        return (logits - logits.amax(dim=-1, keepdim=True)) / by

    return filter


def top_k(k: int) -> Filter:
    def filter(logits: Logits, seen: Seen) -> Logits:
        kept = logits.topk(min(k, logits.shape[1]), dim=-1)
        return nothing(logits).scatter_(1, kept.indices, kept.values)

    return filter


def top_p(p: float) -> Filter:
    def filter(logits: Logits, seen: Seen) -> Logits:
        ordered, indices = logits.sort(dim=-1, descending=True, stable=True)
        each = ordered.cpu().softmax(dim=-1, dtype=torch.float64)
        cut = each.cumsum(dim=-1) - each >= p  # the likelier ones reach p without it
        cut[:, 0] = False
        return logits.scatter(1, indices, ordered.masked_fill(cut.to(logits.device), -math.inf))

    return filter


def min_p(p: float) -> Filter:
    def filter(logits: Logits, seen: Seen) -> Logits:
        lowest = logits.amax(dim=-1, keepdim=True) + math.log(p)
        return logits.masked_fill(logits < lowest, -math.inf)

    return filter


def likeliest(logits: Logits, seen: Seen) -> Logits:
    """The first one, where several are as likely."""
    highest = logits.argmax(dim=-1, keepdim=True)
    return nothing(logits).scatter_(1, highest, logits.gather(1, highest))


def nothing(logits: Logits) -> Logits:
    return torch.full_like(logits, -math.inf)


def seen_in(ids: Int[Tensor, "row pos"], lengths: Int[Tensor, " row"], vocab: int) -> Seen:
    """Which tokens each text holds; its filling is none of them."""
    seen = torch.zeros(len(ids), vocab, dtype=torch.bool, device=ids.device)
    row, pos = (torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]).nonzero(as_tuple=True)
    seen[row, ids[row, pos]] = True
    return seen
