"""Greedy decoding from a cache, one text: SmolLM2 in fp32, and small random models of 4 layers and d_model 128.

Peer: `generate` of transformers, with the same weights or the same shape, which writes as many tokens. SmolLM2 is bound
by reading its weights from memory, the small ones by what happens around the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import transformers
from torch import Tensor

import engine
from engine.config import FeedForwardConfig, Learned, NormConfig, Rope, StackConfig, TransformerConfig
from engine.decoding import greedy, text_reader
from engine.model.build import build
from engine.model.transformer import DecoderOnly
from engine.pretrained import llama as family
from engine.pretrained import renaming
from tests.benchmarks.measure import in_turns, ratio, seconds, table

VOCAB, MAX_LEN, TURNS = 1000, 512, 9
REAL, TEXT = "smollm2-135m", "The animal didn't cross the street because it was too tired"

GPT2 = StackConfig(
    n_layers=4, n_heads=4, positions=Learned(), feed_forward=FeedForwardConfig(activation="gelu_tanh")
)
LLAMA = StackConfig(
    n_layers=4,
    n_heads=4,
    positions=Rope(),
    norm=NormConfig(kind="rmsnorm"),
    attention_bias=False,
    feed_forward=FeedForwardConfig(kind="gated", activation="silu", bias=False),
)
ENDLESS: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None}


def small(decoder: StackConfig) -> TransformerConfig:
    return TransformerConfig(
        vocab_size=VOCAB, d_model=128, max_len=MAX_LEN, scale_embeddings=False, decoder=decoder
    )


def build_small(decoder: StackConfig) -> DecoderOnly:
    model = build(small(decoder)).eval()
    assert isinstance(model, DecoderOnly)
    return model


def gpt2() -> Any:
    shape: dict[str, Any] = {"n_embd": 128, "n_layer": 4, "n_head": 4, "n_positions": MAX_LEN}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=VOCAB, **shape, **ENDLESS)).eval()


def llama(config: TransformerConfig) -> Any:
    """Of the same shape as a decoder-only configuration of the LLaMA family."""
    decoder = config.stacks["decoder"]
    assert isinstance(decoder.positions, Rope)
    settings = transformers.LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.d_model,
        intermediate_size=decoder.d_ff,
        num_hidden_layers=decoder.n_layers,
        num_attention_heads=decoder.n_heads,
        num_key_value_heads=decoder.n_kv_heads,
        rope_parameters={"rope_type": "default", "rope_theta": decoder.positions.base},
        max_position_embeddings=config.max_len,
        rms_norm_eps=decoder.norm.eps,
        tie_word_embeddings=True,
        **ENDLESS,
    )
    return transformers.LlamaForCausalLM(settings).eval()


def with_weights_of(ours: DecoderOnly, peer: Any) -> Any:
    """The peer, made to compute with the very tensors of our model."""
    theirs = peer.state_dict(keep_vars=True)
    names = renaming.known(theirs, prefixes=family.PREFIXES, table=family.RENAMES)
    weights = ours.state_dict()
    for key, name in names.items():
        if name in weights:  # tied, so that ours has no head of its own
            theirs[key].data = weights[name]
    return peer


def ours(model: DecoderOnly, ids: Tensor, count: int) -> list[int]:
    steps = greedy(text_reader(model), ids, max_new_tokens=count, max_len=MAX_LEN)
    return [int(step.ids) for step in steps]


def theirs(peer: Any, ids: Tensor, count: int) -> list[int]:
    attended, settings = torch.ones_like(ids), {"do_sample": False, "pad_token_id": 0}
    out = peer.generate(ids, attention_mask=attended, max_new_tokens=count, min_new_tokens=count, **settings)
    return out[0, ids.shape[1] :].tolist()


def measured(
    name: str, model: DecoderOnly, peer: Any, ids: Tensor, count: int, budget: float
) -> tuple[str, ...]:
    """A row of the table: tokens per second of both, and the ratio of the turns."""
    runs: dict[str, Callable[[], object]] = {
        "ours": lambda: ours(model, ids, count),
        "theirs": lambda: theirs(peer, ids, count),
    }
    for run in runs.values():
        run()
    taken = in_turns({way: lambda run=run: seconds(run) for way, run in runs.items()}, TURNS)
    speed = ratio(taken["theirs"], taken["ours"])
    return (
        name,
        *(f"{count / median(times):.0f}" for times in taken.values()),
        f"{speed:.2f}",
        f"{budget:.1f}",
    )


def main() -> None:
    torch.set_num_threads(1)
    real = engine.load(REAL)
    assert isinstance(real.model, DecoderOnly)
    peer, ids = with_weights_of(real.model, llama(real.config)), torch.tensor([real.encode(TEXT).ids])
    assert ours(real.model, ids, 16) == theirs(peer, ids, 16), "the peer writes another text"
    few = torch.arange(8)[None]
    rows = [
        measured("SmolLM2, fp32", real.model, peer, ids, 32, 1.0),
        measured("4 layers, as GPT-2", build_small(GPT2), gpt2(), few, 128, 2.5),
        measured("4 layers, as LLaMA", build_small(LLAMA), llama(small(LLAMA)), few, 128, 2.5),
    ]
    heads = ("", "tokens/s", "transformers", "ratio", "at least")
    table(f"Greedy decoding from a cache, one thread, medians of {TURNS} turns", heads, rows)


if __name__ == "__main__":
    main()
