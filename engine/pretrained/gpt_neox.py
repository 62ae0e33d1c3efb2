"""The GPT-NeoX family (Black et al. 2022), with Pythia: parallel sub-layers, a part of each head turned by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.config import FeedForwardConfig, NormConfig, StackConfig, TransformerConfig
from engine.pretrained.fused import PARTS, joint_shape, part_of, third
from engine.pretrained.hf_config import activation, require, rope

if TYPE_CHECKING:
    from torch import Tensor

    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "gpt_neox", "gptneox", "GPT-NeoX"
PREFIXES = ("gpt_neox.",)

_THEIRS, _OURS = r"layers\.(\d+)\.", r"decoder.layers.\1."
_JOINT = tuple(_OURS + rf"self_attention.{part}.\2" for part in PARTS)
RENAMES = (
    (r"embed_in\.weight",                                      r"embedding.table.weight"),
    (_THEIRS + r"input_layernorm\.(weight|bias)",              _OURS + r"self_attention_residual.pre.\2"),
    (_THEIRS + r"attention\.query_key_value\.(weight|bias)",   _JOINT),
    (_THEIRS + r"attention\.dense\.(weight|bias)",             _OURS + r"self_attention.W_o.\2"),
    (_THEIRS + r"post_attention_layernorm\.(weight|bias)",     _OURS + r"feed_forward_residual.pre.\2"),
    (_THEIRS + r"mlp\.dense_h_to_4h\.(weight|bias)",           _OURS + r"feed_forward.W_in.\2"),
    (_THEIRS + r"mlp\.dense_4h_to_h\.(weight|bias)",           _OURS + r"feed_forward.W_out.\2"),
    (r"final_layer_norm\.(weight|bias)",                       r"decoder.norm.\1"),
    (r"(?:embed_out|lm_head)\.weight",                         r"head.weight"),
)  # fmt: skip

_BLOCK = r"blk\.(\d+)\."
GGUF_RENAMES = (
    (r"token_embd\.weight",                                    r"embedding.table.weight"),
    (_BLOCK + r"attn_norm\.(weight|bias)",                     _OURS + r"self_attention_residual.pre.\2"),
    (_BLOCK + r"attn_qkv\.(weight|bias)",                      _JOINT),
    (_BLOCK + r"attn_output\.(weight|bias)",                   _OURS + r"self_attention.W_o.\2"),
    (_BLOCK + r"ffn_norm\.(weight|bias)",                      _OURS + r"feed_forward_residual.pre.\2"),
    (_BLOCK + r"ffn_up\.(weight|bias)",                        _OURS + r"feed_forward.W_in.\2"),
    (_BLOCK + r"ffn_down\.(weight|bias)",                      _OURS + r"feed_forward.W_out.\2"),
    (r"output_norm\.(weight|bias)",                            r"decoder.norm.\1"),
    (r"output\.weight",                                        r"head.weight"),
)  # fmt: skip

# The causal mask and the angles, which old files save.
DROP = (r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",)


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a GPTNeoXForCausalLM; raises AtlasError for missing keys and for what is not built."""
    vocab_size, d_model, n_layers, n_heads, d_ff, max_len = require(
        config, "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "max_position_embeddings",
    )  # fmt: skip
    given = {**config.get("rope_scaling", {}), **config.get("rope_parameters", {})}
    decoder = StackConfig(
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=d_ff,
        positions=rope(
            {"rope_theta": config.get("rotary_emb_base", 10_000.0), **config},
            fraction=given.get("partial_rotary_factor", config.get("rotary_pct", 0.25)),
        ),
        norm=NormConfig(kind="layernorm", eps=config.get("layer_norm_eps", 1e-5)),
        placement="pre",
        parallel=config.get("use_parallel_residual", True),
        feed_forward=FeedForwardConfig(
            kind="plain", activation=activation(config.get("hidden_act", "gelu")), bias=True
        ),
        attention_bias=config.get("attention_bias", True),
    )
    return TransformerConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        max_len=max_len,
        decoder=decoder,
        tied_embeddings=config.get("tie_word_embeddings", False),
        scale_embeddings=False,
    )


def drop(config: TransformerConfig) -> tuple[str, ...]:
    """What a file may hold that is not needed; a tied model has its output matrix in the embeddings."""
    return (*DROP, r"(embed_out|lm_head)\.weight") if config.tied_embeddings else DROP


hf_shape = gguf_shape = joint_shape


def from_hf(name: str, values: Tensor, settings: dict[str, Any]) -> Tensor:
    """A folder keeps the rows of each head's query, key and value together, head by head."""
    part = part_of(name)
    if part is None:
        return values
    # (head * part * d_k, ...) -> (head, part, d_k, ...) -> (head, d_k, ...) -> (head * d_k, ...)
    own = values.unflatten(0, (settings["num_attention_heads"], len(PARTS), -1))[:, part]
    return own.flatten(0, 1).clone()


from_gguf = third  # converters put all queries before all keys, and them before all values


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    width, heads = file.get("gptneox.embedding_length"), file.get("gptneox.attention.head_count")
    turned = file.get("gptneox.rope.dimension_count")
    return {
        "vocab_size": file.shapes.get("token_embd.weight", (0,))[0],
        "hidden_size": width,
        "num_hidden_layers": file.get("gptneox.block_count"),
        "num_attention_heads": heads,
        "intermediate_size": file.get("gptneox.feed_forward_length"),
        "max_position_embeddings": file.get("gptneox.context_length"),
        "layer_norm_eps": file.get("gptneox.attention.layer_norm_epsilon", 1e-5),
        "rotary_pct": turned * heads / width if turned and heads and width else 1.0,
        "rotary_emb_base": file.get("gptneox.rope.freq_base", 10_000.0),
        "use_parallel_residual": file.get("gptneox.use_parallel_residual", True),
        "tie_word_embeddings": "output.weight" not in file.shapes,
    }
