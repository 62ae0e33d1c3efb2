"""A forward that keeps everything, at the size of GPT-2 (12 layers, 12 heads, d_model 768), random weights.

Peers: the same explicit chain with nobody listening; the GPT-2 of `transformers` in eager mode, giving out its
attentions and hidden states (two values of each layer, where the capture keeps every step); and TransformerLens'
run_with_cache, where it is installed: pip install -r tests/benchmarks/requirements.txt.

Below the times, what a forward adds to the peak of the process's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from unittest.mock import patch

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from engine.capture import capture
from engine.config import FeedForwardConfig, Learned, StackConfig, TransformerConfig
from engine.model import attention
from engine.model.build import build
from tests.benchmarks.measure import in_turns, milliseconds, peak, ratio, seconds, table

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

    ways = {
        "full capture": captured,
        "explicit, unheard": explicit,
        "fused": lambda: ours(ids),
        "transformers": lambda: peer(ids, output_attentions=True, output_hidden_states=True, use_cache=False),
    }
    if find_spec("transformer_lens"):
        ways["TransformerLens"] = lens(ids)
    return ways


def lens(ids: Tensor) -> Callable[[], object]:
    """The same shape in TransformerLens."""
    lens = import_module("transformer_lens")
    config = lens.HookedTransformerConfig(
        n_layers=12, d_model=768, n_ctx=1024, n_heads=12, d_head=64, d_mlp=3072, d_vocab=VOCAB,
        act_fn="gelu_new", normalization_type="LN", device="cpu", seed=0,
    )  # fmt: skip
    model = lens.HookedTransformer(config).eval()
    return lambda: model.run_with_cache(ids)


def main() -> None:
    torch.set_num_threads(1)
    times, memory = [], []
    with torch.no_grad():
        for length in LENGTHS:
            runs = forwards(torch.randint(0, VOCAB, (1, length), generator=torch.Generator().manual_seed(0)))
            for run in runs.values():
                run()
            taken = in_turns({name: lambda run=run: seconds(run) for name, run in runs.items()}, TURNS)
            ours = taken["full capture"]
            ratios = [f"{ratio(ours, peer):.2f}" for name, peer in taken.items() if name != "full capture"]
            times.append(
                (f"{length} tokens", *(milliseconds(median(each)) for each in taken.values()), *ratios)
            )
            memory.append((f"{length} tokens", *(f"{peak(run):.0f} MB" for run in runs.values())))
    heads = ("", *runs, *(f"capture / {name}" for name in runs if name != "full capture"))
    table(f"Forward at GPT-2 size, one thread, medians of {TURNS} turns", heads, times)
    print(
        "Budget: / explicit at most 1.15 (1.2 at 256), / transformers at most 1.0, / TransformerLens at most 0.75"
    )
    table("What it adds to the peak of memory", ("", *runs), memory)


if __name__ == "__main__":
    main()
