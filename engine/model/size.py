"""How many numbers a model of some settings has, reckoned part by part without making one. No torch here."""

from __future__ import annotations

from engine.config import (
    ClassHead,
    Learned,
    Shaw,
    StackConfig,
    T5Buckets,
    TokenHead,
    TransformerConfig,
)


def parameters(config: TransformerConfig) -> int:
    """Of the whole model; what is tied is counted once."""
    stacks = sum(_of_stack(config, stack) for stack in config.stacks.values())
    return _of_embedding(config) + stacks + _of_head(config)


def _of_embedding(config: TransformerConfig) -> int:
    if (cut := config.patches) is None:
        return config.vocab_size * config.d_model
    return (cut.patch**2 * cut.channels + 1 + 1) * config.d_model  # with a bias, and the vector of the whole


def _of_head(config: TransformerConfig) -> int:
    head = config.encoder_head
    if isinstance(head, ClassHead):
        return head.n_classes * (config.d_model + 1)
    if config.decoder or isinstance(head, TokenHead):
        rows = (0 if config.tied_embeddings else config.d_model) + config.head_bias
        return config.vocab_size * rows
    return 0


def _of_stack(config: TransformerConfig, stack: StackConfig) -> int:
    d_model, reads_memory = config.d_model, stack is config.decoder and config.encoder is not None
    norms = stack.embedding_norm + stack.final_norm
    own = _of_positions(config, stack) + stack.n_segments * d_model + norms * _of_norm(stack, d_model)
    feeds = stack.feed_forward.kind != "none"
    sublayers = 1 + reads_memory + feeds
    residuals = sublayers * (2 if stack.placement == "sandwich" else 1) * _of_norm(stack, d_model)
    layer = (1 + reads_memory) * _of_attention(stack, d_model) + _of_feed_forward(stack, d_model) + residuals
    return own + stack.n_layers * layer


def _of_positions(config: TransformerConfig, stack: StackConfig) -> int:
    match stack.positions:
        case Learned():
            return config.max_len * config.d_model
        case Shaw(reach=reach):
            return 2 * stack.n_layers * (2 * reach + 1) * stack.d_k
        case T5Buckets(buckets=buckets):
            return buckets * stack.n_heads
        case _:
            return 0


def _of_attention(stack: StackConfig, d_model: int) -> int:
    queries, keys = stack.n_heads * stack.d_k, stack.n_kv_heads * stack.d_k
    read = (d_model + stack.attention_bias) * (queries + 2 * keys)
    written = (queries + stack.out_bias) * d_model
    return read + written + 2 * stack.qk_norm * _of_norm(stack, stack.d_k)


def _of_feed_forward(stack: StackConfig, d_model: int) -> int:
    bias = stack.feed_forward.bias
    into = {"none": 0, "plain": 1, "gated": 2}[stack.feed_forward.kind]
    written = (stack.d_ff + bias) * d_model if into else 0
    return into * (d_model + bias) * stack.d_ff + written


def _of_norm(stack: StackConfig, width: int) -> int:
    return {"layernorm": 1 + stack.norm.bias, "rmsnorm": 1, "none": 0}[stack.norm.kind] * width
