"""From settings to modules, top-down, one short function a part. Only this file makes modules of settings.

model = build(TransformerConfig(...), seed=0)     # ready to train
model = build_empty(config)                       # no memory yet; load_state_dict(..., assign=True) follows
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from engine import config as settings
from engine import room
from engine.capture import name_taps
from engine.config import AtlasError, StackConfig, TransformerConfig
from engine.errors import need_kind, need_whole
from engine.model.attention import CORES, Attention
from engine.model.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward
from engine.model.initialise import initialise
from engine.model.masks import Causal, Full, Mask, Window
from engine.model.norms import LayerNorm, Residual, RMSNorm
from engine.model.patches import Patches
from engine.model.pooling import POOLS
from engine.model.positions import (
    Alibi,
    Learned,
    Positions,
    Rope,
    Shaw,
    Sinusoidal,
    Stretch,
    T5Buckets,
    divided,
    linear,
    llama3,
)
from engine.model.size import parameters
from engine.model.stack import Block, CrossBlock, ParallelBlock, Segments, Stack
from engine.model.transformer import DecoderOnly, Embedding, EncoderDecoder, EncoderOnly, Head, Transformer
from engine.settings import LARGEST

WIDTH = 4  # bytes of a number as it is drawn


def build(config: TransformerConfig, seed: int = 0) -> Transformer:
    """A model with fresh weights, the same for the same seed. Leaves torch's global generator alone.

    Raises AtlasError for what are no settings or no seed, and for a model that the free memory does not hold.
    """
    need_kind("what is built", config, TransformerConfig)
    need_whole("seed", seed, 0, LARGEST)
    refuse_too_large(config)
    model = with_memory(build_empty(config))
    gains = {
        name: deepnorm_beta(config, stack)
        for name, stack in config.stacks.items()
        if stack.placement == "deepnorm"
    }
    initialise(model, config.initialisation, torch.Generator().manual_seed(int(seed)), gains)
    return model


def refuse_too_large(config: TransformerConfig) -> None:
    """Raises AtlasError when the weights, in float32, need more memory than is free."""
    count, free = parameters(config), room.free_memory()
    if free is not None and WIDTH * count > free:
        raise AtlasError(
            "this model has {count} parameters, which take {needed} of memory, and {free} are free: make it smaller, "
            "or close other programs",
            count=f"{count:,}" if count < 10**15 else f"{count:.1e}", needed=room.readable(WIDTH * count),
            free=room.readable(free),
        )  # fmt: skip


def build_empty(config: TransformerConfig) -> Transformer:
    """A model whose parameters have shapes but no memory, for weights that are about to be loaded.

    Embeddings are made from empty tables: nn.Embedding draws its own, and drawing without memory imports
    torch's compiler, which takes seconds.
    """
    with torch.device("meta"):
        model = assemble(config)
    name_taps(model)
    return model


def with_memory(model: Transformer) -> Transformer:
    """The same, its parameters as whatever stood in memory. Module.to_empty would import sympy for it."""
    shapes = {name: torch.empty(value.shape, dtype=value.dtype) for name, value in model.state_dict().items()}
    model.load_state_dict(shapes, assign=True)
    return model


def assemble(config: TransformerConfig) -> Transformer:
    if config.decoder is None:
        return EncoderOnly(
            embedding=patches(config.patches, config.d_model) if config.patches else embedding(config),
            encoder=encoder_of(config),
            **head_of_encoder(config),
        )
    if config.encoder is None:
        return DecoderOnly(embedding=embedding(config), decoder=decoder_of(config), head=head(config))
    return EncoderDecoder(
        embedding=embedding(config),
        encoder=encoder_of(config),
        decoder=decoder_of(config),
        head=head(config),
    )


def embedding(config: TransformerConfig) -> Embedding:
    return Embedding(config.vocab_size, config.d_model, scaled=config.scale_embeddings)


def patches(config: settings.Patches, d_model: int) -> Patches:
    return Patches(config.height, config.width, config.patch, config.channels, d_model)


def head(config: TransformerConfig) -> Head:
    return Head(
        config.d_model,
        config.vocab_size,
        tied=config.tied_embeddings,
        bias=config.head_bias,
        scale=config.logit_scale,
    )


def head_of_encoder(config: TransformerConfig) -> dict[str, Any]:
    """The head, and how a text becomes one vector for it, by their names in the model; nothing for a bare encoder."""
    match config.encoder_head:
        case settings.TokenHead():
            return {"head": head(config)}
        case settings.ClassHead(n_classes=n_classes, pool=pool):
            return {"head": Head(config.d_model, n_classes), "pool": POOLS[pool]}
        case settings.NoHead():
            return {}


def encoder_of(config: TransformerConfig) -> Stack:
    stack = config.stacks["encoder"]
    return stack_of(config, "encoder", Full(), [block(config, stack, i) for i in range(stack.n_layers)])


def decoder_of(config: TransformerConfig) -> Stack:
    stack = config.stacks["decoder"]
    one_layer = block if config.encoder is None else cross_block
    return stack_of(config, "decoder", Causal(), [one_layer(config, stack, i) for i in range(stack.n_layers)])


def stack_of(config: TransformerConfig, name: str, mask: Mask, layers: Sequence[nn.Module]) -> Stack:
    stack = config.stacks[name]
    narrow = mask if stack.window is None else mask & Window(stack.window)
    return Stack(
        layers=layers,
        positions=positions_of(config, stack, both_sides=name == "encoder"),
        masks=[mask if window is None else narrow for window in stack.windows],
        segments=Segments(stack.n_segments, config.d_model) if stack.n_segments else None,
        embedding_norm=norm(stack, config.d_model) if stack.embedding_norm else None,
        norm=norm(stack, config.d_model) if stack.final_norm else None,
        dropout=stack.dropout,
    )


def block(config: TransformerConfig, stack: StackConfig, layer: int) -> Block:
    return (ParallelBlock if stack.parallel else Block)(
        self_attention=attention(config, stack, layer),
        self_attention_residual=residual(config, stack),
        **feed_forward_parts(config, stack),
    )


def cross_block(config: TransformerConfig, stack: StackConfig, layer: int) -> CrossBlock:
    return CrossBlock(
        self_attention=attention(config, stack, layer),
        self_attention_residual=residual(config, stack),
        cross_attention=attention(config, stack, layer),
        cross_attention_residual=residual(config, stack),
        **feed_forward_parts(config, stack),
    )


def attention(config: TransformerConfig, stack: StackConfig, layer: int) -> Attention:
    return Attention(
        config.d_model,
        stack.n_heads,
        stack.n_kv_heads,
        stack.d_k,
        layer=layer,
        bias=stack.attention_bias,
        out_bias=stack.out_bias,
        scale=stack.scale,
        core=CORES[stack.core],
        norms=(norm(stack, stack.d_k), norm(stack, stack.d_k)) if stack.qk_norm else None,
        dropout=stack.dropout,
    )


def feed_forward_parts(config: TransformerConfig, stack: StackConfig) -> dict[str, Any]:
    """The sub-layer and its residual connection, by their names in a block; nothing where there is none."""
    if stack.feed_forward.kind == "none":
        return {}
    return {
        "feed_forward": feed_forward(config, stack),
        "feed_forward_residual": residual(config, stack),
    }


def feed_forward(config: TransformerConfig, stack: StackConfig) -> FeedForward | GatedFeedForward:
    kind = {"plain": FeedForward, "gated": GatedFeedForward}[stack.feed_forward.kind]
    activation = ACTIVATIONS[stack.feed_forward.activation]
    return kind(config.d_model, stack.d_ff, activation, bias=stack.feed_forward.bias)


def residual(config: TransformerConfig, stack: StackConfig) -> Residual:
    slots = {"pre": ["pre"], "post": ["post"], "sandwich": ["pre", "branch_norm"], "deepnorm": ["post"]}
    norms = {slot: norm(stack, config.d_model) for slot in slots[stack.placement]}
    skip_scale = deepnorm_alpha(config, stack) if stack.placement == "deepnorm" else 1.0
    return Residual(**norms, skip_scale=skip_scale, dropout=stack.dropout)


def norm(stack: StackConfig, width: int) -> nn.Module:
    match stack.norm:
        case settings.NormConfig(kind="layernorm", eps=eps, bias=bias):
            return LayerNorm(width, eps, bias=bias)
        case settings.NormConfig(kind="rmsnorm", eps=eps):
            return RMSNorm(width, eps)
        case _:
            return nn.Identity()


def positions_of(config: TransformerConfig, stack: StackConfig, *, both_sides: bool) -> Positions:
    match stack.positions:
        case settings.Sinusoidal(base=base, order=order):
            return Sinusoidal(base, neighbours=order == "neighbours")
        case settings.Learned():
            return Learned(config.max_len, config.d_model)
        case settings.Rope(base=base, scaling=scaling) as rope:
            return Rope(base, rope.width(stack.d_k), stretch_of(scaling))
        case settings.Shaw(reach=reach):
            return Shaw(stack.n_layers, reach, stack.d_k, stack.scale)
        case settings.T5Buckets(buckets=buckets, farthest=farthest):
            return T5Buckets(stack.n_heads, buckets, farthest, both_sides=both_sides)
        case settings.Alibi():
            return Alibi()
        case settings.NoPositions():
            return Positions()


def stretch_of(scaling: settings.Scaling | None) -> Stretch | None:
    match scaling:
        case settings.Linear(factor=factor):
            return linear(factor)
        case settings.Llama3(factor=factor, low=low, high=high, original=original):
            return llama3(factor, low, high, original)
        case settings.Factors(factors=factors):
            return divided(factors)
        case None:
            return None


def deepnorm_alpha(config: TransformerConfig, stack: StackConfig) -> float:
    """What the stream is multiplied by before each branch is added (Wang et al. 2022, figure 2)."""
    if config.encoder is None or config.decoder is None:
        return (2 * stack.n_layers) ** 0.25
    if stack is config.decoder:
        return (3 * stack.n_layers) ** 0.25
    return 0.81 * (stack.n_layers**4 * config.decoder.n_layers) ** 0.0625


def deepnorm_beta(config: TransformerConfig, stack: StackConfig) -> float:
    """What the matrices of values, outputs and feed-forward are multiplied by at the start (same figure)."""
    if config.encoder is None or config.decoder is None:
        return (8 * stack.n_layers) ** -0.25
    if stack is config.decoder:
        return (12 * stack.n_layers) ** -0.25
    return 0.87 * (stack.n_layers**4 * config.decoder.n_layers) ** -0.0625
