"""The filters one by one on numbers written out, all together against `transformers`, and what may be drawn."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import LogitsProcessorList
from transformers.generation import logits_process as theirs

from engine.config import AtlasError
from engine.decoding.filters import (
    Chooser,
    Filter,
    Sampling,
    likeliest,
    min_p,
    penalize,
    seen_in,
    suppress,
    temper,
    top_k,
    top_p,
)
from engine.decoding.limits import check
from tests.engine.decoding_toys import is_likely

INF, NAN = math.inf, math.nan
SHARES = torch.tensor([[0.1, 0.4, 0.05, 0.3, 0.15]])


def kept(filter: Filter, logits: Tensor) -> list[int]:
    nothing_seen = torch.zeros_like(logits, dtype=torch.bool)
    return filter(logits, nothing_seen)[0].isfinite().nonzero()[:, 0].tolist()


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (top_k(1), [1]),
        (top_k(3), [1, 3, 4]),
        (top_k(5), [0, 1, 2, 3, 4]),
        (top_k(99), [0, 1, 2, 3, 4]),
        (top_p(0), [1]),
        (top_p(0.39), [1]),
        (top_p(0.41), [1, 3]),
        (top_p(0.69), [1, 3]),
        (top_p(0.71), [1, 3, 4]),
        (top_p(0.96), [0, 1, 2, 3, 4]),
        (min_p(1), [1]),
        (min_p(0.74), [1, 3]),  # 0.3 / 0.4 = 0.75
        (min_p(0.76), [1]),
        (min_p(0.24), [0, 1, 3, 4]),  # 0.1 / 0.4 = 0.25
        (suppress([1, 4]), [0, 2, 3]),
        (likeliest, [1]),
    ],
)
def test_what_is_kept(filter: Filter, expected: list[int]) -> None:
    assert kept(filter, SHARES.log()) == expected


@pytest.mark.parametrize("filter", [top_k(2), top_p(0.5), min_p(0.1)])
def test_what_is_kept_keeps_its_logit(filter: Filter) -> None:
    out = filter(SHARES.log(), torch.zeros(1, 5, dtype=torch.bool))
    assert torch.equal(out[out.isfinite()], SHARES.log()[out.isfinite()])


def test_of_equals_exactly_k_are_kept_and_the_first_is_the_likeliest() -> None:
    same = torch.zeros(1, 6)
    assert len(kept(top_k(2), same)) == 2
    assert kept(likeliest, same) == [0]
    assert kept(top_p(0), same) == [0]
    assert len(kept(min_p(1), same)) == 6


def test_temperature_divides() -> None:
    logits = torch.tensor([[1.0, 3.0, -1.0]])
    halved = temper(2)(logits, torch.zeros(1, 3, dtype=torch.bool)).softmax(-1)
    weights = [math.exp(value / 2) for value in (1, 3, -1)]
    torch.testing.assert_close(halved, torch.tensor([[weight / sum(weights) for weight in weights]]))


def test_the_repetition_penalty_lowers_what_was_seen_whatever_its_sign() -> None:
    logits = torch.tensor([[3.0, -2.0, 3.0, -2.0, 0.0]])
    seen = torch.tensor([[True, True, False, False, True]])
    assert penalize(2)(logits, seen).tolist() == [[1.5, -4.0, 3.0, -2.0, 0.0]]


def test_seen_is_what_each_text_holds_without_its_filling() -> None:
    ids, lengths = torch.tensor([[2, 0, 1], [3, 0, 0]]), torch.tensor([3, 1])
    assert seen_in(ids, lengths, 4).tolist() == [[True, True, True, False], [False, False, False, True]]


SETTINGS = [
    Sampling(temperature=t, top_k=k, top_p=p, min_p=m, repetition_penalty=r)
    for t, k, p, m, r in itertools.product([0.3, 1, 1.7], [0, 3, 50], [0.2, 0.9, 1], [0, 0.1], [1, 1.3])
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_whole_chain_is_that_of_transformers(dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(0)
    for settings in SETTINGS:
        logits = 3 * torch.randn(4, 12, generator=draw, dtype=dtype)
        ids = torch.randint(0, 12, (4, 5), generator=draw)
        chain: list[Any] = [theirs.SuppressTokensLogitsProcessor([7])]
        if settings.repetition_penalty != 1:
            chain.append(theirs.RepetitionPenaltyLogitsProcessor(settings.repetition_penalty))
        chain.append(theirs.TemperatureLogitsWarper(float(settings.temperature)))
        if settings.top_k:
            chain.append(theirs.TopKLogitsWarper(settings.top_k))
        chain.append(theirs.TopPLogitsWarper(float(settings.top_p)))
        chain.append(theirs.MinPLogitsWarper(float(settings.min_p)))
        expected = LogitsProcessorList(chain)(cast(Any, ids), cast(Any, logits.clone())).softmax(-1)
        chooser = Chooser(settings, suppressed=[7])
        ours = chooser.filtered(logits, seen_in(ids, torch.full((4,), 5), 12)).softmax(-1)
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-7, msg=str(settings))


WITHIN: list[dict[str, Any]] = [
    {"temperature": 0},
    {"temperature": 1e-320},
    {"temperature": 1e-5},
    {"temperature": 1e300},
    {"top_k": 0},
    {"top_k": 1},
    {"top_k": 10**9},
    {"top_p": 0},
    {"top_p": 1},
    {"top_p": 1e-300},
    {"min_p": 0},
    {"min_p": 1},
    {"min_p": 1e-320},
    {"repetition_penalty": 1e-6},
    {"repetition_penalty": 1e6},
    {"seed": 2**63 - 1},
    {"temperature": 1e-320, "top_k": 1, "top_p": 0, "min_p": 1, "repetition_penalty": 2},
]
EDGES = [Sampling(**edge) for edge in WITHIN]
LOGITS = {
    "one token": [[0.5]],
    "some ruled out": [[-INF, 1.0, -INF, 0.5]],
    "one left": [[-INF, -INF, 3.0, -INF]],
    "equal": [[0.0, 0.0, 0.0]],
    "far apart": [[1e30, -1e30, 0.0]],
}


@pytest.mark.parametrize("logits", LOGITS.values(), ids=LOGITS)
@pytest.mark.parametrize("settings", EDGES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_edges_draw_a_token_that_is_not_ruled_out(settings: Sampling, logits: list, dtype) -> None:
    values = torch.tensor(logits, dtype=dtype)
    chooser = Chooser(settings)
    seen = torch.zeros_like(values, dtype=torch.bool)
    seen[0, 0] = True
    filtered = chooser.filtered(values, seen)
    assert filtered.dtype == torch.float32
    assert not filtered.isnan().any()
    assert values[0, int(chooser.choose(filtered))] > -INF


@pytest.mark.parametrize("values", [[0.1, 2.0, 2.0, -1.0], [5.0], [-INF, -3.0]])
@pytest.mark.parametrize("settings", [{"temperature": 0}, {"top_k": 1}, {"top_p": 0}], ids=str)
def test_these_are_greedy(settings: dict, values: list[float]) -> None:
    logits = torch.tensor([values])
    for seed in range(5):
        chooser = Chooser(Sampling(seed=seed, **settings))
        chosen = chooser.choose(chooser.filtered(logits, torch.zeros_like(logits, dtype=torch.bool)))
        assert logits[0, chosen] == logits.max()


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        *(("temperature", value, "0 ≤ temperature < ∞") for value in (-0.1, NAN, INF)),
        *(("top_k", value, "top_k = 0, 1, 2, …") for value in (-1, -(10**9))),
        *(("top_p", value, "0 ≤ top_p ≤ 1") for value in (-0.1, 1.1, NAN, INF)),
        *(("min_p", value, "0 ≤ min_p ≤ 1") for value in (-0.1, 1.1, NAN)),
        *(
            ("repetition_penalty", value, "10⁻⁶ ≤ repetition_penalty ≤ 10⁶")
            for value in (0, -1.0, NAN, INF, 1e-308, 9e-7, 1e7)
        ),
        *(("seed", value, "0 ≤ seed < 2^63") for value in (-1, 2**63)),
    ],
)
def test_what_is_out_of_range_is_refused_with_its_limit(name: str, value, limit: str) -> None:
    with pytest.raises(AtlasError) as refused:
        Sampling(**{name: value})
    assert str(refused.value) == f"{name} {value} is out of range: {limit}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "1"),
        ("temperature", True),
        ("top_k", 2.5),
        ("top_k", NAN),
        ("seed", None),
        ("max_new_tokens", 1.5),
        ("max_new_tokens", True),
        ("beams", NAN),
        ("length_penalty", 1j),
    ],
)
def test_what_is_no_such_number_is_refused_too(name: str, value) -> None:
    with pytest.raises(AtlasError, match=f"{name} {value!r} is out of range: "):
        check(**{name: value})


def test_numbers_of_other_kinds_become_plain_ones() -> None:
    given = {"temperature": Fraction(1, 2), "top_k": np.int64(2), "seed": np.int64(3)}
    odd = object.__new__(Sampling)  # past the tests' own check of types
    odd.__dict__.update(given, repetition_penalty=Fraction(1, 4))
    odd.__post_init__()
    assert odd == Sampling(temperature=0.5, top_k=2, repetition_penalty=0.25, seed=3)
    assert [type(value) for value in asdict(odd).values()] == [float, int, float, float, float, int]
    chooser = Chooser(odd)
    logits = torch.tensor([[1.0, 2.0, 3.0]])
    chooser.choose(chooser.filtered(logits, torch.zeros_like(logits, dtype=torch.bool)))


def test_tokens_come_as_often_as_their_probability() -> None:
    logits = torch.tensor([[1.0, 0.0, 2.0, -1.0, 0.5]]).expand(20_000, -1)
    chooser = Chooser(Sampling(temperature=0.7, top_k=4, seed=5))
    filtered = chooser.filtered(logits, torch.zeros_like(logits, dtype=torch.bool))
    counts = torch.bincount(chooser.choose(filtered), minlength=5)
    weights = [math.exp(value / 0.7) for value in (1.0, 0.0, 2.0, 0.5)]
    assert counts[3] == 0
    assert is_likely(counts[[0, 1, 2, 4]].tolist(), [weight / sum(weights) for weight in weights])
    assert not is_likely(counts[[0, 1, 2, 4]].tolist(), [0.21, 0.05, 0.65, 0.09])
