"""Gradients against differences of the function itself, in double precision; and that they are finite everywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.func import functional_call

from engine.capture import capture, name_taps
from engine.model.attention import CORES, Attention, Sight
from engine.model.cache import NoCache
from engine.model.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward
from engine.model.masks import Causal, Padding
from engine.model.norms import LayerNorm, Residual, RMSNorm
from engine.model.positions import (
    Alibi,
    Learned,
    Positions,
    Rope,
    Shaw,
    Sinusoidal,
    T5Buckets,
    linear,
)
from engine.model.stack import NOWHERE, CrossBlock

D_MODEL, D_K, N = 6, 4, 4
SCHEMES: dict[str, Callable[[], Positions]] = {
    "none": Positions,
    "sinusoidal": lambda: Sinusoidal(100),
    "learned": lambda: Learned(N, D_MODEL),
    "rope": lambda: Rope(100, D_K),
    "rope of a part, stretched": lambda: Rope(100, 2, linear(3)),
    "shaw": lambda: Shaw(1, 2, D_K, D_K**-0.5),
    "t5": lambda: T5Buckets(2, 4, 3, both_sides=True),
    "alibi": Alibi,
}


class Attending(nn.Module):
    """Attention with a scheme of its own, both of whose parameters are differentiated."""

    def __init__(self, positions: Positions, core: str, visible: Tensor, qk_norm: bool = False) -> None:
        super().__init__()
        norms = (LayerNorm(D_K), LayerNorm(D_K)) if qk_norm else None
        self.attention = Attention(D_MODEL, 2, 1, D_K, bias=True, core=CORES[core], norms=norms)
        self.positions = positions
        self.at, self.visible = torch.arange(N)[None], visible
        name_taps(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.positions.embed(x, self.at)
        turn = self.positions.turn(self.at, x)
        return self.attention(x, x, Sight(self.positions, self.at, self.at, self.visible, turn=turn))


def drawn(module: nn.Module) -> nn.Module:
    for parameter in module.double().parameters():
        nn.init.normal_(parameter, std=0.7)
    return module


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def agrees(module: nn.Module, x: Tensor) -> bool:
    """Gradients for x and every parameter against central differences, along directions drawn at random."""
    names, parameters = zip(*module.named_parameters(), strict=True)

    def run(x: Tensor, *values: Tensor) -> Tensor:
        return functional_call(module, dict(zip(names, values, strict=True)), (x,))

    return torch.autograd.gradcheck(run, (x, *parameters), fast_mode=True)


VISIBLE = {
    "causal": Causal()(torch.arange(N)[None], torch.arange(N)[None]),
    "nowhere": torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]).bool()[None],
}


@pytest.mark.parametrize("visible", VISIBLE.values(), ids=VISIBLE)
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_attention(scheme: Callable[[], Positions], core: str, visible: Tensor) -> None:
    module, x = drawn(Attending(scheme(), core, visible)), numbers(1, N, D_MODEL)
    assert agrees(module, x)
    with capture((), grad=True):
        assert agrees(module, x)


def test_attention_with_norms_of_queries_and_keys() -> None:
    assert agrees(drawn(Attending(Positions(), "softmax", VISIBLE["causal"], True)), numbers(1, N, D_MODEL))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
def test_feed_forward(kind: type[FeedForward | GatedFeedForward], activation: str) -> None:
    assert agrees(drawn(kind(4, 5, ACTIVATIONS[activation], bias=True)), numbers(1, 3, 4))


@pytest.mark.parametrize("norm", [LayerNorm, RMSNorm])
def test_norms(norm: Callable[[int, float], nn.Module]) -> None:
    assert agrees(drawn(norm(5, 1e-5)), numbers(1, 3, 5))


class Around(nn.Module):
    def __init__(self, residual: Residual) -> None:
        super().__init__()
        self.residual, self.sublayer = residual, nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.residual(x, self.sublayer)


PLACEMENTS: dict[str, Callable[[], Residual]] = {
    "pre": lambda: Residual(pre=RMSNorm(4, 1e-5)),
    "post": lambda: Residual(post=LayerNorm(4)),
    "sandwich": lambda: Residual(pre=LayerNorm(4), branch_norm=LayerNorm(4)),
    "deepnorm": lambda: Residual(post=LayerNorm(4), skip_scale=1.7),
}


@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
def test_residuals(placement: Callable[[], Residual]) -> None:
    assert agrees(drawn(Around(placement())), numbers(1, 3, 4))


# ── a query that may look nowhere ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("listen", [True, False], ids=["explicit", "fused"])
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_a_row_without_keys_poisons_no_gradient(
    scheme: Callable[[], Positions], core: str, listen: bool
) -> None:
    """Band of two, of which the last two keys are filling; the loss is of the two rows that matter."""
    module, x = drawn(Attending(scheme(), core, VISIBLE["nowhere"])), numbers(2, N, D_MODEL)
    if listen:
        with capture("*", grad=True) as trace:
            out = module(x)
        assert trace["attention.weights"][:, :, 3].eq(0).all()
    else:
        out = module(x)
    assert torch.equal(out[:, 3], out[0, 3].expand(2, -1))  # the bias of W_o, whatever was read
    out[:, :2].sum().backward()
    for name, parameter in [("x", x), *module.named_parameters()]:
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("listen", [True, False], ids=["explicit", "fused"])
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("real", [(4, 0), (0, 0)])
def test_a_source_of_filling_only_poisons_no_gradient(real: tuple[int, int], core: str, listen: bool) -> None:
    def attention() -> Attention:
        return Attention(D_MODEL, 2, 2, D_K, bias=True, core=CORES[core])

    block = drawn(
        CrossBlock(
            self_attention=attention(),
            self_attention_residual=Residual(pre=LayerNorm(D_MODEL)),
            cross_attention=attention(),
            cross_attention_residual=Residual(pre=LayerNorm(D_MODEL)),
            feed_forward=FeedForward(D_MODEL, 5, F.gelu, bias=True),
            feed_forward_residual=Residual(pre=LayerNorm(D_MODEL)),
        )
    )
    x, memory, at = numbers(2, N, D_MODEL), numbers(2, N, D_MODEL), torch.arange(N)[None]
    here = Sight(Alibi(), at, at, Causal()(at, at))
    there = Sight(NOWHERE, at, at, Padding(at < torch.tensor(real)[:, None])(at, at), NoCache().once)
    if listen:
        with capture((), grad=True):
            out = block(x, here, memory, there)
    else:
        out = block(x, here, memory, there)
    out[0].sum().backward()
    assert out.isfinite().all()
    for name, parameter in [("x", x), ("memory", memory), *block.named_parameters()]:
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
