from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from engine.model.positions import (
    Alibi,
    Learned,
    Positions,
    Rope,
    Shaw,
    Sinusoidal,
    T5Buckets,
    alibi_slopes,
    apart,
    divided,
    linear,
    llama3,
)

BASE = 10_000.0


def turned(scheme: Positions, x: Tensor, at: Tensor) -> Tensor:
    return scheme.rotate(x, scheme.turn(at, x))


def rotated(numbers: list[float], position: int) -> Tensor:
    x = torch.tensor(numbers, dtype=torch.float64)[None, None, None]
    return turned(Rope(BASE, len(numbers)), x, torch.tensor([[position]]))[0, 0, 0]


def test_the_null_object_does_nothing_and_copies_nothing() -> None:
    at, x, heads = torch.arange(3)[None], torch.randn(1, 3, 4), torch.randn(1, 2, 3, 3)
    assert Positions().embed(x, at) is x
    assert Positions().turn(at, x) is None
    assert Positions().rotate(heads, None) is heads
    assert Positions().bias(heads, at, at, layer=0) is None
    assert Positions().value(heads, at, at, layer=0) is None


def test_sinusoidal_waves_as_in_the_paper() -> None:
    waves = Sinusoidal(BASE).embed(torch.zeros(1, 50, 8, dtype=torch.float64), torch.arange(50)[None])[0]
    for position in range(50):
        for i in range(4):
            angle = position / BASE ** (2 * i / 8)
            assert float(waves[position, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-12)
            assert float(waves[position, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-12)


def test_sinusoidal_has_no_longest_text() -> None:
    assert Sinusoidal(BASE).embed(torch.zeros(1, 3000, 4), torch.arange(3000)[None]).isfinite().all()


def test_rope_turns_halves() -> None:
    expected = torch.tensor([-1.984111, 1.959901, 2.462378, 4.019800], dtype=torch.float64)
    torch.testing.assert_close(rotated([1, 2, 3, 4], 1), expected, rtol=0, atol=1e-6)


def test_rope_feels_the_distance_only() -> None:
    q, k = [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]
    for position_q, position_k in [(3, 1), (7, 5), (1002, 1000)]:
        assert float(rotated(q, position_q) @ rotated(k, position_k)) == pytest.approx(-3.456429, abs=1e-6)


def test_rope_keeps_the_first_token_and_every_length() -> None:
    x = torch.randn(2, 3, 9, 8, dtype=torch.float64)
    out = turned(Rope(BASE, 8), x, torch.arange(9)[None])
    assert torch.equal(out[:, :, 0], x[:, :, 0])
    torch.testing.assert_close(out.norm(dim=-1), x.norm(dim=-1), rtol=0, atol=1e-12)


def test_learned_vectors_are_added() -> None:
    scheme = Learned(4, 2)
    scheme.table.weight.data = torch.randn(4, 2)  # memory that nobody has set may hold anything, NaN included
    x = torch.randn(1, 3, 2)
    torch.testing.assert_close(scheme.embed(x, torch.arange(3)[None]), x + scheme.table.weight[:3])


@pytest.mark.parametrize("scheme", [Sinusoidal(BASE), Rope(BASE, 8)], ids=["sinusoidal", "rope"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_computed_schemes_follow_the_precision_of_what_flows(scheme: Positions, dtype: torch.dtype) -> None:
    scheme = scheme.to(dtype)
    at = torch.tensor([[1000, 1001]])  # which are one number in bfloat16
    x = torch.ones(1, 2, 8, dtype=dtype)
    out = scheme.embed(x, at) if isinstance(scheme, Sinusoidal) else turned(scheme, x[None], at)[0]
    assert out.dtype == dtype
    assert not torch.equal(out[0, 0], out[0, 1])
    assert dict(scheme.state_dict()) == {}


def test_sinusoidal_with_an_odd_width_ends_in_a_sine() -> None:
    waves = Sinusoidal(BASE).embed(torch.zeros(1, 2, 5, dtype=torch.float64), torch.tensor([[0, 1]]))[0, 1]
    expected = [math.sin(1), math.cos(1), math.sin(BASE**-0.4), math.cos(BASE**-0.4), math.sin(BASE**-0.8)]
    assert waves.tolist() == pytest.approx(expected, abs=1e-12)


def test_marian_has_all_sines_first() -> None:
    waves = Sinusoidal(BASE, neighbours=False).embed(torch.zeros(1, 2, 8), torch.tensor([[0, 1]]))[0, 1]
    expected = [0.841471, 0.099833, 0.0099998, 0.001, 0.540302, 0.995004, 0.99995, 0.9999995]
    assert waves.tolist() == pytest.approx(expected, abs=1e-6)


def test_rope_turns_the_leading_part_only() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], dtype=torch.float64)[None, None, None]
    out = turned(Rope(BASE, 4), x, torch.tensor([[1]]))[0, 0, 0]
    assert out.tolist() == pytest.approx([-1.984111, 1.959901, 2.462378, 4.019800, 5, 6], abs=1e-6)


def test_linear_scaling_divides_positions() -> None:
    x = torch.randn(1, 1, 1, 8, dtype=torch.float64)
    stretched = turned(Rope(BASE, 8, linear(4)), x, torch.tensor([[12]]))
    torch.testing.assert_close(stretched, turned(Rope(BASE, 8), x, torch.tensor([[3]])), rtol=0, atol=1e-12)


def test_factors_stretch_each_wave_by_its_own() -> None:
    x = torch.randn(1, 1, 1, 8, dtype=torch.float64)
    stretched = turned(Rope(BASE, 8, divided([1, 2, 3, 4])), x, torch.tensor([[12]]))
    for pair, position in enumerate([12, 6, 4, 3]):
        alone = turned(Rope(BASE, 8), x, torch.tensor([[position]]))
        torch.testing.assert_close(
            stretched[..., [pair, pair + 4]], alone[..., [pair, pair + 4]], rtol=0, atol=1e-12
        )


def test_llama3_keeps_fast_waves_and_stretches_slow_ones() -> None:
    """theta 5e5, 64 numbers a head, factor 32: pairs 0-14 stay, 15-17 are blended, 18-31 are divided by 32."""
    frequency = 5e5 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)
    ratio = (llama3(32, low=1, high=4, original=8192)(frequency) / frequency).tolist()
    assert ratio[:15] == [1.0] * 15
    assert all(1 / 32 < one < 1 for one in ratio[15:18])
    assert ratio[18:] == pytest.approx([1 / 32] * 14)
    assert float(frequency[16]) == pytest.approx(0.00141421, abs=1e-8)
    assert float(frequency[16]) * ratio[16] == pytest.approx(0.00042956, abs=1e-8)


def test_t5_buckets_as_the_checkpoints_have_them() -> None:
    distances = [-200, -128, -64, -20, -16, -15, -8, -7, -1, 0, 1, 7, 8, 15, 16, 20, 64, 128, 200]
    both = [15, 15, 14, 10, 10, 9, 8, 7, 1, 0, 17, 23, 24, 25, 26, 26, 30, 31, 31]
    left = [31, 31, 26, 17, 16, 15, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    for both_sides, expected in [(True, both), (False, left)]:
        scheme = T5Buckets(1, 32, 128, both_sides=both_sides)
        assert scheme.bucket(torch.tensor([[distances]])).flatten().tolist() == expected


def test_t5_adds_a_heads_own_number() -> None:
    scheme = T5Buckets(2, 4, 8, both_sides=False)
    scheme.table.weight.data = torch.tensor([[0.0, 10.0], [1.0, 11.0], [2.0, 12.0], [3.0, 13.0]])
    at = torch.arange(3)[None]
    bias = scheme.bias(torch.zeros(1, 2, 3, 1), at, at, layer=0)
    # (head, query, key): distance 0 is bucket 0, 1 left is bucket 1, 2 left is bucket 2
    assert bias.tolist() == [[[[0, 0, 0], [1, 0, 0], [2, 1, 0]], [[10, 10, 10], [11, 10, 10], [12, 11, 10]]]]


def test_shaw_counts_distances_to_its_reach() -> None:
    at = torch.arange(5)[None]
    like = torch.zeros(1, 1, 5, 5)
    expected = [[2, 3, 4, 4, 4], [1, 2, 3, 4, 4], [0, 1, 2, 3, 4], [0, 0, 1, 2, 3], [0, 0, 0, 1, 2]]
    scheme = Shaw(1, reach=2, d_k=3, scale=1.0)
    assert scheme.index(at, at, like)[0, 0].tolist() == expected
    assert scheme.keys.shape == scheme.values.shape == (1, 5, 3)  # for a text of any length
    far = torch.arange(50)[None]
    index = scheme.index(far, far, torch.zeros(1, 1, 50, 50))[0, 0]
    assert index[0].tolist() == [2, 3, *[4] * 48]
    assert index[49].tolist() == [*[0] * 48, 1, 2]


def test_shaw_adds_relative_vectors_to_keys_and_values() -> None:
    """Against the paper's equations 3 and 4, with a vector for every pair of positions written out."""
    scheme = Shaw(2, reach=2, d_k=4, scale=0.5).double()
    for table in (scheme.keys, scheme.values):
        table.data = torch.randn(2, 5, 4, dtype=torch.float64)
    q = torch.randn(2, 3, 7, 4, dtype=torch.float64)
    weights = torch.rand(2, 3, 7, 7, dtype=torch.float64)
    at = torch.arange(7)[None]
    index = apart(at, at)[0].clamp(-2, 2) + 2
    for layer in (0, 1):
        a_k, a_v = scheme.keys[layer][index], scheme.values[layer][index]  # (query, key, d_k)
        bias = torch.einsum("bhid,ijd->bhij", q, a_k) / 2
        torch.testing.assert_close(scheme.bias(q, at, at, layer), bias, rtol=0, atol=1e-12)
        value = torch.einsum("bhij,ijd->bhid", weights, a_v)
        torch.testing.assert_close(scheme.value(weights, at, at, layer), value, rtol=0, atol=1e-12)


def test_alibi_slopes() -> None:
    assert alibi_slopes(1) == [2**-8]
    assert alibi_slopes(8) == [2.0**-i for i in range(1, 9)]
    # twelve heads: those of eight, then every second one of sixteen
    assert alibi_slopes(12) == [2.0**-i for i in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert all(len(alibi_slopes(n)) == n and len(set(alibi_slopes(n))) == n for n in range(1, 65))


def test_alibi_falls_with_distance() -> None:
    at = torch.arange(3)[None]
    bias = Alibi().bias(torch.zeros(1, 2, 3, 1), at, at, layer=0)
    assert bias[0, 0].tolist() == [[0, -1 / 16, -2 / 16], [-1 / 16, 0, -1 / 16], [-2 / 16, -1 / 16, 0]]
    assert bias[0, 1].tolist() == (bias[0, 0] / 16).tolist()
