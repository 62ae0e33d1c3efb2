"""The T5 family (Raffel et al. 2020), with T5 1.1 and Flan: Pre-Norm, RMSNorm, a bias by distance, unscaled scores.

1.0 has ReLU and one matrix for embeddings and output, before which the stream is divided by sqrt(d_model); 1.1 has a
gated GELU, by tanh, and an output matrix of its own (Shazeer 2020). A GGUF file says neither: a gate is one of GELU
there, distances count up to 128, and an output without a matrix of its own is that of 1.0.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from engine.config import AtlasError, FeedForwardConfig, NormConfig, StackConfig, T5Buckets, TransformerConfig
from engine.pretrained.hf_config import activation, not_built, require

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "t5", "t5", "T5"
PREFIXES = ("transformer.", "model.")
BEGINS_WITH = ("decoder_start_token_id", "pad_token_id")

_THEIRS, _OURS = r"(encoder|decoder)\.block\.(\d+)\.", r"\1.layers.\2."
_FEED_FORWARD = _THEIRS + r"layer\.[12]\.DenseReluDense\."
RENAMES = (
    (r"(?:shared|(?:en|de)coder\.embed_tokens)\.weight",                r"embedding.table.weight"),
    (_THEIRS + r"layer\.0\.SelfAttention\.([qkvo])\.weight",            _OURS + r"self_attention.W_\3.weight"),
    (r"(encoder|decoder)\.block\.0\.layer\.0\.SelfAttention\.relative_attention_bias\.weight",
                                                                        r"\1.positions.table.weight"),
    (_THEIRS + r"layer\.0\.layer_norm\.weight",                         _OURS + r"self_attention_residual.pre.weight"),
    (_THEIRS + r"layer\.1\.EncDecAttention\.([qkvo])\.weight",          _OURS + r"cross_attention.W_\3.weight"),
    (r"(decoder)\.block\.(\d+)\.layer\.1\.layer_norm\.weight",          _OURS + r"cross_attention_residual.pre.weight"),
    (_FEED_FORWARD + r"wi_0\.weight",                                   _OURS + r"feed_forward.W_gate.weight"),
    (_FEED_FORWARD + r"wi(?:_1)?\.weight",                              _OURS + r"feed_forward.W_in.weight"),
    (_FEED_FORWARD + r"wo\.weight",                                     _OURS + r"feed_forward.W_out.weight"),
    (_THEIRS + r"layer\.[12]\.layer_norm\.weight",                      _OURS + r"feed_forward_residual.pre.weight"),
    (r"(encoder|decoder)\.final_layer_norm\.weight",                    r"\1.norm.weight"),
    (r"lm_head\.weight",                                                r"head.weight"),
)  # fmt: skip

_BLOCK, _ITS = r"(enc|dec)\.blk\.(\d+)\.", r"\1oder.layers.\2."  # encoder and decoder end alike
GGUF_RENAMES = (
    (r"token_embd\.weight",                         r"embedding.table.weight"),
    (_BLOCK + r"attn_([qkvo])\.weight",             _ITS + r"self_attention.W_\3.weight"),
    (r"(enc|dec)\.blk\.0\.attn_rel_b\.weight",      r"\1oder.positions.table.weight"),
    (_BLOCK + r"attn_norm\.weight",                 _ITS + r"self_attention_residual.pre.weight"),
    (_BLOCK + r"cross_attn_([qkvo])\.weight",       _ITS + r"cross_attention.W_\3.weight"),
    (_BLOCK + r"cross_attn_norm\.weight",           _ITS + r"cross_attention_residual.pre.weight"),
    (_BLOCK + r"ffn_gate\.weight",                  _ITS + r"feed_forward.W_gate.weight"),
    (_BLOCK + r"ffn_up\.weight",                    _ITS + r"feed_forward.W_in.weight"),
    (_BLOCK + r"ffn_down\.weight",                  _ITS + r"feed_forward.W_out.weight"),
    (_BLOCK + r"ffn_norm\.weight",                  _ITS + r"feed_forward_residual.pre.weight"),
    (r"(enc|dec)\.output_norm\.weight",             r"\1oder.norm.weight"),
    (r"output\.weight",                             r"head.weight"),
)  # fmt: skip

COPIES = (("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"),)

# A table that the first release saved for cross-attention, and never used.
DROP = (
    r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
    r"dec\.blk\.0\.cross_attn_rel_b\.weight",
)

TRAINED_LENGTH = 512  # distances have no end, and the models were trained on texts of this length


def completed(settings: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The settings with one meaning for each: of old, an untied model is one whose output is not scaled.

    Newer files say tied of every model, and how its output is scaled; then the tensors tell whether it is tied.
    """
    if "scale_decoder_outputs" in settings:
        return {**settings, "tie_word_embeddings": "lm_head.weight" not in names}
    return {**settings, "scale_decoder_outputs": settings.get("tie_word_embeddings", True)}


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a T5ForConditionalGeneration; raises AtlasError for missing keys and for what is not built."""
    vocab_size, d_model, d_k, d_ff, n_layers, n_heads = require(
        config, "vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_heads"
    )
    buckets = config.get("relative_attention_num_buckets", 32)
    farthest = config.get("relative_attention_max_distance", 128)
    if buckets % 4:
        raise not_built("relative_attention_num_buckets", buckets)
    if farthest <= buckets // 2:
        raise not_built("relative_attention_max_distance", farthest)
    tied = bool(config.get("tie_word_embeddings", True))
    encoder = StackConfig(
        n_layers=n_layers,
        n_heads=n_heads,
        d_k=d_k,
        d_ff=d_ff,
        positions=T5Buckets(buckets=buckets, farthest=farthest),
        norm=NormConfig(kind="rmsnorm", eps=config.get("layer_norm_epsilon", 1e-6)),
        placement="pre",
        feed_forward=feed_forward(config.get("feed_forward_proj", "relu")),
        attention_bias=False,
        scale=1.0,
    )
    return TransformerConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        max_len=config.get("n_positions", TRAINED_LENGTH),
        encoder=encoder,
        decoder=encoder.model_copy(update={"n_layers": config.get("num_decoder_layers", n_layers)}),
        tied_embeddings=tied,
        scale_embeddings=False,
        logit_scale=d_model**-0.5 if config.get("scale_decoder_outputs", tied) else 1.0,
    )


def feed_forward(name: str) -> FeedForwardConfig:
    """Of a name such as relu or gated-gelu; raises AtlasError for one that is not built."""
    gate, _, function = name.rpartition("-")
    if gate not in ("", "gated"):
        raise AtlasError(
            "The model is a T5 with a feed-forward of kind {kind}, which is not built here.", kind=name
        )
    # the gated GELU of T5 was always the one by tanh, whatever it is called
    own = "gelu_new" if name == "gated-gelu" else function
    return FeedForwardConfig(kind="gated" if gate else "plain", activation=activation(own), bias=False)


def drop(config: TransformerConfig) -> tuple[str, ...]:
    """What a file may hold that is not needed; a tied model has its output matrix in the embeddings."""
    return (*DROP, r"lm_head\.weight") if config.tied_embeddings else DROP


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    shapes = file.shapes
    return {
        "vocab_size": shapes.get("token_embd.weight", (0,))[0],
        "d_model": file.get("t5.embedding_length"),
        "d_kv": file.get("t5.attention.key_length"),
        "d_ff": file.get("t5.feed_forward_length"),
        "num_layers": file.get("t5.block_count"),
        "num_decoder_layers": file.get("t5.decoder_block_count"),
        "num_heads": file.get("t5.attention.head_count"),
        "relative_attention_num_buckets": file.get("t5.attention.relative_buckets_count"),
        "layer_norm_epsilon": file.get("t5.attention.layer_norm_rms_epsilon", 1e-6),
        "n_positions": file.get("t5.context_length"),
        "feed_forward_proj": "gated-gelu" if "enc.blk.0.ffn_gate.weight" in shapes else "relu",
        "tie_word_embeddings": "output.weight" not in shapes,
    }
