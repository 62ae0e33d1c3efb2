from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from engine.config import AtlasError
from engine.model.positions import Learned, Positions, Rope, Sinusoidal

BASE = 10_000.0


def rotated(numbers: list[float], position: int) -> Tensor:
    x = torch.tensor(numbers, dtype=torch.float64)[None, None, None]
    return Rope(BASE).rotate(x, torch.tensor([position]))[0, 0, 0]


def test_the_null_object_does_nothing_and_copies_nothing() -> None:
    at, x, heads = torch.arange(3), torch.randn(1, 3, 4), torch.randn(1, 2, 3, 3)
    assert Positions().embed(x, at) is x
    assert Positions().rotate(heads, at) is heads
    assert Positions().bias(heads, at, at) is heads


def test_sinusoidal_waves_as_in_the_paper() -> None:
    waves = Sinusoidal(BASE).embed(torch.zeros(1, 50, 8, dtype=torch.float64), torch.arange(50))[0]
    for position in range(50):
        for i in range(4):
            angle = position / BASE ** (2 * i / 8)
            assert float(waves[position, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-12)
            assert float(waves[position, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-12)


def test_sinusoidal_has_no_longest_text() -> None:
    assert Sinusoidal(BASE).embed(torch.zeros(1, 3000, 4), torch.arange(3000)).isfinite().all()


def test_rope_turns_halves() -> None:
    expected = torch.tensor([-1.984111, 1.959901, 2.462378, 4.019800], dtype=torch.float64)
    torch.testing.assert_close(rotated([1, 2, 3, 4], 1), expected, rtol=0, atol=1e-6)


def test_rope_feels_the_distance_only() -> None:
    q, k = [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]
    for position_q, position_k in [(3, 1), (7, 5), (1002, 1000)]:
        assert float(rotated(q, position_q) @ rotated(k, position_k)) == pytest.approx(-3.456429, abs=1e-6)


def test_rope_keeps_the_first_token_and_every_length() -> None:
    x = torch.randn(2, 3, 9, 8, dtype=torch.float64)
    turned = Rope(BASE).rotate(x, torch.arange(9))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1), rtol=0, atol=1e-12)


def test_learned_vectors_are_added() -> None:
    scheme = Learned(4, 2)
    x = torch.randn(1, 3, 2)
    torch.testing.assert_close(scheme.embed(x, torch.arange(3)), x + scheme.table.weight[:3])


def test_learned_positions_say_their_limit() -> None:
    with pytest.raises(AtlasError, match="9 tokens are too many: this model has learned 8 positions"):
        Learned(8, 4).embed(torch.zeros(1, 9, 4), torch.arange(9))


@pytest.mark.parametrize("scheme", [Sinusoidal(BASE), Rope(BASE)], ids=["sinusoidal", "rope"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_computed_schemes_follow_the_precision_of_what_flows(scheme: Positions, dtype: torch.dtype) -> None:
    scheme = scheme.to(dtype)
    at = torch.tensor([1000, 1001])  # which are one number in bfloat16
    x = torch.ones(1, 2, 8, dtype=dtype)
    out = scheme.embed(x, at) if isinstance(scheme, Sinusoidal) else scheme.rotate(x[None], at)[0]
    assert out.dtype == dtype
    assert not torch.equal(out[0, 0], out[0, 1])
    assert dict(scheme.state_dict()) == {}
