"""Cases of attention itself."""

from __future__ import annotations

import math

import pytest
import torch

from engine.clinic.cases.scores_not_scaled import bare, entropy, jacobian, saturated, scaled
from tests.engine.clinic.numbers import measured, values


def test_the_measures_of_a_softmax_by_hand() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert entropy(weights) == pytest.approx(0.5)  # nothing, and all there can be
    assert jacobian(weights) == pytest.approx(0.25)  # 1 - 1, and 1 - 1/2
    assert saturated(weights) == 50.0


def test_scores_are_divided_by_the_root_of_the_width() -> None:
    q, k = torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0] * 4])
    assert bare(q, k)[0, 0].item() == pytest.approx(1 / (1 + math.exp(-2)))
    assert scaled(q, k)[0, 0].item() == pytest.approx(1 / (1 + math.exp(-1)))


def test_unscaled_scores_have_decided_before_anything_is_learned() -> None:
    spread, rows, trace = values(measured("scores_not_scaled", d_k=128))
    assert spread == (pytest.approx(0.10, abs=0.01), pytest.approx(0.87, abs=0.01))
    assert rows == (pytest.approx(38, abs=3), 0.0)
    assert trace == (pytest.approx(0.19, abs=0.02), pytest.approx(0.93, abs=0.01))


def test_the_gradient_of_queries_is_larger_without_the_scale() -> None:
    """Which is why the case does not say that it vanishes."""

    def gradient(listing) -> float:
        torch.manual_seed(0)
        x, w_q, w_k = (torch.randn(*shape) for shape in ((32, 64), (64, 64), (64, 64)))
        w_q = (w_q / 8).requires_grad_()
        (listing(x @ w_q, x @ w_k / 8) @ torch.randn(32, 8)).square().sum().backward()
        assert w_q.grad is not None
        return w_q.grad.norm().item()

    assert gradient(bare) > gradient(scaled)
