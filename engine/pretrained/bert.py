"""The BERT family (Devlin et al. 2018): a Post-Norm encoder, learned positions, two segments, GELU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.config import FeedForwardConfig, Learned, NormConfig, StackConfig, TransformerConfig
from engine.pretrained.hf_config import activation, not_built, require

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "bert", "bert", "BERT"
PREFIXES = ("bert.", "model.", "transformer.")

_THEIRS, _OURS = r"encoder\.layer\.(\d+)\.", r"encoder.layers.\1."
RENAMES = (
    (r"embeddings\.word_embeddings\.weight",                   r"embedding.table.weight"),
    (r"embeddings\.position_embeddings\.weight",               r"encoder.positions.table.weight"),
    (r"embeddings\.token_type_embeddings\.weight",             r"encoder.segments.table.weight"),
    (r"embeddings\.LayerNorm\.(weight|bias)",                  r"encoder.embedding_norm.\1"),
    (_THEIRS + r"attention\.self\.query\.(weight|bias)",       _OURS + r"self_attention.W_q.\2"),
    (_THEIRS + r"attention\.self\.key\.(weight|bias)",         _OURS + r"self_attention.W_k.\2"),
    (_THEIRS + r"attention\.self\.value\.(weight|bias)",       _OURS + r"self_attention.W_v.\2"),
    (_THEIRS + r"attention\.output\.dense\.(weight|bias)",     _OURS + r"self_attention.W_o.\2"),
    (_THEIRS + r"attention\.output\.LayerNorm\.(weight|bias)", _OURS + r"self_attention_residual.post.\2"),
    (_THEIRS + r"intermediate\.dense\.(weight|bias)",          _OURS + r"feed_forward.W_in.\2"),
    (_THEIRS + r"output\.dense\.(weight|bias)",                _OURS + r"feed_forward.W_out.\2"),
    (_THEIRS + r"output\.LayerNorm\.(weight|bias)",            _OURS + r"feed_forward_residual.post.\2"),
)  # fmt: skip

_BLOCK = r"blk\.(\d+)\."
GGUF_RENAMES = (
    (r"token_embd\.weight",                                    r"embedding.table.weight"),
    (r"position_embd\.weight",                                 r"encoder.positions.table.weight"),
    (r"token_types\.weight",                                   r"encoder.segments.table.weight"),
    (r"token_embd_norm\.(weight|bias)",                        r"encoder.embedding_norm.\1"),
    (_BLOCK + r"attn_([qkv])\.(weight|bias)",                  _OURS + r"self_attention.W_\2.\3"),
    (_BLOCK + r"attn_output\.(weight|bias)",                   _OURS + r"self_attention.W_o.\2"),
    (_BLOCK + r"attn_output_norm\.(weight|bias)",              _OURS + r"self_attention_residual.post.\2"),
    (_BLOCK + r"ffn_up\.(weight|bias)",                        _OURS + r"feed_forward.W_in.\2"),
    (_BLOCK + r"ffn_down\.(weight|bias)",                      _OURS + r"feed_forward.W_out.\2"),
    (_BLOCK + r"layer_output_norm\.(weight|bias)",             _OURS + r"feed_forward_residual.post.\2"),
)  # fmt: skip

# Heads for a task of their own stand on the encoder and are not part of it; old files save the numbers 0 to
# 511.
DROP = (
    r"embeddings\.(position_ids|token_type_ids)",
    r"pooler\.dense\.(weight|bias)",
    r"(cls|classifier|qa_outputs)\..*",
    r"cls(\.output)?\.(weight|bias)",
)


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a BertModel; raises AtlasError for missing keys and for what is not built."""
    vocab_size, d_model, n_layers, n_heads, d_ff, max_len = require(
        config, "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "max_position_embeddings",
    )  # fmt: skip
    scheme = config.get("position_embedding_type", "absolute")
    if scheme != "absolute":
        raise not_built("position_embedding_type", scheme)
    if config.get("is_decoder"):
        raise not_built("is_decoder", True)
    encoder = StackConfig(
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=d_ff,
        positions=Learned(),
        norm=NormConfig(kind="layernorm", eps=config.get("layer_norm_eps", 1e-12)),
        placement="post",
        feed_forward=FeedForwardConfig(
            kind="plain", activation=activation(config.get("hidden_act", "gelu")), bias=True
        ),
        attention_bias=True,
        embedding_norm=True,
        n_segments=config.get("type_vocab_size", 2),
    )
    return TransformerConfig(
        vocab_size=vocab_size, d_model=d_model, max_len=max_len, encoder=encoder, scale_embeddings=False
    )


def drop(config: TransformerConfig) -> tuple[str, ...]:
    """What a file may hold that is not needed."""
    return DROP


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    shapes = file.shapes
    return {
        "vocab_size": shapes.get("token_embd.weight", (0,))[0],
        "hidden_size": file.get("bert.embedding_length"),
        "num_hidden_layers": file.get("bert.block_count"),
        "num_attention_heads": file.get("bert.attention.head_count"),
        "intermediate_size": file.get("bert.feed_forward_length"),
        "max_position_embeddings": file.get("bert.context_length"),
        "layer_norm_eps": file.get("bert.attention.layer_norm_epsilon", 1e-12),
        "type_vocab_size": shapes.get("token_types.weight", (0,))[0],
    }
