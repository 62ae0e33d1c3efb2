"""Beam search: a table whose texts can be counted on two hands, all texts there are, and `transformers`."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import AtlasError, Learned, Rope, T5Buckets
from engine.decoding import (
    BeamStep,
    Hypothesis,
    Reader,
    beam_search,
    greedy,
    target_reader,
    text_reader,
    texts,
)
from engine.decoding.beams import scored
from engine.model.transformer import DecoderOnly
from engine.pretrained.loader import load
from tests.engine.decoding_toys import Rereading, decoder_only, encoder_decoder, log_table, table_reader
from tests.engine.pretrained import checkpoints
from tests.engine.recipes import VOCAB

NAMES = ["start", "A", "B", "x", "y", "end"]
TABLE = log_table(
    start={"A": 0.6, "B": 0.4},
    A={"x": 0.5, "y": 0.3, "end": 0.2},
    B={"x": 0.9, "end": 0.1},
    x={"end": 1.0},
    y={"end": 1.0},
    end={"end": 1.0},
)


def search(beams: int, make=table_reader, **settings: Any) -> list[BeamStep]:
    limits = {"max_new_tokens": 10, "max_len": 20, "eos_id": NAMES.index("end"), **settings}
    return list(beam_search(make(TABLE), torch.tensor([[0]]), beams=beams, **limits))


def named(ids) -> str:
    return " ".join(NAMES[id] for id in ids)


def uncached(table: Tensor) -> Reader:
    return Rereading(lambda ids: table[ids])


@pytest.mark.parametrize("make", [table_reader, uncached])
@pytest.mark.parametrize(
    ("beams", "expected"),
    [
        (1, {"A x end": 0.30}),
        (2, {"B x end": 0.36, "A x end": 0.30}),
        (5, {"B x end": 0.36, "A x end": 0.30, "A y end": 0.18, "A end": 0.12, "B end": 0.04}),
        (50, {"B x end": 0.36, "A x end": 0.30, "A y end": 0.18, "A end": 0.12, "B end": 0.04}),
    ],
)
def test_the_ranked_list(make, beams: int, expected: dict[str, float]) -> None:
    steps = search(beams, make, length_penalty=0)
    found = steps[-1].finished
    assert [named(one.ids) for one in found] == list(expected)
    assert [one.total for one in found] == pytest.approx([math.log(share) for share in expected.values()])
    assert [one.score for one in found] == [one.total for one in found]
    assert {one.stop for one in found} == {"end"}
    assert steps[-1].stop == "end"


def test_one_beam_is_greedy() -> None:
    found = search(1)[-1].finished[0]
    assert found.total == pytest.approx(-1.2040, abs=5e-5)
    steps = greedy(table_reader(TABLE), torch.tensor([[0]]), max_new_tokens=10, max_len=20, eos_id=5)
    assert list(found.ids) == texts(steps, 1)[0]


def test_the_whole_tree_is_told() -> None:
    """Two beams: what each step considered, what it kept, what ended."""
    first, second, third = search(2, length_penalty=0)
    tree = [
        [
            (one.parent, NAMES[one.token], round(math.exp(one.total), 2), one.kept, one.finished)
            for one in step.expansions
        ]
        for step in (first, second, third)
    ]
    assert tree[0] == [(0, "A", 0.6, True, False), (0, "B", 0.4, True, False)]
    assert tree[1] == [
        (1, "x", 0.36, True, False),
        (0, "x", 0.30, True, False),
        (0, "y", 0.18, False, False),
        (0, "end", 0.12, False, True),
        (1, "end", 0.04, False, True),
    ]
    assert tree[2] == [(0, "end", 0.36, True, True), (1, "end", 0.30, True, True)]
    assert [[named(beam) for beam in step.beams] for step in (first, second, third)] == [
        ["A", "B"], ["B x", "A x"], [],
    ]  # fmt: skip
    assert second.expansions[0].log_prob == pytest.approx(math.log(0.9))
    assert [step.slots for step in (first, second, third)] == [1, 2, 3]
    assert [len(step.logits) for step in (first, second, third)] == [1, 2, 2]


def test_beams_are_distinct_and_ended_ones_do_not_grow() -> None:
    for step in search(5):
        assert len(set(step.beams)) == len(step.beams)
        assert len({one.ids for one in step.finished}) == len(step.finished)
        assert all(NAMES.index("end") not in beam for beam in step.beams)
        assert all(one.ids.count(NAMES.index("end")) == 1 for one in step.finished)


@pytest.mark.parametrize(
    ("share", "length", "alpha", "expected"),
    [
        (0.30, 2, 0, -1.2040),
        (0.25, 4, 0, -1.3863),
        (0.30, 2, 1, -0.6020),
        (0.25, 4, 1, -0.3466),
        (0.25, 4, 0.5, -0.6931),
        (0.25, 4, 1e6, 0.0),
    ],
)
def test_the_length_penalty(share: float, length: int, alpha: float, expected: float) -> None:
    assert scored(math.log(share), length, alpha) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("alpha", "best", "score"), [(0, "A end", -1.2040), (1, "B x y end", -0.3466)])
def test_without_a_penalty_the_short_text_wins_and_with_it_the_long_one(
    alpha: float, best: str, score: float
) -> None:
    """ln 0.30 with 2 tokens against ln 0.25 with 4."""
    table = log_table(
        start={"A": 0.5, "B": 0.5},
        A={"end": 0.6, "A": 0.4},
        B={"x": 1.0},
        x={"y": 0.5, "x": 0.5},
        y={"end": 1.0},
        end={"end": 1.0},
    )
    settings: dict[str, Any] = {
        "beams": 3,
        "length_penalty": alpha,
        "max_new_tokens": 4,
        "max_len": 20,
        "eos_id": 5,
    }
    *_, last = beam_search(table_reader(table), torch.tensor([[0]]), **settings)
    assert (named(last.finished[0].ids), last.finished[0].score) == (best, pytest.approx(score, abs=5e-5))


@pytest.mark.parametrize(
    ("settings", "count", "stop"),
    [
        ({"max_new_tokens": 2}, 2, "length"),
        ({"max_len": 2}, 1, "full"),
        ({"max_new_tokens": 0}, 0, None),
        ({"max_len": 1}, 0, None),
    ],
)
def test_texts_at_the_limit_end_as_they_are(settings: dict[str, int], count: int, stop: str | None) -> None:
    steps = search(2, **settings)
    assert len(steps) == count
    if steps:
        assert steps[-1].stop == stop
        assert steps[-1].beams == []
        assert {one.stop for one in steps[-1].finished} == {stop}


def test_suppressed_tokens_are_never_taken_and_others_keep_their_probability() -> None:
    found = search(5, suppressed=(NAMES.index("x"),), length_penalty=0)[-1].finished
    assert [named(one.ids) for one in found] == ["A y end", "A end", "B end"]
    assert [math.exp(one.total) for one in found] == pytest.approx([0.18, 0.12, 0.04])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beams": 0}, "beams 0 is out of range: beams = 1, 2, 3"),
        ({"beams": -4}, "beams -4 is out of range"),
        ({"beams": 513}, "beams 513 is out of range: beams = 1, 2, 3, …, 512"),
        ({"beams": 10**9}, "beams 1000000000 is out of range"),
        ({"length_penalty": -0.5}, "length_penalty -0.5 is out of range: 0 ≤ length_penalty < ∞"),
        ({"length_penalty": math.nan}, "length_penalty nan is out of range"),
        ({"max_new_tokens": -1}, "max_new_tokens -1 is out of range"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AtlasError, match=sentence):
        search(**{"beams": 2, **settings})


def test_an_empty_prompt_gets_a_sentence() -> None:
    nothing = torch.zeros(1, 0, dtype=torch.long)
    with pytest.raises(AtlasError, match="text 0 has no token to go on from"):
        beam_search(table_reader(TABLE), nothing, beams=2, max_new_tokens=3, max_len=9)


def prompt(length: int) -> Tensor:
    return torch.randint(0, VOCAB, (1, length), generator=torch.Generator().manual_seed(length))


@pytest.mark.parametrize("scheme", [Learned(), Rope(), T5Buckets(buckets=8, farthest=9)], ids=str)
@pytest.mark.parametrize("beams", [1, 3])
def test_with_a_cache_and_without_are_the_same(scheme, beams: int) -> None:
    model, ids = decoder_only(positions=scheme), prompt(5)
    settings: dict[str, Any] = {"beams": beams, "max_new_tokens": 8, "max_len": 64, "eos_id": 2}
    cached = list(beam_search(text_reader(model), ids, **settings))
    read_again = list(beam_search(Rereading(model), ids, **settings))
    assert [step.beams for step in cached] == [step.beams for step in read_again]
    assert [one.ids for one in cached[-1].finished] == [one.ids for one in read_again[-1].finished]
    assert all(one.total == pytest.approx(total_of(model, ids, one), abs=1e-9) for one in cached[-1].finished)


@torch.no_grad()
def total_of(model, ids: Tensor, one: Hypothesis) -> float:
    """The sum of log-probabilities, of the whole text read at once."""
    log_probs = model(torch.cat([ids, torch.tensor([one.ids])], dim=1)).log_softmax(-1)[0, ids.shape[1] - 1 :]
    return sum(float(log_probs[place, id]) for place, id in enumerate(one.ids))


def test_targets_too_and_the_memory_is_read_once() -> None:
    model, source, lengths = encoder_decoder(), prompt(6), torch.tensor([4])
    begin, settings = torch.tensor([[1]]), dict[str, Any](beams=3, max_new_tokens=6, max_len=64)
    *_, cached = beam_search(target_reader(model, source, lengths), begin, **settings)
    with torch.no_grad():
        memory = model.encode(source[:, :4])
    *_, read_again = beam_search(Rereading(model.decode, memory=memory), begin, **settings)
    assert [one.ids for one in cached.finished] == [one.ids for one in read_again.finished]
    totals = [one.total for one in read_again.finished]
    assert [one.total for one in cached.finished] == pytest.approx(totals, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_wide_enough_it_finds_the_best_of_all_texts(seed: int) -> None:
    """Every text of up to four tokens out of five, told from one another by counting them all."""
    logits = torch.randn(5, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    log_probs, end = logits.log_softmax(-1), 4
    every = {}
    for ids in itertools.chain.from_iterable(itertools.product(range(5), repeat=n) for n in (1, 2, 3, 4)):
        if end not in ids[:-1] and (ids[-1] == end or len(ids) == 4):
            every[ids] = sum(float(log_probs[a, b]) for a, b in itertools.pairwise((0, *ids)))
    settings: dict[str, Any] = {
        "beams": 400,
        "length_penalty": 0,
        "max_new_tokens": 4,
        "max_len": 20,
        "eos_id": end,
    }
    *_, last = beam_search(table_reader(logits), torch.tensor([[0]]), **settings)
    assert {one.ids for one in last.finished} == set(every)
    assert [one.total for one in last.finished] == pytest.approx(sorted(every.values(), reverse=True))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_search_of_transformers(seed: int, tmp_path) -> None:
    theirs: Any = checkpoints.llama(seed)
    model, ids = load(checkpoints.save(theirs, tmp_path)).model, prompt(4)
    assert isinstance(model, DecoderOnly)
    for beams, alpha, eos in itertools.product((2, 4), (0.0, 1.0), (2, 7)):
        settings = {"num_beams": beams, "length_penalty": alpha, "eos_token_id": eos, "max_new_tokens": 9}
        expected = theirs.generate(
            ids, attention_mask=torch.ones_like(ids), pad_token_id=0, do_sample=False, early_stopping=False,
            num_return_sequences=beams, return_dict_in_generate=True, output_scores=True, **settings,
        )  # fmt: skip
        limits: dict[str, Any] = {"max_new_tokens": 9, "max_len": 64, "eos_id": eos}
        reader = text_reader(model)
        *_, last = beam_search(reader, ids, beams=beams, length_penalty=alpha, **limits)
        found = last.finished[:beams]
        for one, row in zip(found, expected.sequences[:, 4:].tolist(), strict=True):
            assert list(one.ids) == row[: len(one.ids)]
            assert set(row[len(one.ids) :]) <= {0, eos}
        assert [one.score for one in found] == pytest.approx(expected.sequences_scores.tolist(), abs=1e-4)
