"""The GPT-2 family (Radford et al. 2019): a Pre-Norm decoder, learned positions, GELU by tanh, tied embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from engine.config import FeedForwardConfig, Learned, NormConfig, StackConfig, TransformerConfig
from engine.pretrained.fused import joint_shape, part_of, third
from engine.pretrained.hf_config import activation, not_built, require

if TYPE_CHECKING:
    from torch import Tensor

    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "gpt2", "gpt2", "GPT-2"
PREFIXES = ("transformer.",)
INPUTS_FIRST = True

_THEIRS, _OURS = r"h\.(\d+)\.", r"decoder.layers.\1."
_FUSED = tuple(_OURS + rf"self_attention.W_{part}.\2" for part in "qkv")
RENAMES = (
    (r"wte\.weight",                               r"embedding.table.weight"),
    (r"wpe\.weight",                               r"decoder.positions.table.weight"),
    (_THEIRS + r"ln_1\.(weight|bias)",             _OURS + r"self_attention_residual.pre.\2"),
    (_THEIRS + r"attn\.c_attn\.(weight|bias)",     _FUSED),
    (_THEIRS + r"attn\.c_proj\.(weight|bias)",     _OURS + r"self_attention.W_o.\2"),
    (_THEIRS + r"ln_2\.(weight|bias)",             _OURS + r"feed_forward_residual.pre.\2"),
    (_THEIRS + r"mlp\.c_fc\.(weight|bias)",        _OURS + r"feed_forward.W_in.\2"),
    (_THEIRS + r"mlp\.c_proj\.(weight|bias)",      _OURS + r"feed_forward.W_out.\2"),
    (r"ln_f\.(weight|bias)",                       r"decoder.norm.\1"),
    (r"lm_head\.weight",                           r"head.weight"),
)  # fmt: skip

_BLOCK = r"blk\.(\d+)\."
GGUF_RENAMES = (
    (r"token_embd\.weight",                        r"embedding.table.weight"),
    (r"position_embd\.weight",                     r"decoder.positions.table.weight"),
    (_BLOCK + r"attn_norm\.(weight|bias)",         _OURS + r"self_attention_residual.pre.\2"),
    (_BLOCK + r"attn_qkv\.(weight|bias)",          _FUSED),
    (_BLOCK + r"attn_output\.(weight|bias)",       _OURS + r"self_attention.W_o.\2"),
    (_BLOCK + r"ffn_norm\.(weight|bias)",          _OURS + r"feed_forward_residual.pre.\2"),
    (_BLOCK + r"ffn_up\.(weight|bias)",            _OURS + r"feed_forward.W_in.\2"),
    (_BLOCK + r"ffn_down\.(weight|bias)",          _OURS + r"feed_forward.W_out.\2"),
    (r"output_norm\.(weight|bias)",                r"decoder.norm.\1"),
    (r"output\.weight",                            r"head.weight"),
)  # fmt: skip

DROP = (r"h\.\d+\.attn\.(bias|masked_bias)",)  # the causal mask, which old files save


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a GPT2LMHeadModel; raises AtlasError for missing keys and for what is not built."""
    vocab_size, d_model, n_layers, n_heads, max_len = require(
        config, "vocab_size", "n_embd", "n_layer", "n_head", "n_positions"
    )
    for switch in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        if config.get(switch):
            raise not_built(switch, True)
    decoder = StackConfig(
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=config.get("n_inner", 4 * d_model),
        positions=Learned(),
        norm=NormConfig(kind="layernorm", eps=config.get("layer_norm_epsilon", 1e-5)),
        placement="pre",
        feed_forward=FeedForwardConfig(
            kind="plain", activation=activation(config.get("activation_function", "gelu_new")), bias=True
        ),
        attention_bias=True,
        # None stands for 1 / sqrt(d_k)
        scale=cast("float", None if config.get("scale_attn_weights", True) else 1.0),
    )
    return TransformerConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        max_len=max_len,
        decoder=decoder,
        tied_embeddings=bool(config.get("tie_word_embeddings", True)),
        scale_embeddings=False,
    )


def drop(config: TransformerConfig) -> tuple[str, ...]:
    """What a file may hold that is not needed; a tied model has its output matrix in the embeddings."""
    return (*DROP, r"lm_head\.weight") if config.tied_embeddings else DROP


def hf_shape(name: str, shape: tuple[int, ...], settings: dict[str, Any]) -> tuple[int, ...]:
    """Matrices are kept as (in, out), for x W instead of W x, and Q, K and V side by side in one of them."""
    if ".W_" not in name:
        return shape
    *before, out = reversed(shape)
    return (*before, out if part_of(name) is None else 3 * out)


def from_hf(name: str, values: Tensor, settings: dict[str, Any]) -> Tensor:
    """One of our matrices, as (out, in), or its bias."""
    if ".W_" not in name:
        return values
    part = part_of(name)
    own = values if part is None else values.chunk(3, dim=-1)[part]
    return own.t().clone()  # of a bias, t is the bias itself


gguf_shape, from_gguf = (
    joint_shape,
    third,
)  # converters turn the matrices to (out, in), and leave Q, K and V in one


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    return {
        "vocab_size": file.shapes.get("token_embd.weight", (0,))[0],
        "n_embd": file.get("gpt2.embedding_length"),
        "n_layer": file.get("gpt2.block_count"),
        "n_head": file.get("gpt2.attention.head_count"),
        "n_inner": file.get("gpt2.feed_forward_length"),
        "n_positions": file.get("gpt2.context_length"),
        "layer_norm_epsilon": file.get("gpt2.attention.layer_norm_epsilon", 1e-5),
        "tie_word_embeddings": "output.weight" not in file.shapes,
    }
