"""Beam search: the few best texts so far go on together, and the whole tree is told. Axes: row (a beam), vocab.

score = log P(text) / length^alpha, where length counts every token written, EOS included, as the sum of the
log-probabilities does. alpha 0 compares probabilities, which favours short texts; alpha 1 is the mean over the tokens.
(Wu et al. 2016, equation 14, divide by ((5 + length) / 6)^alpha instead, which is flatter for short texts.)

Of all expansions of a step the best `beams` are looked at for texts that have ended, and the best `beams` that have not
ended go on. The search ends when as many texts have ended as there are beams and the best that goes on scores, at its
present length, no better than the last of these; with alpha 0 it could never again. Texts at the limit end as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.decoding.filters import Chooser, Sampling
from engine.decoding.limits import check
from engine.decoding.reader import Reader
from engine.decoding.writing import Prompt, Stop, alone, why
from engine.errors import need_kind

LISTED = 8  # expansions of each beam that a step lists at least; the others are in its logits


@dataclass(frozen=True)
class Expansion:
    """A text that goes on, by one token.

    parent: which of the beams of the step before it continues, the first at the first step.
    log_prob: of the token; total: of the whole text; score: of the whole text, with its length taken into account.
    finished: it ends here; kept: it goes on, or it is among the best of the step and finished.
    """

    parent: int
    token: int
    log_prob: float
    total: float
    score: float
    finished: bool = False
    kept: bool = False


@dataclass(frozen=True)
class Hypothesis:
    """A finished text. total: its log-probability; stop: see Step."""

    ids: tuple[int, ...]
    total: float
    score: float
    stop: Stop


@dataclass(frozen=True, eq=False)
class BeamStep:
    """Every beam goes on by one token.

    logits: what the model gave for each beam of the step before.
    expansions: of each beam at least its 8 likeliest, the best score first.
    beams: the texts that go on, in the order that the next step's `parent` counts.
    finished: all so far, the best first.
    slots, nbytes: keys in each layer's cache, and bytes of the whole cache, when the tokens were chosen.
    """

    logits: Float[Tensor, "row vocab"]
    expansions: list[Expansion]
    beams: list[tuple[int, ...]]
    finished: list[Hypothesis]
    stop: Stop | None
    slots: int
    nbytes: int


def beam_search(
    reader: Reader,
    ids: Int[Tensor, "1 pos"],
    *,
    beams: int,
    length_penalty: float = 1.0,
    max_new_tokens: int,
    max_len: int,
    eos_id: int | None = None,
    suppressed: Sequence[int] = (),
) -> Iterator[BeamStep]:
    """Goes on from one prompt. length_penalty: alpha. The last step's first finished text is the result.

    Yields nothing where there is room for nothing. Raises AtlasError for settings out of range, for an empty prompt and
    for more than one.
    """
    need_kind("reader", reader, Reader)
    check(beams=beams, length_penalty=length_penalty)
    check(max_new_tokens=max_new_tokens, max_len=max_len, eos_id=eos_id)
    prompt = alone(ids)
    room = min(max_new_tokens, max_len - ids.shape[1])
    search = _Search(beams, length_penalty, room, max_new_tokens, eos_id, Chooser(Sampling(), suppressed))
    return search.steps(reader, prompt)


@dataclass(frozen=True)
class _Search:
    beams: int
    alpha: float
    room: int
    asked: int
    eos_id: int | None
    chooser: Chooser

    def steps(self, reader: Reader, prompt: Prompt) -> Iterator[BeamStep]:
        if self.room < 1:
            return
        logits, _ = prompt.read(reader)
        beams: list[tuple[int, ...]] = [()]
        totals, finished = [0.0], list[Hypothesis]()
        for length in range(1, self.room + 1):
            expansions = self.judged(self.expand(logits, totals, length), length)
            finished = [*finished, *self.ended(expansions, beams, length)]
            finished.sort(key=by_score, reverse=True)
            alive = [one for one in expansions if one.kept and not one.finished]
            beams = [(*beams[one.parent], one.token) for one in alive]
            stop = self.stop(alive, finished, length)
            yield BeamStep(logits, expansions, beams, finished, stop, reader.slots, reader.nbytes)
            if stop:
                return
            totals = [one.total for one in alive]
            reader.keep([one.parent for one in alive])
            tokens = torch.tensor([[one.token] for one in alive], device=logits.device)
            logits = reader.read(tokens)[:, -1]

    def expand(self, logits: Float[Tensor, "row vocab"], totals: list[float], length: int) -> list[Expansion]:
        """The likeliest expansions of each beam, as many as could be kept or more; the best score first."""
        log_probs = logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
        log_probs = self.chooser.filtered(log_probs, torch.zeros_like(log_probs, dtype=torch.bool))
        top = log_probs.topk(min(max(LISTED, 2 * self.beams), logits.shape[1]))
        found = [
            Expansion(parent, token, log_prob, total + log_prob, scored(total + log_prob, length, self.alpha))
            for parent, total in enumerate(totals)
            for token, log_prob in zip(top.indices[parent].tolist(), top.values[parent].tolist(), strict=True)
            if log_prob > -math.inf
        ]
        return sorted(found, key=by_score, reverse=True)

    def judged(self, expansions: list[Expansion], length: int) -> list[Expansion]:
        """The same, told which of them end here, and which are kept."""
        going = count()
        return [
            replace(one, finished=ends, kept=(place if ends else next(going)) < self.beams)
            for place, one in enumerate(expansions)
            for ends in [self.why(one, length) is not None]
        ]

    def ended(
        self, expansions: list[Expansion], beams: list[tuple[int, ...]], length: int
    ) -> list[Hypothesis]:
        return [
            Hypothesis((*beams[one.parent], one.token), one.total, one.score, stop)
            for one in expansions
            if one.kept and (stop := self.why(one, length))
        ]

    def why(self, one: Expansion, length: int) -> Stop | None:
        return why(one.token == self.eos_id, length, self.room, self.asked)

    def stop(self, alive: list[Expansion], finished: list[Hypothesis], length: int) -> Stop | None:
        if length == self.room:
            return why(ended=False, written=length, room=self.room, asked=self.asked)
        enough = len(finished) >= self.beams
        settled = not alive or (enough and alive[0].score <= finished[self.beams - 1].score)
        return "end" if settled else None


def by_score(one: Expansion | Hypothesis) -> tuple[float, float]:
    return one.score, one.total


def scored(total: float, length: int, alpha: float) -> float:
    """total / length^alpha. An alpha so large that the power is beyond all numbers leaves 0."""
    return total * float(length) ** -alpha
