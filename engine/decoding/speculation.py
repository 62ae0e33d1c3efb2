"""Speculative decoding: a small model proposes tokens, the large one reads them all at once and accepts or refuses.

(Leviathan et al. 2023, algorithm 1; Chen et al. 2023.) With p of the target and q of the draft, each after the same
filters, a proposed token x is accepted with probability min(1, p(x) / q(x)). At the first refusal a token is drawn from
max(0, p - q), made to sum to 1; if none is refused, one more is drawn from p. What is written is distributed as if the
target had written it alone; at temperature 0 it is the same text. Axes: pos (tokens of one round), vocab.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.config import AtlasError
from engine.decoding.filters import GREEDY, Chooser, Sampling, seen_in
from engine.decoding.limits import check
from engine.decoding.reader import Reader
from engine.decoding.writing import Stop, alone, why
from engine.errors import need_kind


class Expected(NamedTuple):
    """What a model expects at some places of a text, and what the settings make of it."""

    logits: Float[Tensor, "places vocab"]
    filtered: Float[Tensor, "places vocab"]

    @property
    def probabilities(self) -> Float[Tensor, "places vocab"]:
        return self.filtered.cpu().softmax(dim=-1, dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Round:
    """What the draft proposed, what became of it, and the tokens that are written.

    proposed: the draft's tokens; accepted: how many of them, from the first on, are written.
    ids: what is written: the accepted tokens and one of the target's own, unless EOS comes before it.
    chances: with what probability each proposed token was to be accepted.
    draft: what the draft expected at the place of each; target: what the target did there, and one place further.
    slots, nbytes: keys in each layer's cache of the target, and its bytes, after what was refused is dropped.
    """

    proposed: list[int]
    accepted: int
    ids: list[int]
    chances: list[float]
    draft: list[Expected]
    target: Expected
    stop: Stop | None
    slots: int
    nbytes: int

    @property
    def rejected(self) -> list[int]:
        """The proposed tokens that are not written: the one refused, and those after it."""
        return self.proposed[self.accepted :]


def speculate(
    target: Reader,
    draft: Reader,
    ids: Int[Tensor, "1 pos"],
    *,
    ahead: int = 4,
    max_new_tokens: int,
    max_len: int,
    eos_id: int | None = None,
    sampling: Sampling = GREEDY,
    suppressed: Sequence[int] = (),
) -> Iterator[Round]:
    """Goes on from one prompt. ahead: tokens proposed in a round; max_len: what both models can read.

    Yields nothing where there is room for nothing. Raises AtlasError for settings out of range, for more or less than
    one prompt, for readers that have read already, and for two models that do not know equally many tokens.
    """
    for what, reader in (("target", target), ("draft", draft)):
        need_kind(what, reader, Reader)
    check(ahead=ahead, max_new_tokens=max_new_tokens, max_len=max_len, eos_id=eos_id)
    text = alone(ids).ids[0].tolist()
    room = min(max_new_tokens, max_len - len(text))
    if target is draft:
        raise AtlasError("target and draft are one reader: each needs one of its own")
    pair = _Pair(target, draft, Chooser(sampling, suppressed), ids.device)
    return pair.rounds(text, ahead, room, max_new_tokens, eos_id)


class Verdict(NamedTuple):
    """accepted: of the proposed tokens so many; own: the target's token after them; chances: see Round."""

    accepted: int
    own: int
    chances: list[float]


@dataclass(frozen=True, eq=False)
class _Pair:
    target: Reader
    draft: Reader
    chooser: Chooser
    device: torch.device

    def rounds(
        self, text: list[int], ahead: int, room: int, asked: int, eos_id: int | None
    ) -> Iterator[Round]:
        self.target.check_fresh()
        self.draft.check_fresh()
        written, stop = 0, None
        while written < room and stop is None:
            # each round also writes a token of the target's own, which needs room too
            proposed, draft = self.propose(text, min(ahead, room - written - 1))
            target = self.expected(self.target, text, proposed)
            accepted, own, chances = self.compare(proposed, draft, target)
            new = until([*proposed[:accepted], own], eos_id)
            text, written = [*text, *new], written + len(new)
            stop = why(new[-1] == eos_id, written, room, asked)
            for reader in (self.target, self.draft):
                reader.drop(reader.slots - (len(text) - 1))  # the last token will be read in the next round
            yield Round(
                proposed, min(accepted, len(new)), new, chances, draft, target, stop,
                self.target.slots, self.target.nbytes,
            )  # fmt: skip

    def propose(self, text: list[int], n: int) -> tuple[list[int], list[Expected]]:
        """n tokens of the draft, and what it expected at the place of each."""
        proposed, found = list[int](), list[Expected]()
        for _ in range(n):
            found.append(self.expected(self.draft, [*text, *proposed], []))
            proposed += self.chooser.choose(found[-1].filtered).tolist()
        return proposed, found

    def expected(self, reader: Reader, text: list[int], proposed: list[int]) -> Expected:
        """After the text, and after each of the proposed tokens. The reader goes on from what it has read."""
        whole = torch.tensor([[*text, *proposed]], device=self.device)
        places = len(proposed) + 1
        logits = reader.read(whole[:, reader.slots :])[0, -places:]
        lengths = torch.arange(len(text), len(text) + places, device=self.device)
        seen = seen_in(whole.expand(places, -1), lengths, logits.shape[-1])
        return Expected(logits, self.chooser.filtered(logits, seen))

    def compare(self, proposed: list[int], draft: list[Expected], target: Expected) -> Verdict:
        p = target.probabilities
        q = [one.probabilities[0] for one in draft]
        if q and len(q[0]) != p.shape[1]:
            raise AtlasError(
                "the draft knows {draft} tokens and the target {target}: they must share one vocabulary",
                draft=len(q[0]),
                target=p.shape[1],
            )
        chances = [chance(p[place], q[place], token) for place, token in enumerate(proposed)]
        for place, accept in enumerate(chances):
            if self.chooser.uniform() >= accept:
                return Verdict(place, self.draw(residual(p[place], q[place])), chances)
        return Verdict(len(proposed), self.draw(p[-1]), chances)

    def draw(self, weights: Float[Tensor, " vocab"]) -> int:
        return int(self.chooser.draw(weights[None]))


def chance(p: Float[Tensor, " vocab"], q: Float[Tensor, " vocab"], token: int) -> float:
    """With what probability a token that was drawn from q is accepted: min(1, p / q)."""
    return min(1.0, float(p[token] / q[token]))


def residual(p: Float[Tensor, " vocab"], q: Float[Tensor, " vocab"]) -> Float[Tensor, " vocab"]:
    """max(0, p - q): what q gives too seldom. Not made to sum to 1."""
    rest = (p - q).clamp_min(0)
    return rest if rest.any() else p  # a refusal where p equals q is rounding


def until(ids: list[int], eos_id: int | None) -> list[int]:
    return ids[: ids.index(eos_id) + 1] if eos_id in ids else ids
