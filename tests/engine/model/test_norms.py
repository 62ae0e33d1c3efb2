from __future__ import annotations

import pytest
import torch

from engine.capture import capture, name_taps
from engine.model.norms import LayerNorm, Residual, RMSNorm


def test_layer_norm_takes_the_variance_of_all_there_is() -> None:
    expected = torch.tensor([-1.069043, -0.534522, 0.0, 1.603565])
    torch.testing.assert_close(LayerNorm(4, 1e-5)(torch.tensor([1.0, 2, 3, 6])), expected, rtol=0, atol=1e-6)


def test_layer_norm_by_its_formula() -> None:
    x = torch.randn(3, 5, dtype=torch.float64)
    norm = LayerNorm(5, 1e-3).double()
    norm.weight.data, norm.bias.data = torch.randn(2, 5, dtype=torch.float64)
    for row, out in zip(x.tolist(), norm(x).tolist(), strict=True):
        mean = sum(row) / 5
        deviation = (sum((number - mean) ** 2 for number in row) / 5 + 1e-3) ** 0.5
        scaled = zip(row, norm.weight.tolist(), norm.bias.tolist(), strict=True)
        assert out == pytest.approx([(n - mean) / deviation * w + b for n, w, b in scaled], abs=1e-10)


def test_a_layer_norm_without_bias_only_scales() -> None:
    norm = LayerNorm(4, 1e-5, bias=False)
    norm.weight.data = torch.tensor([1.0, 2, 3, 4])
    assert list(norm.state_dict()) == ["weight"]
    expected = torch.tensor([-1.069043, -1.069043, 0.0, 6.414259])
    torch.testing.assert_close(norm(torch.tensor([1.0, 2, 3, 6])), expected, rtol=0, atol=1e-5)


def test_constant_vectors_become_zeros() -> None:
    assert LayerNorm(4, 1e-12)(torch.full((4,), 7.0)).tolist() == [0, 0, 0, 0]


def test_rms_norm_by_its_formula() -> None:
    x = torch.randn(3, 5, dtype=torch.float64)
    norm = RMSNorm(5, 1e-3).double()
    norm.weight.data = torch.arange(1.0, 6.0, dtype=torch.float64)
    expected = x / (x.pow(2).mean(-1, keepdim=True) + 1e-3).sqrt() * norm.weight
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-12)
    by_hand = RMSNorm(3, 1.0)  # the mean square of 1, 2, 2 is 3, so the root with eps is 2
    assert by_hand(torch.tensor([1.0, 2.0, 2.0])).tolist() == [0.5, 1.0, 1.0]


def test_rms_norm_squares_in_single_precision() -> None:
    norm = RMSNorm(8, 1e-5).half()
    assert norm(torch.full((8,), 300.0, dtype=torch.float16)).tolist() == [1.0] * 8
    assert norm(torch.zeros(8, dtype=torch.float16)).tolist() == [0.0] * 8
    norm.weight.data.fill_(2)
    assert norm(torch.full((8,), 300.0, dtype=torch.float16)).tolist() == [2.0] * 8


X = torch.tensor([[[1.0, 2.0, 3.0]]])


@pytest.mark.parametrize("slot", ["pre", "post"])
def test_the_slots_of_a_residual(slot: str) -> None:
    norm = LayerNorm(3, 1e-5)
    residual = Residual(pre=norm if slot == "pre" else None, post=norm if slot == "post" else None)
    name_taps(residual)
    with capture() as trace:
        out = residual(X, lambda x: 2 * x)
    expected = X + 2 * norm(X) if slot == "pre" else norm(X + 2 * X)
    torch.testing.assert_close(out, expected)
    assert list(trace) == ["resid_pre", "normed", "branch", "resid_post"]
    assert torch.equal(trace["normed"], norm(X) if slot == "pre" else X)
    assert torch.equal(trace["branch"], 2 * trace["normed"])


def test_a_sandwich_has_a_norm_before_and_one_after() -> None:
    pre, after = LayerNorm(3, 1e-5), RMSNorm(3, 1e-5)
    pre.weight.data, after.weight.data = torch.tensor([1.0, 2, 3]), torch.tensor([3.0, 1, 2])
    residual = Residual(pre=pre, branch_norm=after)
    name_taps(residual)
    with capture() as trace:
        out = residual(X, lambda x: x + 1)
    torch.testing.assert_close(out, X + after(pre(X) + 1))
    torch.testing.assert_close(trace["branch"], after(pre(X) + 1))  # what is added, so that parts add up


def test_parallel_sublayers_read_one_stream() -> None:
    """The second branch reads x, and is added to what the first made of it."""
    residual = Residual(pre=LayerNorm(3, 1e-5))
    onto = torch.tensor([[[10.0, 20.0, 30.0]]])
    torch.testing.assert_close(residual(X, lambda x: 2 * x, onto=onto), onto + 2 * residual.pre(X))


def test_an_empty_residual_only_adds() -> None:
    assert Residual()(X, lambda x: x).tolist() == (2 * X).tolist()
