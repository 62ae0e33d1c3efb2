"""A forward that keeps everything, at the size of GPT-2 (12 layers, 12 heads, d_model 768), random weights.

Peers: the same explicit chain with nobody listening, and the GPT-2 of `transformers` in eager mode, giving out its
attentions and hidden states. The capture keeps every step of every layer, the peer two values of each.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from unittest.mock import patch

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from engine.capture import capture
from engine.config import FeedForwardConfig, Learned, StackConfig, TransformerConfig
from engine.model import attention
from engine.model.build import build
from tests.benchmarks.measure import in_turns, milliseconds, ratio, seconds, table

VOCAB, LENGTHS, TURNS = 50257, (16, 64, 256), 15

OURS = TransformerConfig(
    vocab_size=VOCAB,
    d_model=768,
    max_len=1024,
    scale_embeddings=False,
    tied_embeddings=True,
    decoder=StackConfig(
        n_layers=12,
        n_heads=12,
        d_ff=3072,
        positions=Learned(),
        feed_forward=FeedForwardConfig(activation="gelu_tanh"),
    ),
)


def forwards(ids: Tensor) -> dict[str, Callable[[], object]]:
    """The same forward in every way that is compared."""
    ours = build(OURS).eval()
    peer = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB)).eval()
    peer.set_attn_implementation("eager")

    def captured() -> object:
        with capture() as trace:
            ours(ids)
        return trace

    def explicit() -> object:
        with patch.object(attention, "listening", lambda: True):
            return ours(ids)

    return {
        "capture": captured,
        "explicit": explicit,
        "fused": lambda: ours(ids),
        "peer": lambda: peer(ids, output_attentions=True, output_hidden_states=True, use_cache=False),
    }


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    with torch.no_grad():
        for length in LENGTHS:
            runs = forwards(torch.randint(0, VOCAB, (1, length), generator=torch.Generator().manual_seed(0)))
            for run in runs.values():
                run()
            taken = in_turns({name: lambda run=run: seconds(run) for name, run in runs.items()}, TURNS)
            rows.append((
                f"{length} tokens",
                *(milliseconds(median(times)) for times in taken.values()),
                f"{ratio(taken['capture'], taken['explicit']):.2f}",
                f"{ratio(taken['capture'], taken['peer']):.2f}",
                f"{ratio(taken['capture'], taken['fused']):.2f}",
            ))  # fmt: skip
    ways = ("full capture", "explicit, unheard", "fused", "transformers")
    heads = ("", *ways, "/ explicit", "/ transformers", "/ fused")
    table(f"Forward at GPT-2 size, one thread, medians of {TURNS} turns", heads, rows)
    print("Budget: / explicit at most 1.15 (1.2 at 256), / transformers at most 1.0")


if __name__ == "__main__":
    main()
