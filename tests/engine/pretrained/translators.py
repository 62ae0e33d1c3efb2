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
from sentencepiece import sentencepiece_model_pb2
from torch import nn

from engine.capture import capture
from tests.engine.pretrained.checkpoints import VOCAB, Writer, stirred

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


def charsmap(library: sentencepiece.SentencePieceProcessor) -> bytes:
    """The rules of normalization that a model was trained with."""
    return proto(library).normalizer_spec.precompiled_charsmap


def proto(library: sentencepiece.SentencePieceProcessor) -> Any:
    """A model's own message, whose class is made when it is imported."""
    module: Any = sentencepiece_model_pb2
    return module.ModelProto.FromString(library.serialized_model_proto())


def unigram_in_gguf(file: Writer, library: sentencepiece.SentencePieceProcessor, rows: int = 0) -> None:
    """A vocabulary as T5's converter writes it, filled up to as many rows."""
    model = proto(library)
    fill = range(len(model.pieces), rows)
    file.add_tokenizer_model("t5")
    file.add_token_list([*[one.piece for one in model.pieces], *[f"[PAD{id}]" for id in fill]])
    file.add_token_scores([*[one.score for one in model.pieces], *[-10000.0 for _ in fill]])
    file.add_token_types([*[one.type for one in model.pieces], *[5 for _ in fill]])
    file.add_add_space_prefix(model.normalizer_spec.add_dummy_prefix)
    file.add_remove_extra_whitespaces(model.normalizer_spec.remove_extra_whitespaces)
    if rules := model.normalizer_spec.precompiled_charsmap:
        file.add_precompiled_charsmap(rules)
    file.add_pad_token_id(0)
    file.add_eos_token_id(1)
    file.add_unk_token_id(2)


def t5_as_gguf(model: Any, path: Path, more: dict[str, torch.Tensor] | None = None) -> Path:
    """Writes a T5 as converters do, in F32, with a vocabulary of pieces, and `more` tensors."""
    config, weights = model.config, dict(model.state_dict())
    content = pieces(ENGLISH, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    with Writer(path, "t5") as file:
        file.add_context_length(getattr(config, "n_positions", 512))
        file.add_embedding_length(config.d_model)
        file.add_feed_forward_length(config.d_ff)
        file.add_block_count(config.num_layers)
        file.add_decoder_block_count(config.num_decoder_layers)
        file.add_head_count(config.num_heads)
        file.add_key_length(config.d_kv)
        file.add_value_length(config.d_kv)
        file.add_layer_norm_eps(config.layer_norm_epsilon)
        file.add_layer_norm_rms_eps(config.layer_norm_epsilon)
        file.add_relative_attn_buckets_count(config.relative_attention_num_buckets)
        file.add_decoder_start_token_id(config.decoder_start_token_id)
        unigram_in_gguf(file, sentencepiece.SentencePieceProcessor.from_proto(content), config.vocab_size)
        for name, values in (more or {}).items():
            file.tensor(name, values)
        file.tensor("token_embd.weight", weights["shared.weight"])
        if not torch.equal(weights["lm_head.weight"], weights["shared.weight"]):
            file.tensor("output.weight", weights["lm_head.weight"])
        for stack, depth in {"encoder": config.num_layers, "decoder": config.num_decoder_layers}.items():
            short, last = stack[:3], 1 if stack == "encoder" else 2
            file.tensor(f"{short}.output_norm.weight", weights[f"{stack}.final_layer_norm.weight"])
            table = weights[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
            file.tensor(f"{short}.blk.0.attn_rel_b.weight", table)
            for i in range(depth):
                theirs, ours = f"{stack}.block.{i}.layer", f"{short}.blk.{i}"
                names = {"attn_norm": "0.layer_norm", "ffn_norm": f"{last}.layer_norm"}
                names |= {f"attn_{part}": f"0.SelfAttention.{part}" for part in "qkvo"}
                if stack == "decoder":
                    names |= {"cross_attn_norm": "1.layer_norm"}
                    names |= {f"cross_attn_{part}": f"1.EncDecAttention.{part}" for part in "qkvo"}
                inner = {"ffn_gate": "wi_0", "ffn_up": "wi_1"} if config.is_gated_act else {"ffn_up": "wi"}
                for name, source in {**inner, "ffn_down": "wo"}.items():
                    names[name] = f"{last}.DenseReluDense.{source}"
                for name, source in names.items():
                    file.tensor(f"{ours}.{name}.weight", weights[f"{theirs}.{source}.weight"])
    return path


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
