"""One training step, forward, backward and AdamW: ours against torch's nn.Transformer and against a GPT-2 of the same
shape.

And what the training loop costs above its own bare step, which knows its batch beforehand: drawing examples, making
tensors of them, clipping, counting what was right and refusing what is not finite.

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
from engine.training.loop import train
from engine.training.settings import TrainingSettings
from engine.training.tasks.dates import Dates
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


def loop() -> dict[str, Callable[[], float]]:
    """A step of a run on dates, and the bare step of the same model, on a batch of the same run."""
    task = Dates()
    stack = StackConfig(n_layers=LAYERS["encoder-decoder"], **STACK)
    config = TransformerConfig(
        vocab_size=len(task.tokenizer), d_model=D_MODEL, max_len=64, encoder=stack, decoder=stack
    )
    settings = TrainingSettings(steps=10_000, batch_size=BATCH, device="cpu")
    run, bare = train(config, task, settings), train(config, task, settings)
    batches = iter(
        bare.objective.batch(task, task.draw(BATCH, bare.chance("data", step)), bare.chance("batch", step))
        for step in range(1, settings.steps)
    )

    def bare_step() -> Callable[[], object]:
        batch = next(batches)

        def step() -> Tensor:
            logits = bare.model(**batch.inputs)[batch.scored]
            loss = F.cross_entropy(
                logits, batch.labels[batch.scored], label_smoothing=settings.label_smoothing
            )
            bare.optimizer.zero_grad()
            loss.backward()
            bare.optimizer.step(settings.learning_rate)
            return loss.detach()

        return step

    return {"loop": lambda: seconds(lambda: next(run)), "bare": lambda: seconds(bare_step())}


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
    taken = in_turns(loop(), 4 * TURNS)
    table(
        f"The training loop, one thread, medians of {4 * TURNS} turns",
        ("", "loop", "bare step", "loop / bare"),
        [("dates", *(milliseconds(median(taken[who])) for who in ("loop", "bare")),
          f"{ratio(taken['loop'], taken['bare']):.3f}")],
    )  # fmt: skip
    print("Budget: at most 1.05")


if __name__ == "__main__":
    main()
