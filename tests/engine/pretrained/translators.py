"""Tiny encoder-decoders of `transformers` for these tests, and everything they compute against ours."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers
from torch import nn

from engine.capture import capture
from tests.engine.pretrained.checkpoints import VOCAB, stirred

SOURCE = torch.tensor([[3, 17, 5, 5, 29, 11, 38, 2, 1]])
TARGET = torch.tensor([[0, 8, 22, 4, 30, 9]])
PAD = VOCAB - 1  # of Marian, whose last token it is


def t5(seed: int = 0, head: torch.Tensor | None = None, **changes: Any) -> Any:
    """Three heads of 6 on a stream of 16; `head`: an output matrix of its own, as T5 1.1 has."""
    settings = {
        "vocab_size": VOCAB, "d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 3, "num_heads": 3,
        "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20, "initializer_factor": 0.5,
        "decoder_start_token_id": 0, "attn_implementation": "eager", **changes,
    }  # fmt: skip
    torch.manual_seed(seed)
    model = stirred(transformers.T5ForConditionalGeneration(transformers.T5Config(**settings)))
    if head is not None:
        model.lm_head.weight = nn.Parameter(head)
    return model


def marian(seed: int = 0, **changes: Any) -> Any:
    settings = {
        "vocab_size": VOCAB, "d_model": 24, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 3,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 30, "decoder_ffn_dim": 40,
        "max_position_embeddings": 32, "pad_token_id": PAD, "decoder_start_token_id": PAD, "eos_token_id": 0,
        "forced_eos_token_id": None, "attn_implementation": "eager", **changes,
    }  # fmt: skip
    torch.manual_seed(seed)
    model = stirred(transformers.MarianMTModel(transformers.MarianConfig(**settings)))
    for table in (model.model.encoder.embed_positions, model.model.decoder.embed_positions):
        table.weight.data = table.create_weight()  # waves are no weights, and not to be stirred
    model.final_logits_bias.copy_(0.3 * torch.randn_like(model.final_logits_bias))
    return model


def assert_same(theirs: Any, ours: Any, bound: float = 1e-5) -> None:
    """Logits, what every layer finds and leaves, and every weight of the three attentions."""
    with torch.inference_mode():
        expected = theirs(
            input_ids=SOURCE, decoder_input_ids=TARGET, output_attentions=True, output_hidden_states=True
        )
        with capture() as trace:
            logits = ours(SOURCE, TARGET)
    found = {"logits": logits}
    wanted = {"logits": expected.logits}
    sides = {
        "encoder.{}.self_attention": expected.encoder_attentions,
        "decoder.{}.self_attention": expected.decoder_attentions,
        "decoder.{}.cross_attention": expected.cross_attentions,
    }
    for path, weights in sides.items():
        for layer, values in enumerate(weights):
            name = path.format(f"layers.{layer}") + ".weights"
            found[name], wanted[name] = trace[name], values
    states = {"encoder": expected.encoder_hidden_states, "decoder": expected.decoder_hidden_states}
    for stack, (*residuals, last) in states.items():
        for layer, values in enumerate(residuals):
            name = f"{stack}.layers.{layer}.self_attention_residual.resid_pre"
            found[name], wanted[name] = trace[name], values
        found[f"{stack}.final_norm"], wanted[f"{stack}.final_norm"] = trace[f"{stack}.final_norm"], last
    assert sum(name.endswith(".weights") for name in trace) == sum(map(len, sides.values()))
    for name, values in wanted.items():
        torch.testing.assert_close(
            found[name], values, rtol=0, atol=bound, msg=lambda text, at=name: f"{at}: {text}"
        )


def pieces(lines: Sequence[str], size: int = 80, **settings: Any) -> bytes:
    """A SentencePiece model trained on these lines, which takes some milliseconds."""
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(list(lines) * 5), model_writer=content, vocab_size=size, hard_vocab_limit=False,
        minloglevel=2, **settings,
    )  # fmt: skip
    return content.getvalue()


ENGLISH = [
    "the animal didn't cross the street because it was too tired.", "the cat sat on the mat",
    "hello world again and again", "(foo) bar, baz; qux!", "naïve café in Paris 2025",
]  # fmt: skip
GERMAN = [
    "das Tier hat die Straße nicht überquert, weil es zu müde war.", "die Katze saß auf der Matte",
    "hallo Welt, wieder und wieder", "(foo) bar, baz; qux!",
]  # fmt: skip


def save_t5_pieces(folder: Path) -> Path:
    """spiece.model, with the ids that T5 gives its specials."""
    (folder / "spiece.model").write_bytes(pieces(ENGLISH, pad_id=0, eos_id=1, unk_id=2, bos_id=-1))
    return folder


def save_marian_pieces(folder: Path) -> Path:
    """source.spm, target.spm and the vocabulary of both, in an order of its own, with one language code."""
    names = {"</s>": 0, "<unk>": 1, ">>fr<<": 2}
    for name, lines in (("source.spm", ENGLISH), ("target.spm", GERMAN)):
        content = pieces(lines)
        (folder / name).write_bytes(content)
        model = sentencepiece.SentencePieceProcessor.from_proto(content)
        for id in reversed(range(3, len(model))):
            names.setdefault(model.id_to_piece(id), len(names))
    names["<pad>"] = len(names)
    (folder / "vocab.json").write_text(json.dumps(names, ensure_ascii=False), encoding="utf-8")
    return folder


def saved_with_pieces(family: str, folder: Path) -> Path:
    """A model with a vocabulary of its own pieces, as `engine.load` opens it."""
    folder.mkdir()
    if family == "t5":
        model = t5(vocab_size=160, n_positions=24)
        save_t5_pieces(folder)
    else:
        save_marian_pieces(folder)
        size = len(json.loads((folder / "vocab.json").read_text("utf-8")))
        model = marian(vocab_size=size, pad_token_id=size - 1, decoder_start_token_id=size - 1)
    model.save_pretrained(folder)
    return folder
