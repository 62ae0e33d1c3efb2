"""The Marian family (Junczys-Dowmunt et al. 2018), translators: the first paper's model, sines first."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from engine.config import (
    AtlasError,
    FeedForwardConfig,
    NormConfig,
    Sinusoidal,
    StackConfig,
    TransformerConfig,
)
from engine.pretrained.hf_config import activation, require

if TYPE_CHECKING:
    from torch import Tensor

NAME, TITLE = "marian", "Marian"
PREFIXES = ("model.",)
BEGINS_WITH = ("decoder_start_token_id", "pad_token_id")
NEVER_WRITTEN = ("pad_token_id",)  # its logit means nothing: no text that was learnt from held one

_THEIRS, _OURS = r"(encoder|decoder)\.layers\.(\d+)\.", r"\1.layers.\2."
RENAMES = (
    (r"(?:shared|(?:en|de)coder\.embed_tokens)\.weight",         r"embedding.table.weight"),
    (_THEIRS + r"self_attn\.([qkv])_proj\.(weight|bias)",        _OURS + r"self_attention.W_\3.\4"),
    (_THEIRS + r"self_attn\.out_proj\.(weight|bias)",            _OURS + r"self_attention.W_o.\3"),
    (_THEIRS + r"self_attn_layer_norm\.(weight|bias)",           _OURS + r"self_attention_residual.post.\3"),
    (_THEIRS + r"encoder_attn\.([qkv])_proj\.(weight|bias)",     _OURS + r"cross_attention.W_\3.\4"),
    (_THEIRS + r"encoder_attn\.out_proj\.(weight|bias)",         _OURS + r"cross_attention.W_o.\3"),
    (_THEIRS + r"encoder_attn_layer_norm\.(weight|bias)",        _OURS + r"cross_attention_residual.post.\3"),
    (_THEIRS + r"fc1\.(weight|bias)",                            _OURS + r"feed_forward.W_in.\3"),
    (_THEIRS + r"fc2\.(weight|bias)",                            _OURS + r"feed_forward.W_out.\3"),
    (_THEIRS + r"final_layer_norm\.(weight|bias)",               _OURS + r"feed_forward_residual.post.\3"),
    (r"final_logits_bias",                                       r"head.bias"),
)  # fmt: skip

COPIES = (("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"),)

DROP = (r"(encoder|decoder)\.embed_positions\.weight",)  # waves, which follow from the configuration

# {setting: the value that stands for the model that is built here, and for a setting that is absent}
_BUILT = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "add_final_layernorm": False,
    "static_position_embeddings": True,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
}


def completed(settings: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The settings and, under a key of its own, whether there is a bias on the logits: files without have zeros."""
    return {**settings, "has_logits_bias": "final_logits_bias" in names}


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a MarianMTModel; raises AtlasError for missing keys and for what is not built."""
    _refuse_others(config)
    vocab_size, d_model, max_len = require(config, "vocab_size", "d_model", "max_position_embeddings")
    if (other := config.get("decoder_vocab_size", vocab_size)) != vocab_size:
        raise AtlasError(
            "The model is a Marian with {source} tokens to read and {target} to write, and only one "
            "vocabulary for both is built here.",
            source=vocab_size, target=other,
        )  # fmt: skip
    return TransformerConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        max_len=max_len,
        encoder=_stack(config, "encoder"),
        decoder=_stack(config, "decoder"),
        tied_embeddings=True,
        scale_embeddings=bool(config.get("scale_embedding", False)),
        head_bias=bool(config.get("has_logits_bias", True)),
    )


def _refuse_others(config: dict[str, Any]) -> None:
    for setting, built in _BUILT.items():
        if config.get(setting, built) is not built:
            raise AtlasError(
                'The model is a Marian with "{setting}" {value}, which is not built here.',
                setting=setting, value=str(not built).lower(),
            )  # fmt: skip


def _stack(config: dict[str, Any], name: str) -> StackConfig:
    n_layers, n_heads, d_ff = require(config, f"{name}_layers", f"{name}_attention_heads", f"{name}_ffn_dim")
    return StackConfig(
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=d_ff,
        positions=Sinusoidal(order="halves"),
        norm=NormConfig(kind="layernorm", eps=1e-5),
        placement="post",
        feed_forward=FeedForwardConfig(
            kind="plain", activation=activation(config.get("activation_function", "gelu")), bias=True
        ),
        attention_bias=True,
    )


def drop(config: TransformerConfig) -> tuple[str, ...]:
    """What a file may hold that is not needed."""
    return DROP


def hf_shape(name: str, shape: tuple[int, ...], settings: dict[str, Any]) -> tuple[int, ...]:
    """The bias on the logits is kept as a row, (1, vocab)."""
    return (1, *shape) if name == "head.bias" else shape


def from_hf(name: str, values: Tensor, settings: dict[str, Any]) -> Tensor:
    return values[0] if name == "head.bias" else values
