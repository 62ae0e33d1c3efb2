"""Valid settings of every kind: named ones, and drawn at random."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st

from engine.config import (
    Alibi,
    ClassHead,
    EncoderHead,
    FeedForwardConfig,
    Learned,
    Linear,
    Llama3,
    NoHead,
    NoPositions,
    NormConfig,
    Positions,
    Rope,
    Shaw,
    Sinusoidal,
    StackConfig,
    T5Buckets,
    TokenHead,
    TransformerConfig,
)

VOCAB, MAX_LEN = 11, 16
ASSEMBLIES = {
    "encoder-only": ("encoder",),
    "decoder-only": ("decoder",),
    "encoder-decoder": ("encoder", "decoder"),
}
SCHEMES: dict[str, Positions] = {
    "none": NoPositions(),
    "sinusoidal": Sinusoidal(),
    "sinusoidal, sines first": Sinusoidal(order="halves", base=100),
    "learned": Learned(),
    "rope": Rope(),
    "rope of a part": Rope(fraction=0.5),
    "rope stretched": Rope(base=100, scaling=Linear(factor=4)),
    "rope stretched as in LLaMA 3": Rope(base=100, scaling=Llama3(factor=8, original=32)),
    "shaw": Shaw(reach=2),
    "t5": T5Buckets(buckets=8, farthest=6),
    "alibi": Alibi(),
}
HEADS: dict[str, EncoderHead] = {
    "none": NoHead(),
    "tokens": TokenHead(),
    "classes, first": ClassHead(n_classes=3),
    "classes, mean": ClassHead(n_classes=20, pool="mean"),
}
SWIGLU = FeedForwardConfig(kind="gated", activation="silu", bias=False)
VARIANTS: dict[str, dict[str, Any]] = {
    **{f"positions: {name}": {"positions": scheme} for name, scheme in SCHEMES.items()},
    "ReLU core": {"core": "relu"},
    "ReLU core, shaw": {"core": "relu", "positions": Shaw(reach=2)},
    "q and k norms": {"qk_norm": True, "positions": Rope()},
    "RMSNorm of q and k": {"qk_norm": True, "norm": NormConfig(kind="rmsnorm")},
    "Post-Norm": {"placement": "post"},
    "sandwich": {"placement": "sandwich"},
    "DeepNorm": {"placement": "deepnorm"},
    "LayerNorm without bias": {"qk_norm": True, "norm": NormConfig(bias=False)},
    "no norm": {"norm": NormConfig(kind="none")},
    "parallel": {"parallel": True},
    "parallel, rope of a part": {"parallel": True, "positions": Rope(fraction=0.5)},
    "window": {"window": 1},
    "window in the first layer only": {"window": 1, "full_layers": (1,), "n_layers": 2},
    "window, t5": {"window": 2, "positions": T5Buckets(buckets=8, farthest=6)},
    "multi-query": {"n_kv_heads": 1},
    "gate of 8/3": {"feed_forward": SWIGLU, "d_ff": None},
    "attention only": {"feed_forward": FeedForwardConfig(kind="none")},
    "attention only, Post-Norm": {"feed_forward": FeedForwardConfig(kind="none"), "placement": "post"},
    "no scale": {"scale": 1.0},
    "bias of W_o only": {"attention_bias": False, "out_bias": True},
    "embedding norm and segments": {"embedding_norm": True, "n_segments": 2},
}


def named(variant: str, assembly: str) -> TransformerConfig:
    """The variant in every stack; encoder and decoder differ in depth, heads, d_k and d_ff."""
    changes = VARIANTS[variant]
    sizes: dict[str, dict[str, Any]] = {
        "encoder": {"n_layers": 1, "n_heads": 2, "d_k": 8, "d_ff": 5},
        "decoder": {"n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "d_k": 4, "d_ff": 7},
    }
    stacks: dict[str, Any] = {name: StackConfig(**sizes[name] | changes) for name in ASSEMBLIES[assembly]}
    if len(stacks) == 2 and stacks["decoder"].parallel:
        stacks["decoder"] = StackConfig(**sizes["decoder"])
    return TransformerConfig(vocab_size=VOCAB, d_model=8, max_len=MAX_LEN, **stacks)


def fits(scheme: Positions, d_k: int) -> bool:
    """Rope turns pairs, one at least."""
    return not isinstance(scheme, Rope) or (scheme.width(d_k) > 0 and scheme.width(d_k) % 2 == 0)


def feed_forwards() -> st.SearchStrategy[FeedForwardConfig]:
    return st.builds(
        FeedForwardConfig,
        kind=st.sampled_from(["plain", "gated", "none"]),
        activation=st.sampled_from(["relu", "gelu", "gelu_tanh", "silu"]),
        bias=st.booleans(),
    )


@st.composite
def stacks(draw: st.DrawFn, *, cross: bool) -> StackConfig:
    n_kv_heads, d_k = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 4, 8]))
    placement = draw(st.sampled_from(["pre", "post", "sandwich", "deepnorm"]))
    kinds = st.sampled_from(["layernorm", "rmsnorm", "none"])
    norm = draw(st.builds(NormConfig, kind=kinds, bias=st.booleans()))
    # without norms a gate squares the stream in every layer, which soon is no number any more
    n_layers = 1 if norm.kind == "none" else draw(st.integers(1, 3))
    chosen: dict[str, Any] = {
        "n_layers": n_layers,
        "n_heads": n_kv_heads * draw(st.integers(1, 3)),
        "n_kv_heads": n_kv_heads,
        "d_k": d_k,
        "d_ff": draw(st.none() | st.integers(1, 6)),
        "positions": draw(st.sampled_from([scheme for scheme in SCHEMES.values() if fits(scheme, d_k)])),
        "norm": norm,
        "placement": placement,
        "parallel": placement == "pre" and not cross and draw(st.booleans()),
        "feed_forward": draw(feed_forwards()),
        "attention_bias": draw(st.booleans()),
        "out_bias": draw(st.none() | st.booleans()),
        "qk_norm": draw(st.booleans()),
        "scale": draw(st.none() | st.sampled_from([1.0, 0.3])),
        "core": draw(st.sampled_from(["softmax", "softmax", "relu"])),
        "window": draw(st.none() | st.integers(1, 4)),
        "full_layers": tuple(draw(st.sets(st.integers(0, n_layers - 1)))),
        "embedding_norm": draw(st.booleans()),
        "n_segments": draw(st.integers(0, 2)),
    }
    return StackConfig(**chosen)


@st.composite
def configs(draw: st.DrawFn) -> TransformerConfig:
    which = draw(st.sampled_from([*ASSEMBLIES.values()]))
    both = len(which) == 2
    drawn: dict[str, Any] = {name: draw(stacks(cross=both and name == "decoder")) for name in which}
    return TransformerConfig(
        vocab_size=VOCAB,
        d_model=draw(st.integers(2, 12)),
        max_len=MAX_LEN,
        tied_embeddings=draw(st.booleans()),
        scale_embeddings=draw(st.booleans()),
        head_bias=draw(st.booleans()),
        encoder_head=NoHead() if "decoder" in which else draw(st.sampled_from([*HEADS.values()])),
        logit_scale=draw(st.sampled_from([1.0, 0.25])),
        initialisation=draw(
            st.sampled_from(["xavier_uniform", "normal", "kaiming", "torch", "depth_scaled"])
        ),
        **drawn,
    )
