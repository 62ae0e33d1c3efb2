"""Fresh weights are those of their scheme: sizes measured, seeds kept, gains where they belong."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import FeedForwardConfig, Learned, Shaw, StackConfig, T5Buckets, TransformerConfig
from engine.model.build import build
from engine.model.initialise import SCHEMES
from engine.model.norms import Residual

D_MODEL, D_FF, LAYERS = 128, 512, 8


def made(name: Any, seed: int = 0, **changes: Any) -> dict[str, Tensor]:
    """Every parameter of a decoder-only model of eight layers."""
    settings: dict[str, Any] = {"n_layers": LAYERS, "n_heads": 4, "d_ff": D_FF, **changes}
    config = TransformerConfig(
        vocab_size=2000,
        d_model=D_MODEL,
        max_len=64,
        decoder=StackConfig(**settings),
        tied_embeddings=False,
        initialisation=name,
    )
    return {path: parameter.detach() for path, parameter in build(config, seed).named_parameters()}


measured = cache(made)  # for tests that only look


def ending(weights: dict[str, Tensor], *names: str) -> Tensor:
    """All numbers of the parameters whose path ends so."""
    return torch.cat([value.flatten() for path, value in weights.items() if path.endswith(names)])


SQUARE, IN, OUT = ("W_q.weight", "W_k.weight", "W_v.weight"), ("W_in.weight",), ("W_out.weight",)
TABLE, BIASES = ("embedding.table.weight",), ("W_q.bias", "W_in.bias", "W_out.bias")


@pytest.mark.parametrize(
    ("name", "part", "bound"),
    [
        # sqrt(6 / (128 + 128)), sqrt(6 / (128 + 512)); 1 / sqrt(128), 1 / sqrt(512)
        ("xavier_uniform", SQUARE, 0.1530931),
        ("xavier_uniform", IN, 0.0968246),
        ("xavier_uniform", OUT, 0.0968246),
        ("torch", SQUARE, 0.0883883),
        ("torch", IN, 0.0883883),
        ("torch", OUT, 0.0441942),
        ("torch", ("W_q.bias", "W_in.bias"), 0.0883883),
        ("torch", ("W_out.bias",), 0.0441942),
    ],
)
def test_uniform_up_to_the_bound(name: str, part: tuple[str, ...], bound: float) -> None:
    values = ending(measured(name), *part)
    assert float(values.abs().max()) <= bound * (1 + 1e-5)
    assert float(values.abs().max()) >= bound * 0.99
    assert float(values.std()) == pytest.approx(bound / 3**0.5, rel=0.03)
    assert float(values.mean()) == pytest.approx(0, abs=0.02 * bound)


@pytest.mark.parametrize(
    ("name", "part", "deviation"),
    [
        ("normal", SQUARE, 0.02),
        ("normal", OUT, 0.02),
        ("normal", ("W_o.weight",), 0.02),
        ("normal", TABLE, 0.02),
        ("depth_scaled", SQUARE, 0.02),
        ("depth_scaled", IN, 0.02),
        ("depth_scaled", TABLE, 0.02),
        ("depth_scaled", OUT, 0.005),  # / sqrt(2 x 8 layers)
        ("depth_scaled", ("W_o.weight",), 0.005),
        ("kaiming", SQUARE, 0.125),  # sqrt(2 / 128)
        ("kaiming", IN, 0.125),
        ("kaiming", OUT, 0.0625),  # sqrt(2 / 512)
        ("kaiming", TABLE, 0.0883883),
        ("xavier_uniform", TABLE, 0.0883883),
        ("torch", TABLE, 1.0),
    ],
)
def test_normal_of_the_deviation(name: str, part: tuple[str, ...], deviation: float) -> None:
    values = ending(measured(name), *part)
    assert float(values.std()) == pytest.approx(deviation, rel=0.02)
    assert float(values.mean()) == pytest.approx(0, abs=0.02 * deviation)
    beyond = float((values.abs() > deviation).float().mean())
    assert beyond == pytest.approx(0.3173, abs=0.01)  # of a normal distribution


def test_what_writes_to_the_stream_is_scaled_by_how_often_that_is_done() -> None:
    """Twice a layer: 0.02 / sqrt(2 x 8) = 0.005; three times where a layer reads an encoder: 0.02 / sqrt(3 x 3)."""
    encoder = StackConfig(n_layers=8, n_heads=4, d_ff=D_FF)
    config = TransformerConfig(
        vocab_size=9, d_model=D_MODEL, max_len=9, initialisation="depth_scaled", encoder=encoder,
        decoder=StackConfig(n_layers=3, n_heads=4, d_ff=D_FF),
    )  # fmt: skip
    weights = build(config).state_dict()
    for path, deviation in {
        "encoder.layers.0.self_attention.W_o.weight": 0.005,
        "encoder.layers.7.feed_forward.W_out.weight": 0.005,
        "decoder.layers.0.self_attention.W_o.weight": 0.02 / 3,
        "decoder.layers.1.cross_attention.W_o.weight": 0.02 / 3,
        "decoder.layers.2.feed_forward.W_out.weight": 0.02 / 3,
        "decoder.layers.1.cross_attention.W_v.weight": 0.02,
        "decoder.layers.2.feed_forward.W_in.weight": 0.02,
    }.items():
        assert float(weights[path].std()) == pytest.approx(deviation, rel=0.02), path


@pytest.mark.parametrize("name", SCHEMES)
def test_biases_start_at_zero_and_norms_at_one(name: str) -> None:
    weights = measured(name)
    assert ending(weights, "norm.weight", "pre.weight").unique().tolist() == [1.0]
    assert ending(weights, "norm.bias", "pre.bias").unique().tolist() == [0.0]
    assert ending(weights, *BIASES).eq(0).all() == (name != "torch")


@pytest.mark.parametrize("positions", [Learned(), Shaw(reach=3), T5Buckets()], ids=lambda one: one.scheme)
@pytest.mark.parametrize("name", SCHEMES)
def test_a_seed_says_every_weight_and_nobody_elses_numbers(name: str, positions: Any) -> None:
    gate = FeedForwardConfig(kind="gated", activation="silu")
    shape = {"n_layers": 2, "d_ff": 8, "positions": positions, "feed_forward": gate}
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, same, other = (made(name, seed, **shape) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(8)  # nor does it listen to it
    again = made(name, 1, **shape)
    for path, value in one.items():
        assert torch.equal(value, same[path]), path
        assert torch.equal(value, again[path]), path
        assert value.isfinite().all(), path
        if value.ndim > 1:
            assert not torch.equal(value, other[path]), path


# ── DeepNorm ────────────────────────────────────────────────────────────────────────────────────────────────

# Wang et al. 2022, figure 2: encoder 0.81 (N^4 M)^(1/16) and 0.87 (N^4 M)^(-1/16), decoder (3 M)^(1/4) and
# (12 M)^(-1/4); a stack alone (2 N)^(1/4) and (8 N)^(-1/4)
DEEPNORM = [
    ({"encoder": 6, "decoder": 6}, "encoder", 1.417938, 0.496989),
    ({"encoder": 6, "decoder": 6}, "decoder", 2.059767, 0.343295),
    ({"encoder": 12, "decoder": 3}, "encoder", 1.614732, 0.436419),
    ({"encoder": 12, "decoder": 3}, "decoder", 1.732051, 0.408248),
    ({"decoder": 12}, "decoder", 2.213364, 0.319472),
    ({"encoder": 12}, "encoder", 2.213364, 0.319472),
]


def deep(depths: dict[str, int], placement: Any, name: Any = "xavier_uniform") -> Any:
    stacks: dict[str, Any] = {
        stack: StackConfig(n_layers=n, n_heads=2, d_ff=8, placement=placement) for stack, n in depths.items()
    }
    return build(TransformerConfig(vocab_size=5, d_model=4, max_len=8, initialisation=name, **stacks), seed=3)


@pytest.mark.parametrize(("depths", "stack", "alpha", "beta"), DEEPNORM)
def test_deepnorm(depths: dict[str, int], stack: str, alpha: float, beta: float) -> None:
    """The stream is multiplied by alpha; values, outputs and feed-forward start beta times as large, all else not."""
    model, plain = deep(depths, "deepnorm"), deep(depths, "post")
    residuals = [part for part in model.get_submodule(stack).modules() if isinstance(part, Residual)]
    assert len(residuals) == (3 if len(depths) == 2 and stack == "decoder" else 2) * depths[stack]
    for residual in residuals:
        assert residual.skip_scale == pytest.approx(alpha, abs=1e-6)
    others = dict(plain.get_submodule(stack).named_parameters())
    for path, value in model.get_submodule(stack).named_parameters():
        if value.ndim < 2:
            continue
        gain = beta if path.endswith(("W_v.weight", "W_o.weight", "W_in.weight", "W_out.weight")) else 1.0
        torch.testing.assert_close(value, gain * others[path], rtol=1e-5, atol=0)
        assert value.abs().max() > 0


def test_deepnorm_normalizes_the_sum() -> None:
    """Post-Norm of alpha x + f(x): the stream is multiplied, not the branch."""
    x = torch.tensor([[[1.0, 2.0, 4.0]]], dtype=torch.float64)
    norm = torch.nn.LayerNorm(3, dtype=torch.float64)
    out = Residual(post=norm, skip_scale=2.0)(x, lambda x: x.flip(-1))
    # 2 x + f(x) = (6, 6, 9), mean 7, variance 2
    expected = torch.tensor([[[-1.0, -1.0, 2.0]]], dtype=torch.float64) / (2 + 1e-5) ** 0.5
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
