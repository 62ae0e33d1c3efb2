from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from engine.capture import capture, name_taps
from engine.model.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward

X = torch.randn(2, 3, 4)


@pytest.mark.parametrize(
    ("name", "at_1", "at_minus_2_25"),
    [
        ("relu", 1.0, 0.0),
        ("gelu", 0.8413447, -0.0275051),
        ("gelu_tanh", 0.8411920, -0.0272013),
        ("silu", 0.7310586, -0.2145362),
    ],
)
def test_activations_are_the_ones_their_names_say(name: str, at_1: float, at_minus_2_25: float) -> None:
    values = ACTIVATIONS[name](torch.tensor([1.0, -2.25]))
    torch.testing.assert_close(values, torch.tensor([at_1, at_minus_2_25]), rtol=0, atol=1e-6)


def gelu(x: float) -> float:
    """x times the chance that a normal number is less than x (Hendrycks & Gimpel 2016, 2)."""
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x: float) -> float:
    """Their approximation, equation 2."""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(("name", "formula"), [("gelu", gelu), ("gelu_tanh", gelu_tanh)])
def test_both_gelus_by_their_formulas(name: str, formula: Callable[[float], float]) -> None:
    numbers = [n / 8 for n in range(-48, 49)]
    expected = torch.tensor([formula(n) for n in numbers], dtype=torch.float64)
    got = ACTIVATIONS[name](torch.tensor(numbers, dtype=torch.float64))
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("bias", [True, False])
def test_plain(bias: bool) -> None:
    module = FeedForward(4, 6, F.relu, bias=bias)
    name_taps(module)
    with capture() as trace:
        out = module(X)
    torch.testing.assert_close(trace["pre"], module.W_in(X))
    torch.testing.assert_close(trace["hidden"], trace["pre"].clamp_min(0))
    torch.testing.assert_close(out, module.W_out(trace["hidden"]))
    assert (module.W_in.bias is not None) == bias


def test_gated() -> None:
    module = GatedFeedForward(4, 6, F.silu, bias=False)
    name_taps(module)
    with capture() as trace:
        out = module(X)
    gate = X @ module.W_gate.weight.T
    torch.testing.assert_close(trace["pre"], gate)
    torch.testing.assert_close(trace["hidden"], gate * torch.sigmoid(gate) * (X @ module.W_in.weight.T))
    torch.testing.assert_close(out, trace["hidden"] @ module.W_out.weight.T)
