"""Speculative decoding writes what the target would have written alone: to the token, or in distribution."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import AtlasError, Learned, Rope, T5Buckets
from engine.decoding import (
    GREEDY,
    Round,
    Sampling,
    greedy,
    speculate,
    target_reader,
    text_reader,
    texts,
    write,
)
from engine.decoding import speculation as module
from engine.decoding.filters import Chooser
from engine.decoding.writing import alone
from tests.engine.decoding_toys import decoder_only, encoder_decoder, is_likely, log_table, table_reader
from tests.engine.recipes import VOCAB

TARGET = log_table(a={"a": 0.5, "b": 0.3, "c": 0.2}, b={"a": 0.1, "b": 0.1, "c": 0.8}, c={"a": 0.6, "c": 0.4})
DRAFT = log_table(a={"a": 0.2, "b": 0.7, "c": 0.1}, b={"a": 0.3, "b": 0.3, "c": 0.4}, c={"b": 0.5, "c": 0.5})
START = torch.tensor([[0]])


def prompt(length: int) -> Tensor:
    return torch.randint(0, VOCAB, (1, length), generator=torch.Generator().manual_seed(length))


class Branching(Chooser):
    """Takes at each random decision the branch that a script says, and the first one beyond it.

    weight: how likely the tokens were that it drew; refusals: how often it said a number that refuses.
    """

    def __init__(self, script: list[int], sampling: Sampling) -> None:
        super().__init__(sampling)
        self.script, self.taken, self.weight, self.refusals = script, list[tuple[int, int]](), 1.0, 0

    def branch(self, count: int) -> int:
        index = self.script[len(self.taken)] if len(self.taken) < len(self.script) else 0
        self.taken.append((index, count))
        return index

    def choose(self, filtered: Tensor) -> Tensor:
        return self.draw(filtered.softmax(-1))

    def draw(self, weights: Tensor) -> Tensor:
        possible = weights[0].nonzero()[:, 0]
        token = possible[self.branch(len(possible))]
        self.weight *= float(weights[0, token] / weights.sum())
        return token[None]

    def uniform(self) -> float:
        refuse = self.branch(2)
        self.refusals += refuse
        return [0.0, 1 - 1e-12][refuse]

    def following(self) -> list[int] | None:
        """The script of the next branch of all there are, or None after the last."""
        left = [*self.taken]
        while left and left[-1][0] + 1 == left[-1][1]:
            left.pop()
        return [index for index, _ in left[:-1]] + [left[-1][0] + 1] if left else None


def chance_of(round: Round, refusals: int) -> float:
    """How likely the target's verdicts were: the accepted ones, and the refusal after them.

    0 where the number said and the verdict differ, since what is sure to be accepted or refused has one branch only.
    """
    accepted = math.prod(round.chances[: round.accepted])
    refused = 1 - round.chances[round.accepted] if round.rejected else 1.0
    return accepted * refused * (refusals == bool(round.rejected))


def every_pair(ahead: int, sampling: Sampling, patch: pytest.MonkeyPatch) -> dict[tuple[int, ...], float]:
    """How likely each pair of first tokens is, by every course that the rounds can take."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    script: list[int] | None = []
    while script is not None:
        chooser = Branching(script, sampling)
        patch.setattr(module, "Chooser", lambda *_, chooser=chooser: chooser)
        written: list[int] = []
        for round in speculate(
            table_reader(TARGET), table_reader(DRAFT), START, ahead=ahead, max_new_tokens=9, max_len=30
        ):
            chooser.weight *= chance_of(round, chooser.refusals)
            chooser.refusals = 0
            written += round.ids
            if len(written) >= 2 or not chooser.weight:
                break
        found[tuple(written[:2])] += chooser.weight
        script = chooser.following()
    return {pair: share for pair, share in found.items() if share}


@pytest.mark.parametrize(
    ("ahead", "sampling"),
    [(1, Sampling()), (1, Sampling(temperature=0.6, top_k=2)), (2, Sampling(top_k=2))],
    ids=str,
)
def test_exactly_as_likely_as_the_target_alone(
    ahead: int, sampling: Sampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = Chooser(sampling).filtered(TARGET, torch.zeros(3, 3, dtype=torch.bool)).softmax(-1)
    expected = {
        (one, two): float(alone[0, one] * alone[one, two])
        for one, two in itertools.product(range(3), repeat=2)
        if alone[0, one] * alone[one, two]
    }
    found = every_pair(ahead, sampling, monkeypatch)
    assert found == pytest.approx(expected, abs=1e-9)
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)


def test_tokens_come_as_often_as_the_target_alone_would_write_them() -> None:
    """Whatever token comes before: fifty texts of twenty-five."""
    counts: Counter[tuple[int, int]] = Counter()
    for seed in range(50):
        limits: dict[str, Any] = {"max_new_tokens": 25, "max_len": 30, "sampling": Sampling(seed=seed)}
        rounds = speculate(table_reader(TARGET), table_reader(DRAFT), START, ahead=3, **limits)
        counts.update(itertools.pairwise([0, *(id for round in rounds for id in round.ids)]))
    for before in range(3):
        shares = TARGET[before].exp().tolist()
        possible = [token for token in range(3) if shares[token]]
        found = [counts[before, token] for token in possible]
        assert sum(found) == sum(counts[before, token] for token in range(3))
        assert is_likely(found, [shares[token] for token in possible])
    assert not is_likely([counts[0, token] for token in range(3)], DRAFT[0].exp().tolist())


DRAFTS = {"another model": 2, "the same model": 1}


@pytest.mark.parametrize("scheme", [Learned(), Rope(), T5Buckets(buckets=8, farthest=9)], ids=str)
@pytest.mark.parametrize("ahead", [1, 3, 6])
@pytest.mark.parametrize("seed", DRAFTS.values(), ids=DRAFTS)
@pytest.mark.parametrize("sampling", [GREEDY, Sampling(temperature=0, repetition_penalty=1.4)], ids=str)
def test_greedy_text_is_the_targets_own(scheme, ahead: int, seed: int, sampling: Sampling) -> None:
    target, draft, ids = decoder_only(1, positions=scheme), decoder_only(seed, n_layers=1), prompt(5)
    draft = target if seed == 1 else draft
    limits: dict[str, Any] = {"max_new_tokens": 14, "max_len": 64, "sampling": sampling}
    rounds = list(speculate(text_reader(target), text_reader(draft), ids, ahead=ahead, **limits))
    alone = texts(write(text_reader(target), ids, **limits), 1)[0]
    assert list(itertools.chain.from_iterable(round.ids for round in rounds)) == alone
    assert [round.stop for round in rounds] == [*[None] * (len(rounds) - 1), "length"]
    if draft is target:
        assert not any(round.rejected for round in rounds)


def test_each_round_reports_what_became_of_the_proposals_and_forgets_what_was_refused() -> None:
    target, draft, ids = decoder_only(1), decoder_only(2), prompt(5)
    readers = text_reader(target), text_reader(draft)
    text, refused = ids[0].tolist(), 0
    for round in speculate(*readers, ids, ahead=3, max_new_tokens=12, max_len=64):
        assert round.proposed[: round.accepted] + round.rejected == round.proposed
        assert round.ids[:-1] == round.proposed[: round.accepted]
        assert len(round.chances) == len(round.draft) == len(round.proposed) == len(round.target.logits) - 1
        assert set(round.chances) <= {0.0, 1.0}
        with torch.no_grad():
            whole = target(torch.tensor([[*text, *round.proposed]]))[0, len(text) - 1 :]
        torch.testing.assert_close(round.target.logits, whole, rtol=0, atol=1e-10)
        text += round.ids
        refused += len(round.rejected)
        assert round.slots == readers[0].slots == len(text) - 1
        assert readers[1].slots <= len(text) - 1
        # keys and values of 2 layers, 4 heads, 4 numbers a head, 8 bytes a number
        assert round.nbytes == 2 * 2 * 4 * 4 * 8 * round.slots
    assert refused > 0


def test_the_target_reads_once_a_round() -> None:
    target, reads = decoder_only(), []
    target.embedding.register_forward_hook(lambda _, given, out: reads.append(given[0].shape[1]))
    rounds = list(
        speculate(text_reader(target), same(target), prompt(5), ahead=3, max_new_tokens=8, max_len=64)
    )
    assert [len(round.ids) for round in rounds] == [4, 4]
    assert reads == [5 + 3, 1 + 3]


def same(target):
    """A reader of the same model that the target's hooks do not hear."""
    other = decoder_only()
    other.load_state_dict(target.state_dict())
    return text_reader(other)


def test_it_stops_behind_eos_even_among_accepted_tokens() -> None:
    model, ids = decoder_only(), prompt(5)
    alone = texts(greedy(text_reader(model), ids, max_new_tokens=6, max_len=64), 1)[0]
    end = alone[2]
    limits: dict[str, Any] = {"max_new_tokens": 6, "max_len": 64, "eos_id": end}
    rounds = list(speculate(text_reader(model), text_reader(model), ids, ahead=5, **limits))
    assert rounds[-1].stop == "end"
    assert [id for round in rounds for id in round.ids] == alone[: alone.index(end) + 1]
    assert rounds[-1].accepted == len(rounds[-1].ids)


@pytest.mark.parametrize(
    ("limits", "count", "stop"),
    [
        ({"max_new_tokens": 5, "max_len": 64}, 5, "length"),
        ({"max_new_tokens": 5, "max_len": 8}, 3, "full"),
        ({"max_new_tokens": 1, "max_len": 64}, 1, "length"),
        ({"max_new_tokens": 0, "max_len": 64}, 0, None),
        ({"max_new_tokens": 5, "max_len": 5}, 0, None),
    ],
)
def test_it_stops_at_its_limits_and_says_which(limits: dict[str, Any], count: int, stop: str | None) -> None:
    model = decoder_only(positions=Learned())
    rounds = list(speculate(text_reader(model), text_reader(model), prompt(5), ahead=4, **limits))
    assert sum(len(round.ids) for round in rounds) == count
    assert [round.stop for round in rounds[-1:]] == [stop] * (count > 0)


def test_targets_of_an_encoder_decoder() -> None:
    big, small, source, begin = encoder_decoder(1), encoder_decoder(2), prompt(6), torch.tensor([[1]])
    limits: dict[str, Any] = {"max_new_tokens": 9, "max_len": 64}
    rounds = speculate(target_reader(big, source), target_reader(small, source), begin, ahead=3, **limits)
    alone = texts(greedy(target_reader(big, source), begin, **limits), 1)[0]
    assert [id for round in rounds for id in round.ids] == alone


def test_suppressed_tokens_are_neither_proposed_nor_written() -> None:
    for seed in range(20):
        limits: dict[str, Any] = {"max_new_tokens": 6, "max_len": 64, "sampling": Sampling(seed=seed)}
        readers = table_reader(TARGET), table_reader(DRAFT)
        for round in speculate(*readers, START, ahead=2, suppressed=(1,), **limits):
            assert 1 not in (*round.proposed, *round.ids)


def test_the_same_seed_writes_the_same_and_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()

    def drawn(seed: int) -> list[int]:
        limits: dict[str, Any] = {"max_new_tokens": 20, "max_len": 64, "sampling": Sampling(seed=seed)}
        rounds = speculate(table_reader(TARGET), table_reader(DRAFT), START, ahead=3, **limits)
        return [id for round in rounds for id in round.ids]

    assert drawn(4) == drawn(4)
    assert len({tuple(drawn(seed)) for seed in range(5)}) == 5
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"ahead": 0}, "ahead 0 is out of range: ahead = 1, 2, 3"),
        ({"max_new_tokens": -1}, "max_new_tokens -1 is out of range"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AtlasError, match=sentence):
        speculate(
            table_reader(TARGET),
            table_reader(DRAFT),
            START,
            **{"max_new_tokens": 3, "max_len": 9, **settings},
        )


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((2, 1), "one prompt is gone on from at a time, not 2"),
        ((0, 2), "prompts must be of shape .row, pos. with at least one row, not .0, 2."),
        ((1, 0), "text 0 has no token to go on from"),
    ],
)
def test_more_or_less_than_one_prompt_is_refused(shape: tuple[int, int], sentence: str) -> None:
    with pytest.raises(AtlasError, match=sentence):
        alone(torch.zeros(shape, dtype=torch.long))


def test_a_reader_reads_one_text_of_one_model() -> None:
    target, draft = table_reader(TARGET), table_reader(DRAFT)
    with pytest.raises(AtlasError, match="target and draft are one reader: each needs one of its own"):
        speculate(target, target, START, max_new_tokens=3, max_len=9)
    first = speculate(target, draft, START, max_new_tokens=3, max_len=9, ahead=1)
    read = len(next(first).ids)
    second = speculate(target, table_reader(DRAFT), START, max_new_tokens=3, max_len=9)
    with pytest.raises(AtlasError, match=f"this reader has read {read} tokens already"):
        next(second)


def test_models_of_different_vocabularies_are_refused() -> None:
    other = table_reader(torch.zeros(4, 4))
    with pytest.raises(AtlasError, match="the draft knows 4 tokens and the target 3"):
        next(speculate(table_reader(TARGET), other, START, max_new_tokens=3, max_len=9))
