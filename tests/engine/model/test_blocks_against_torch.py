"""Whole layers and stacks against torch's own, with copied weights, in double precision.

The oracle stays in training mode without dropout: in evaluation mode torch takes another, fused road.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.config import FeedForwardConfig, NoPositions, NormConfig, StackConfig
from engine.model.build import build
from engine.model.transformer import DecoderOnly, EncoderDecoder, EncoderOnly
from tests.engine.recipes import config, stack

D_MODEL, N_HEADS, D_FF = 16, 4, 32
EXACT = {"rtol": 0, "atol": 1e-10}
LENGTHS = torch.tensor([7, 4])


def settings(placement: str, activation: Any, bias: bool = True) -> StackConfig:
    return stack(
        placement=placement,
        positions=NoPositions(),
        norm=NormConfig(bias=bias),
        attention_bias=bias,
        feed_forward=FeedForwardConfig(activation=activation, bias=bias),
    )


def oracle_options(placement: str, activation: str) -> dict:
    options = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64, "layer_norm_eps": 1e-5}
    return {**options, "norm_first": placement == "pre", "activation": activation}


def attention_names(mine: dict[str, Tensor], path: str, theirs: str, kind: str) -> dict[str, Tensor]:
    return {
        f"{theirs}.in_proj_{kind}": torch.cat([mine[f"{path}.W_{x}.{kind}"] for x in "qkv"]),
        f"{theirs}.out_proj.{kind}": mine[f"{path}.W_o.{kind}"],
    }


def kinds(mine: dict[str, Tensor]) -> list[str]:
    """Weights, and biases where there are any."""
    return sorted({name.rpartition(".")[2] for name in mine if ".W_" in name})


def layer_names(mine: dict[str, Tensor], path: str, slot: str) -> dict[str, Tensor]:
    cross = f"{path}.cross_attention.W_q.weight" in mine
    residuals = ["self_attention", *["cross_attention"] * cross, "feed_forward"]
    found = {}
    for kind in kinds(mine):
        found |= attention_names(mine, f"{path}.self_attention", "self_attn", kind)
        if cross:
            found |= attention_names(mine, f"{path}.cross_attention", "multihead_attn", kind)
        found[f"linear1.{kind}"] = mine[f"{path}.feed_forward.W_in.{kind}"]
        found[f"linear2.{kind}"] = mine[f"{path}.feed_forward.W_out.{kind}"]
        for number, residual in enumerate(residuals, start=1):
            found[f"norm{number}.{kind}"] = mine[f"{path}.{residual}_residual.{slot}.{kind}"]
    return found


def copy_layers(mine: nn.Module, theirs: Any, slot: str) -> None:
    state = mine.state_dict()
    for index, layer in enumerate(theirs.layers):
        layer.load_state_dict(layer_names(state, f"layers.{index}", slot))
    if theirs.norm is not None:
        theirs.norm.load_state_dict({kind: state[f"norm.{kind}"] for kind in kinds(state)})


def shaken(model: nn.Module) -> nn.Module:
    """Norm weights of 1 and biases of 0 would hide a mistake in where they go."""
    for parameter in model.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    return model


def text(n: int) -> Tensor:
    return torch.randn(2, n, D_MODEL, dtype=torch.float64)


def final_norm(placement: str, bias: bool = True) -> nn.LayerNorm | None:
    return nn.LayerNorm(D_MODEL, bias=bias, dtype=torch.float64) if placement == "pre" else None


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder(placement: str, activation: str) -> None:
    model = shaken(build(config(encoder=settings(placement, activation))).double())
    assert isinstance(model, EncoderOnly)
    layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, **oracle_options(placement, activation))
    oracle = nn.TransformerEncoder(layer, 2, norm=final_norm(placement), enable_nested_tensor=False)
    copy_layers(model.encoder, oracle, placement)
    x = text(7)
    hidden = torch.arange(7) >= LENGTHS[:, None]
    torch.testing.assert_close(model.encoder(x), oracle(x), **EXACT)
    torch.testing.assert_close(model.encoder(x, LENGTHS), oracle(x, src_key_padding_mask=hidden), **EXACT)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_encoder_without_biases(placement: str) -> None:
    model = shaken(build(config(encoder=settings(placement, "gelu", bias=False))).double())
    assert isinstance(model, EncoderOnly)
    options = oracle_options(placement, "gelu")
    layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, bias=False, **options)
    oracle = nn.TransformerEncoder(
        layer, 2, norm=final_norm(placement, bias=False), enable_nested_tensor=False
    )
    copy_layers(model.encoder, oracle, placement)
    x = text(7)
    torch.testing.assert_close(model.encoder(x), oracle(x), **EXACT)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_decoder_only(placement: str) -> None:
    model = shaken(build(config(decoder=settings(placement, "gelu"))).double())
    assert isinstance(model, DecoderOnly)
    layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, **oracle_options(placement, "gelu"))
    oracle = nn.TransformerEncoder(layer, 2, norm=final_norm(placement), enable_nested_tensor=False)
    copy_layers(model.decoder, oracle, placement)
    x = text(7)
    future = torch.ones(7, 7, dtype=torch.bool).triu(1)
    torch.testing.assert_close(model.decoder(x), oracle(x, mask=future), **EXACT)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_attention_only(placement: str) -> None:
    """Against nn.MultiheadAttention and nn.LayerNorm, put together by hand."""
    layers = stack(placement=placement, positions=NoPositions(), feed_forward=FeedForwardConfig(kind="none"))
    model = shaken(build(config(decoder=layers)).double())
    assert isinstance(model, DecoderOnly)
    state, x, future = model.decoder.state_dict(), text(7), torch.ones(7, 7, dtype=torch.bool).triu(1)
    expected = x
    for index in range(2):
        attention = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True, dtype=torch.float64)
        norm, path = nn.LayerNorm(D_MODEL, dtype=torch.float64), f"layers.{index}.self_attention"
        for kind in ("weight", "bias"):
            copied = attention_names(state, path, "own", kind)
            attention.load_state_dict({name[4:]: value for name, value in copied.items()}, strict=False)
            norm.load_state_dict({kind: state[f"{path}_residual.{placement}.{kind}"]}, strict=False)
        read = norm(expected) if placement == "pre" else expected
        expected = expected + attention(read, read, read, attn_mask=future, need_weights=False)[0]
        expected = expected if placement == "pre" else norm(expected)
    if (last := final_norm(placement)) is not None:
        last.load_state_dict({kind: state[f"norm.{kind}"] for kind in ("weight", "bias")})
        expected = last(expected)
    torch.testing.assert_close(model.decoder(x), expected, **EXACT)


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_decoder_with_cross_attention(placement: str, activation: str) -> None:
    both = {"encoder": settings(placement, activation), "decoder": settings(placement, activation)}
    model = shaken(build(config(**both)).double())
    assert isinstance(model, EncoderDecoder)
    layer = nn.TransformerDecoderLayer(D_MODEL, N_HEADS, D_FF, **oracle_options(placement, activation))
    oracle = nn.TransformerDecoder(layer, 2, norm=final_norm(placement))
    copy_layers(model.decoder, oracle, placement)
    x, memory = text(5), text(7)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    hidden = torch.arange(7) >= LENGTHS[:, None]
    expected = oracle(x, memory, tgt_mask=future, memory_key_padding_mask=hidden)
    torch.testing.assert_close(model.decoder(x, memory=memory, memory_lengths=LENGTHS), expected, **EXACT)
