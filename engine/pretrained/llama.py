"""The LLaMA family (Touvron et al. 2023): a Pre-Norm decoder, RMSNorm, rotary positions, gated SiLU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from engine.config import AtlasError, FeedForwardConfig, NormConfig, StackConfig, TransformerConfig
from engine.pretrained.hf_config import activation, not_built, require, rope

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "llama", "llama", "LLaMA"
PREFIXES = ("model.", "transformer.")

_THEIRS, _OURS = r"layers\.(\d+)\.", r"decoder.layers.\1."
RENAMES = (
    (r"embed_tokens\.weight",                                  r"embedding.table.weight"),
    (_THEIRS + r"self_attn\.([qkvo])_proj\.(weight|bias)",     _OURS + r"self_attention.W_\2.\3"),
    (_THEIRS + r"input_layernorm\.weight",                     _OURS + r"self_attention_residual.pre.weight"),
    (_THEIRS + r"mlp\.gate_proj\.(weight|bias)",               _OURS + r"feed_forward.W_gate.\2"),
    (_THEIRS + r"mlp\.up_proj\.(weight|bias)",                 _OURS + r"feed_forward.W_in.\2"),
    (_THEIRS + r"mlp\.down_proj\.(weight|bias)",               _OURS + r"feed_forward.W_out.\2"),
    (_THEIRS + r"post_attention_layernorm\.weight",            _OURS + r"feed_forward_residual.pre.weight"),
    (r"norm\.weight",                                          r"decoder.norm.weight"),
    (r"lm_head\.weight",                                       r"head.weight"),
)  # fmt: skip

_BLOCK = r"blk\.(\d+)\."
GGUF_RENAMES = (
    (r"token_embd\.weight",                                    r"embedding.table.weight"),
    (_BLOCK + r"attn_([qkv])\.(weight|bias)",                  _OURS + r"self_attention.W_\2.\3"),
    (_BLOCK + r"attn_output\.(weight|bias)",                   _OURS + r"self_attention.W_o.\2"),
    (_BLOCK + r"attn_norm\.weight",                            _OURS + r"self_attention_residual.pre.weight"),
    (_BLOCK + r"ffn_gate\.(weight|bias)",                      _OURS + r"feed_forward.W_gate.\2"),
    (_BLOCK + r"ffn_up\.(weight|bias)",                        _OURS + r"feed_forward.W_in.\2"),
    (_BLOCK + r"ffn_down\.(weight|bias)",                      _OURS + r"feed_forward.W_out.\2"),
    (_BLOCK + r"ffn_norm\.weight",                             _OURS + r"feed_forward_residual.pre.weight"),
    (r"output_norm\.weight",                                   r"decoder.norm.weight"),
    (r"output\.weight",                                        r"head.weight"),
)  # fmt: skip

# Tables of angles that some versions saved; they follow from the configuration.
DROP = (r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq", r"rope\.freqs", r"rope_freqs\.weight")


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a LlamaForCausalLM; raises AtlasError for missing keys and for what is not built."""
    return kin(config, attention_bias=config.get("attention_bias", False))


def kin(config: dict[str, Any], **own: Any) -> TransformerConfig:
    """The settings of a model made like LLaMA; `own` is what its decoder has apart from that."""
    vocab_size, d_model, n_layers, n_heads, d_ff, max_len = require(
        config, "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "max_position_embeddings",
    )  # fmt: skip
    decoder = StackConfig(
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=config.get("num_key_value_heads") or n_heads,
        d_k=cast("int", config.get("head_dim")),  # None stands for d_model / n_heads
        d_ff=d_ff,
        positions=rope(config),
        norm=NormConfig(kind="rmsnorm", eps=config.get("rms_norm_eps", 1e-6)),
        placement="pre",
        feed_forward=FeedForwardConfig(
            kind="gated",
            activation=activation(config.get("hidden_act", "silu")),
            bias=bool(config.get("mlp_bias", False)),
        ),
        **own,
    )
    return TransformerConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        max_len=max_len,
        decoder=decoder,
        tied_embeddings=bool(config.get("tie_word_embeddings", False)),
        scale_embeddings=False,
    )


def drop(config: TransformerConfig) -> tuple[str, ...]:
    """What a file may hold that is not needed; a tied model has its output matrix in the embeddings."""
    return (*DROP, r"lm_head\.weight") if config.tied_embeddings else DROP


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json; one with a window is a Mistral."""
    settings = kin_from_gguf(file, GGUF_NAME)
    return {"model_type": NAME if settings["sliding_window"] is None else "mistral", **settings}


def kin_from_gguf(file: GgufFile, name: str) -> dict[str, Any]:
    """The settings of a model made like LLaMA, whose own keys begin with `name`."""
    if count := file.get(f"{name}.expert_count", 0):
        raise AtlasError(
            "{path} is a LLaMA with {count} experts to a layer (Mixtral), and mixtures of experts are not "
            "built here.",
            path=str(file.path), count=count,
        )  # fmt: skip
    pattern = f"{name}.attention.sliding_window_pattern"
    if (layers := file.get(pattern)) is not None:
        raise not_built(pattern, layers)
    window = file.get(f"{name}.attention.sliding_window") or None
    shapes = file.shapes
    return {
        "vocab_size": shapes.get("token_embd.weight", (0,))[0],
        "hidden_size": file.get(f"{name}.embedding_length"),
        "num_hidden_layers": file.get(f"{name}.block_count"),
        "num_attention_heads": file.get(f"{name}.attention.head_count"),
        "num_key_value_heads": file.get(f"{name}.attention.head_count_kv"),
        "head_dim": file.get(f"{name}.attention.key_length", file.get(f"{name}.rope.dimension_count")),
        "intermediate_size": file.get(f"{name}.feed_forward_length"),
        "max_position_embeddings": file.get(f"{name}.context_length"),
        "rms_norm_eps": file.get(f"{name}.attention.layer_norm_rms_epsilon", 1e-6),
        "rope_theta": file.get(f"{name}.rope.freq_base"),
        "rope_scaling": _stretch(file, name),
        "sliding_window": window,
        "use_sliding_window": window is not None,
        "max_window_layers": 0,
        "attention_bias": "blk.0.attn_q.bias" in shapes,
        "mlp_bias": "blk.0.ffn_up.bias" in shapes,
        "tie_word_embeddings": "output.weight" not in shapes,
    }


def _stretch(file: GgufFile, name: str) -> dict[str, Any]:
    """Rotary positions stretched by one factor, or as LLaMA 3 does it, of which what each wave is divided by is kept.

    Raises AtlasError for a file that does both.
    """
    key = f"{name}.rope.scaling.type"
    kind = file.get(key, "none")
    if "rope_freqs.weight" not in file.shapes:
        return {"rope_type": kind, "factor": file.get(f"{name}.rope.scaling.factor")}
    if kind != "none":
        raise not_built(key, kind)
    return {"rope_type": "factors", "factors": file.tensor("rope_freqs.weight").ravel().tolist()}


def from_gguf(name: str, values: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    """Puts the rows of Q and K back in the order of the two halves that rotary positions pair here.

    GGUF stores each head's row i + d_k/2 next to row i, so that a pair is two neighbours: d_k 8 is kept as
    0 4 1 5 2 6 3 7. K has its own number of heads. Values and the output matrix are stored as they are.
    """
    kind = name.rsplit(".", 2)[-2]
    if kind not in ("W_q", "W_k"):
        return values
    n_heads = settings["num_attention_heads"]
    if kind == "W_k":
        n_heads = settings.get("num_key_value_heads", n_heads)
    # (head * d_k, ...) -> (head, pair, half, ...) -> (head, half, pair, ...) -> (head * d_k, ...)
    pairs = values.reshape(n_heads, values.shape[0] // n_heads // 2, 2, *values.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(values.shape)
