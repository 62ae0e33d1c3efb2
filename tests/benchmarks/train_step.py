"""One training step, forward, backward and AdamW: ours against torch's nn.Transformer and against a GPT-2 of the same
shape.

Same widths, depths, vocabulary, masks, batch, loss, optimizer, dtype and threads. `transformers` runs its fused (sdpa)
attention, nn.Transformer what it chooses; ours has nobody listening.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from engine.config import FeedForwardConfig, Learned, StackConfig, TransformerConfig
from engine.model.build import build
from engine.model.transformer import EncoderDecoder
from tests.benchmarks.measure import in_turns, milliseconds, ratio, seconds, table

VOCAB, D_MODEL, HEADS, D_FF, BATCH, SOURCE, TARGET, TURNS = 512, 128, 4, 512, 32, 32, 24, 25
LAYERS = {"encoder-decoder": 2, "decoder-only": 4}
STACK = {"n_heads": HEADS, "d_ff": D_FF, "dropout": 0.0}


class TorchTransformer(nn.Module):
    """nn.Transformer between an embedding and its transpose, with learned positions as ours has."""

    def __init__(self) -> None:
        super().__init__()
        depth = LAYERS["encoder-decoder"]
        self.table = nn.Embedding(VOCAB, D_MODEL)
        self.positions = nn.Embedding(64, D_MODEL)
        self.body = nn.Transformer(
            D_MODEL, HEADS, depth, depth, D_FF, dropout=0.0, batch_first=True, norm_first=True
        )

    def forward(self, source: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
        filling = torch.arange(source.shape[1]) >= lengths[:, None]
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        out = self.body(
            self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=filling, memory_key_padding_mask=filling,
        )  # fmt: skip
        return F.linear(out, self.table.weight)

    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids) * D_MODEL**0.5 + self.positions.weight[: ids.shape[1]]


def encoder_decoders() -> dict[str, Callable[[], Tensor]]:
    """name -> the logits of one batch of pairs."""
    stack = StackConfig(n_layers=LAYERS["encoder-decoder"], positions=Learned(), **STACK)
    ours = build(
        TransformerConfig(vocab_size=VOCAB, d_model=D_MODEL, max_len=64, encoder=stack, decoder=stack)
    )
    peer = TorchTransformer()
    assert isinstance(ours, EncoderDecoder)
    source, target = torch.randint(0, VOCAB, (BATCH, SOURCE)), torch.randint(0, VOCAB, (BATCH, TARGET))
    lengths = torch.randint(SOURCE // 2, SOURCE + 1, (BATCH,))
    return {
        "ours": step(ours, lambda: ours(source, target, lengths), target),
        "peer": step(peer, lambda: peer(source, target, lengths), target),
    }


def decoders() -> dict[str, Callable[[], Tensor]]:
    stack = StackConfig(
        n_layers=LAYERS["decoder-only"],
        positions=Learned(),
        feed_forward=FeedForwardConfig(activation="gelu_tanh"),
        **STACK,
    )
    ours = build(
        TransformerConfig(
            vocab_size=VOCAB, d_model=D_MODEL, max_len=64, decoder=stack, scale_embeddings=False
        )
    )
    peer = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB, n_positions=64, n_embd=D_MODEL, n_layer=LAYERS["decoder-only"], n_head=HEADS,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False, bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip
    peer.set_attn_implementation("sdpa")
    ids = torch.randint(0, VOCAB, (BATCH, SOURCE))
    return {
        "ours": step(ours, lambda: ours(ids), ids),
        "peer": step(peer, lambda: peer(input_ids=ids).logits, ids),
    }


def step(model: nn.Module, read: Callable[[], Tensor], labels: Tensor) -> Callable[[], Tensor]:
    """One step of training, as a bare loop makes it."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def run() -> Tensor:
        loss = F.cross_entropy(read()[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return run


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for name, runs in (("nn.Transformer", encoder_decoders()), ("GPT-2, transformers", decoders())):
        for run in runs.values():
            run()
        taken = in_turns({who: lambda run=run: seconds(run) for who, run in runs.items()}, TURNS)
        rate = ratio(taken["peer"], taken["ours"])  # steps a second, ours over the peer's
        rows.append((
            name, milliseconds(median(taken["ours"])), milliseconds(median(taken["peer"])), f"{rate:.2f}",
        ))  # fmt: skip
    table(
        f"A training step, one thread, medians of {TURNS} turns",
        ("", "ours", "peer", "steps/s, ours / peer"), rows,
    )  # fmt: skip
    print("Budget: at least 1.05")


if __name__ == "__main__":
    main()
