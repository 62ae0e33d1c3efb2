"""Small models of every kind, for tests."""

from __future__ import annotations

from typing import Any

from torch import nn

from engine.config import FeedForwardConfig, Learned, NormConfig, Rope, StackConfig, TransformerConfig
from engine.language_model import LanguageModel
from engine.model.build import build
from engine.tokenizers import CharacterTokenizer

VOCAB = 20


def stack(**changes: Any) -> StackConfig:
    return StackConfig(**{"n_layers": 2, "n_heads": 4, "d_ff": 32, **changes})


def config(**changes: Any) -> TransformerConfig:
    return TransformerConfig(**{"vocab_size": VOCAB, "d_model": 16, "max_len": 64, **changes})


def llama(**changes: Any) -> TransformerConfig:
    """Decoder-only: RoPE, RMSNorm, gated SiLU, grouped heads, tied."""
    decoder = stack(
        n_kv_heads=2,
        positions=Rope(),
        norm=NormConfig(kind="rmsnorm"),
        feed_forward=FeedForwardConfig(kind="gated", activation="silu", bias=False),
        attention_bias=False,
        **changes,
    )
    return config(decoder=decoder, scale_embeddings=False)


def bert(**changes: Any) -> TransformerConfig:
    """Encoder-only: learned positions, segments, embedding norm, Post-Norm."""
    encoder = stack(
        positions=Learned(),
        norm=NormConfig(eps=1e-12),
        placement="post",
        embedding_norm=True,
        n_segments=2,
        feed_forward=FeedForwardConfig(activation="gelu"),
        **changes,
    )
    return config(encoder=encoder, scale_embeddings=False)


def vaswani(**changes: Any) -> TransformerConfig:
    """Encoder-decoder of the first paper, Post-Norm, sinusoidal; stacks of different depth."""
    encoder = stack(placement="post", **changes)
    decoder = stack(placement="post", **{**changes, "n_layers": 1})
    return config(encoder=encoder, decoder=decoder)


ASSEMBLIES = {"encoder-only": bert(), "decoder-only": llama(), "encoder-decoder": vaswani()}


def part(model: nn.Module, path: str) -> Any:
    """A sub-module, whose attributes a type checker cannot know."""
    return model.get_submodule(path)


def language_model(settings: TransformerConfig, seed: int = 0) -> LanguageModel:
    tokenizer = CharacterTokenizer("abcdefghijklmnop")
    return LanguageModel("toy", "Toy", settings, tokenizer, build(settings, seed))
