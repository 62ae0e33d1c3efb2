"""From settings to modules, top-down, one short function a part. Only this file makes modules of settings.

model = build(TransformerConfig(...), seed=0)     # ready to train
model = build_empty(config)                       # no memory yet; load_state_dict(..., assign=True) follows
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from engine import config as settings
from engine.capture import name_taps
from engine.config import StackConfig, TransformerConfig
from engine.model.attention import Attention
from engine.model.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward
from engine.model.masks import Causal, Full, Mask, Window
from engine.model.norms import LayerNorm, Residual, RMSNorm
from engine.model.positions import Learned, Positions, Rope, Sinusoidal
from engine.model.stack import Block, CrossBlock, Segments, Stack
from engine.model.transformer import DecoderOnly, Embedding, EncoderDecoder, EncoderOnly, Head, Transformer


def build(config: TransformerConfig, seed: int = 0) -> Transformer:
    """A model with fresh weights, the same for the same seed. Leaves torch's global generator alone."""
    model = build_empty(config).to_empty(device="cpu")
    initialise(model, torch.Generator().manual_seed(seed))
    return model


def build_empty(config: TransformerConfig) -> Transformer:
    """A model whose parameters have shapes but no memory, for weights that are about to be loaded.

    Embeddings are made from empty tables: nn.Embedding draws its own, and drawing without memory imports
    torch's compiler, which takes seconds.
    """
    with torch.device("meta"):
        model = assemble(config)
    name_taps(model)
    return model


def assemble(config: TransformerConfig) -> Transformer:
    embedding = Embedding(config.vocab_size, config.d_model, scaled=config.scale_embeddings)
    if config.decoder is None:
        return EncoderOnly(embedding=embedding, encoder=encoder_of(config))
    if config.encoder is None:
        return DecoderOnly(embedding=embedding, decoder=decoder_of(config), head=head(config, embedding))
    return EncoderDecoder(
        embedding=embedding,
        encoder=encoder_of(config),
        decoder=decoder_of(config),
        head=head(config, embedding),
    )


def head(config: TransformerConfig, embedding: Embedding) -> Head:
    if config.tied_embeddings:
        return embedding.unembed
    return nn.Linear(config.d_model, config.vocab_size, bias=False)


def encoder_of(config: TransformerConfig) -> Stack:
    stack = config.stacks["encoder"]
    return stack_of(config, stack, Full(), [block(config, stack) for _ in range(stack.n_layers)])


def decoder_of(config: TransformerConfig) -> Stack:
    stack = config.stacks["decoder"]
    one_layer = block if config.encoder is None else cross_block
    return stack_of(config, stack, Causal(), [one_layer(config, stack) for _ in range(stack.n_layers)])


def stack_of(config: TransformerConfig, stack: StackConfig, mask: Mask, layers: Sequence[nn.Module]) -> Stack:
    return Stack(
        layers=layers,
        positions=positions_of(config, stack),
        mask=mask if stack.window is None else mask & Window(stack.window),
        segments=Segments(stack.n_segments, config.d_model) if stack.n_segments else None,
        embedding_norm=norm(config, stack) if stack.embedding_norm else None,
        norm=norm(config, stack) if stack.placement == "pre" else None,
        dropout=stack.dropout,
    )


def block(config: TransformerConfig, stack: StackConfig) -> Block:
    return Block(
        self_attention=attention(config, stack),
        self_attention_residual=residual(config, stack),
        feed_forward=feed_forward(config, stack),
        feed_forward_residual=residual(config, stack),
    )


def cross_block(config: TransformerConfig, stack: StackConfig) -> CrossBlock:
    return CrossBlock(
        self_attention=attention(config, stack),
        self_attention_residual=residual(config, stack),
        cross_attention=attention(config, stack),
        cross_attention_residual=residual(config, stack),
        feed_forward=feed_forward(config, stack),
        feed_forward_residual=residual(config, stack),
    )


def attention(config: TransformerConfig, stack: StackConfig) -> Attention:
    return Attention(
        config.d_model,
        stack.n_heads,
        stack.n_kv_heads,
        stack.d_k,
        bias=stack.attention_bias,
        dropout=stack.dropout,
    )


def feed_forward(config: TransformerConfig, stack: StackConfig) -> FeedForward | GatedFeedForward:
    kind = {"plain": FeedForward, "gated": GatedFeedForward}[stack.feed_forward.kind]
    activation = ACTIVATIONS[stack.feed_forward.activation]
    return kind(config.d_model, stack.d_ff, activation, bias=stack.feed_forward.bias)


def residual(config: TransformerConfig, stack: StackConfig) -> Residual:
    return Residual(**{stack.placement: norm(config, stack)}, dropout=stack.dropout)


def norm(config: TransformerConfig, stack: StackConfig) -> nn.Module:
    return {"layernorm": LayerNorm, "rmsnorm": RMSNorm, "none": nn.Identity}[stack.norm.kind](
        config.d_model, stack.norm.eps
    )


def positions_of(config: TransformerConfig, stack: StackConfig) -> Positions:
    match stack.positions:
        case settings.Sinusoidal(base=base):
            return Sinusoidal(base)
        case settings.Learned():
            return Learned(config.max_len, config.d_model)
        case settings.Rope(base=base):
            return Rope(base)
        case settings.NoPositions():
            return Positions()


def initialise(model: nn.Module, generator: torch.Generator) -> None:
    """Matrices Xavier-uniform, biases 0, norms 1; embeddings N(0, 1/d_model), unit times sqrt(d_model)."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5, generator=generator)
        elif isinstance(module, LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, RMSNorm):
            nn.init.ones_(module.weight)
