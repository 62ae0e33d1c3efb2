"""Tiny random checkpoints for these tests, written to disk in the layouts that people have them in."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import models, pre_tokenizers

from engine.pretrained.gguf_file import GgufFile

VOCAB = 40


def llama(seed: int = 0, **changes) -> transformers.LlamaForCausalLM:
    return _kin(transformers.LlamaForCausalLM, transformers.LlamaConfig, seed, changes)


def _kin(model, config, seed: int, changes: dict):
    settings = {
        "vocab_size": VOCAB, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
        "bos_token_id": 1, "eos_token_id": 2, "attn_implementation": "eager", **changes,
    }  # fmt: skip
    torch.manual_seed(seed)
    return stirred(model(config(**settings)))


def bert(seed: int = 0, **changes) -> transformers.BertModel:
    settings = {
        "vocab_size": VOCAB, "hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 3,
        "num_attention_heads": 3, "max_position_embeddings": 32, "attn_implementation": "eager", **changes,
    }  # fmt: skip
    torch.manual_seed(seed)
    return stirred(transformers.BertModel(transformers.BertConfig(**settings)))


def mistral(seed: int = 0, **changes) -> transformers.MistralForCausalLM:
    return _kin(transformers.MistralForCausalLM, transformers.MistralConfig, seed, changes)


def qwen2(seed: int = 0, **changes) -> transformers.Qwen2ForCausalLM:
    return _kin(transformers.Qwen2ForCausalLM, transformers.Qwen2Config, seed, changes)


def qwen3(seed: int = 0, **changes) -> transformers.Qwen3ForCausalLM:
    return _kin(transformers.Qwen3ForCausalLM, transformers.Qwen3Config, seed, {"head_dim": 8, **changes})


def gpt2(seed: int = 0, **changes) -> transformers.GPT2LMHeadModel:
    settings = {
        "vocab_size": VOCAB, "n_embd": 24, "n_layer": 3, "n_head": 3, "n_positions": 32, "bos_token_id": 1,
        "eos_token_id": 2, "attn_implementation": "eager", **changes,
    }  # fmt: skip
    torch.manual_seed(seed)
    return stirred(transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)))


def gpt_neox(seed: int = 0, **changes) -> transformers.GPTNeoXForCausalLM:
    settings = {
        "vocab_size": VOCAB, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3,
        "num_attention_heads": 3, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2,
        "attn_implementation": "eager", **changes,
    }  # fmt: skip
    torch.manual_seed(seed)
    return stirred(transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**settings)))


def roberta(seed: int = 0, **changes) -> transformers.RobertaModel:
    settings = {
        "vocab_size": VOCAB, "hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 3,
        "num_attention_heads": 3, "max_position_embeddings": 34, "layer_norm_eps": 1e-5,
        "attn_implementation": "eager", **changes,
    }  # fmt: skip
    torch.manual_seed(seed)
    return stirred(transformers.RobertaModel(transformers.RobertaConfig(**settings)))


def stirred(model):
    """Every parameter away from the 0 and 1 it starts with, and large enough for the layers to matter."""
    for value in model.parameters():
        value.data += 0.2 * torch.randn_like(value)
    return model.eval()


def save(model, folder: Path, **how) -> Path:
    """The folder that `save_pretrained` writes, with the smallest tokenizer there can be."""
    model.save_pretrained(folder, **how)
    tokenizer = tokenizers.Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCAB)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def neighbours(rows: torch.Tensor, n_heads: int) -> torch.Tensor:
    """The order in which GGUF files keep the rows of Q and K: i and i + d_k/2 of each head side by side."""
    d_k = len(rows) // n_heads
    order = [
        head * d_k + half * (d_k // 2) + i
        for head in range(n_heads)
        for i in range(d_k // 2)
        for half in (0, 1)
    ]
    return rows[order]


BYTES = sorted({*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)})


def byte_pieces() -> list[str]:
    """The 256 characters that stand for bytes in byte-level BPE: printable ones for themselves, the rest
    from U+0100.
    """
    other = iter(range(0x100, 0x200))
    return [chr(byte) if byte in BYTES else chr(next(other)) for byte in range(256)]


class Writer(gguf.GGUFWriter):
    """A GGUF file being written; use as `with Writer(path) as file: file.add_...`."""

    def __init__(self, path: Path, architecture: str = "llama") -> None:
        super().__init__(str(path), architecture)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_) -> None:
        self.write_header_to_file()
        self.write_kv_data_to_file()
        self.write_tensors_to_file()
        self.close()

    def settings(self, config, max_len: int | None = None) -> None:
        self.add_vocab_size(config.vocab_size)
        self.add_context_length(max_len or config.max_position_embeddings)
        self.add_embedding_length(config.hidden_size)
        self.add_block_count(config.num_hidden_layers)
        self.add_feed_forward_length(getattr(config, "intermediate_size", 4 * config.hidden_size))
        self.add_head_count(config.num_attention_heads)

    def byte_bpe(
        self, pieces: list[str], merges: list[str], pre: str = "gpt-2", kinds: list[int] | None = None
    ) -> None:
        self.add_tokenizer_model("gpt2")
        self.add_tokenizer_pre(pre)
        self.add_token_list(pieces)
        self.add_token_merges(merges)
        self.add_token_types(kinds or [1] * len(pieces))

    def tensor(self, name: str, values: torch.Tensor, kind: gguf.GGMLQuantizationType | None = None) -> None:
        array = values.detach().numpy()
        if kind is not None:
            array = gguf.quantize(array, kind)
        self.add_tensor(name, np.ascontiguousarray(array), raw_dtype=kind)


def llama_as_gguf(
    model, path: Path, kind: str = "llama", divided_by: torch.Tensor | None = None, window: int | None = None
) -> Path:
    """Writes a LLaMA, or what is made like it, as converters do, in F32; only LLaMA's rows are put in another order.

    divided_by: what each wave of the rotary positions is divided by, where LLaMA 3 stretches them; window: how many
    tokens a query sees, itself counted.
    """
    config, weights = model.config, dict(model.state_dict())
    n_kv_heads, rope = config.num_key_value_heads or config.num_attention_heads, config.rope_parameters or {}
    order = neighbours if kind == "llama" else lambda rows, n_heads: rows
    d_k = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    with Writer(path, kind) as file:
        file.settings(config)
        file.add_head_count_kv(n_kv_heads)
        file.add_key_length(d_k)
        file.add_rope_freq_base(float(rope.get("rope_theta") or 10_000))
        file.add_layer_norm_rms_eps(config.rms_norm_eps)
        file.byte_bpe([*byte_pieces()[:VOCAB]], [])
        file.tensor("token_embd.weight", weights["model.embed_tokens.weight"])
        file.tensor("output_norm.weight", weights["model.norm.weight"])
        if not config.tie_word_embeddings:
            file.tensor("output.weight", weights["lm_head.weight"])
        if window is not None:
            file.add_sliding_window(window)
        if divided_by is not None:
            file.tensor("rope_freqs.weight", divided_by)
        if rope.get("rope_type") == "linear":
            file.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            file.add_rope_scaling_factor(rope["factor"])
        for i in range(config.num_hidden_layers):
            theirs, block = f"model.layers.{i}.", f"blk.{i}."
            for part, n_heads in {"q": config.num_attention_heads, "k": n_kv_heads}.items():
                for kept in ("weight", "bias"):
                    if (source := f"{theirs}self_attn.{part}_proj.{kept}") in weights:
                        file.tensor(f"{block}attn_{part}.{kept}", order(weights[source], n_heads))
                if (source := f"{theirs}self_attn.{part}_norm.weight") in weights:
                    file.tensor(f"{block}attn_{part}_norm.weight", weights[source])
            if (source := f"{theirs}self_attn.v_proj.bias") in weights:
                file.tensor(f"{block}attn_v.bias", weights[source])
            for name, source in {
                "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
                "attn_norm": "input_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
                "ffn_down": "mlp.down_proj", "ffn_norm": "post_attention_layernorm",
            }.items():  # fmt: skip
                file.tensor(f"{block}{name}.weight", weights[f"{theirs}{source}.weight"])
    return path


def roberta_pieces(file: Writer, pieces: list[str], merges: list[str]) -> None:
    """A vocabulary of bytes merged, whose first four and last pieces are RoBERTa's own."""
    file.byte_bpe(pieces, merges, "roberta-bpe", [3, 3, 3, 3, *[1] * (len(pieces) - 5), 3])
    for name, id in {"bos": 0, "padding": 1, "eos": 2, "unknown": 3, "mask": len(pieces) - 1}.items():
        file.add_uint32(f"tokenizer.ggml.{name}_token_id", id)
    for name in ("bos", "eos", "sep"):
        file.add_bool(f"tokenizer.ggml.add_{name}_token", True)


def roberta_vocabulary(path: Path, pieces: list[str], merges: list[str]) -> GgufFile:
    with Writer(path, "bert") as file:
        roberta_pieces(file, pieces, merges)
        file.tensor("one", torch.zeros(1))
    return GgufFile(path)


def bert_pieces(file: Writer) -> None:
    """A vocabulary of single letters."""
    file.add_tokenizer_model("bert")
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    file.add_token_list([*specials, *(f"\u2581{chr(97 + i)}" for i in range(VOCAB - len(specials)))])
    file.add_unk_token_id(1)
    file.add_uint32("tokenizer.ggml.cls_token_id", 2)
    file.add_sep_token_id(3)


def bert_as_gguf(model, path: Path, cut: int = 0) -> Path:
    """Writes a BERT or RoBERTa as converters do, in F32; `cut`: how many rows of positions RoBERTa's loses to them."""
    config, weights = model.config, dict(model.state_dict())
    with Writer(path, "bert") as file:
        file.settings(config, max_len=config.max_position_embeddings - cut)
        file.add_layer_norm_eps(config.layer_norm_eps)
        if cut:
            roberta_pieces(file, ["<s>", "<pad>", "</s>", "<unk>", *byte_pieces()[: VOCAB - 5], "<mask>"], [])
        else:
            bert_pieces(file)
        file.tensor("token_embd.weight", weights["embeddings.word_embeddings.weight"])
        file.tensor("position_embd.weight", weights["embeddings.position_embeddings.weight"][cut:])
        file.tensor("token_types.weight", weights["embeddings.token_type_embeddings.weight"])
        for part in ("weight", "bias"):
            file.tensor(f"token_embd_norm.{part}", weights[f"embeddings.LayerNorm.{part}"])
            for i in range(config.num_hidden_layers):
                for name, source in {
                    "attn_q": "attention.self.query", "attn_k": "attention.self.key",
                    "attn_v": "attention.self.value",
                    "attn_output": "attention.output.dense", "attn_output_norm": "attention.output.LayerNorm",
                    "ffn_up": "intermediate.dense", "ffn_down": "output.dense",
                    "layer_output_norm": "output.LayerNorm",
                }.items():  # fmt: skip
                    file.tensor(f"blk.{i}.{name}.{part}", weights[f"encoder.layer.{i}.{source}.{part}"])
    return path


def gpt2_as_gguf(model: transformers.GPT2LMHeadModel, path: Path) -> Path:
    """Writes a GPT-2 as converters do, in F32: matrices turned to (out, in), Q, K and V left in one."""
    config, weights = model.config, dict(model.state_dict())
    with Writer(path, "gpt2") as file:
        file.settings(config)
        file.add_layer_norm_eps(config.layer_norm_epsilon)
        file.byte_bpe([*byte_pieces()[:VOCAB]], [])
        file.tensor("token_embd.weight", weights["transformer.wte.weight"])
        file.tensor("position_embd.weight", weights["transformer.wpe.weight"])
        if not config.tie_word_embeddings:
            file.tensor("output.weight", weights["lm_head.weight"])
        for part in ("weight", "bias"):
            file.tensor(f"output_norm.{part}", weights[f"transformer.ln_f.{part}"])
            for i in range(config.num_hidden_layers):
                for name, source in {
                    "attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj",
                    "ffn_norm": "ln_2", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj",
                }.items():  # fmt: skip
                    file.tensor(f"blk.{i}.{name}.{part}", weights[f"transformer.h.{i}.{source}.{part}"].t())
    return path


def gpt_neox_as_gguf(model: transformers.GPTNeoXForCausalLM, path: Path) -> Path:
    """Writes a GPT-NeoX as converters do, in F32: all queries before all keys, and them before all values."""
    config, weights = model.config, dict(model.state_dict())
    n_heads, d_k = config.num_attention_heads, config.hidden_size // config.num_attention_heads
    rope = config.rope_parameters or {}
    apart = [
        head * 3 * d_k + part * d_k + i for part in range(3) for head in range(n_heads) for i in range(d_k)
    ]
    with Writer(path, "gptneox") as file:
        file.settings(config)
        file.add_layer_norm_eps(config.layer_norm_eps)
        file.add_rope_dimension_count(int(d_k * (rope.get("partial_rotary_factor") or 1.0)))
        file.add_parallel_residual(config.use_parallel_residual)
        file.byte_bpe([*byte_pieces()[:VOCAB]], [])
        file.tensor("token_embd.weight", weights["gpt_neox.embed_in.weight"])
        file.tensor("output.weight", weights["lm_head.weight"])
        for part in ("weight", "bias"):
            file.tensor(f"output_norm.{part}", weights[f"gpt_neox.final_layer_norm.{part}"])
            for i in range(config.num_hidden_layers):
                theirs = f"gpt_neox.layers.{i}."
                joint = weights[f"{theirs}attention.query_key_value.{part}"]
                file.tensor(f"blk.{i}.attn_qkv.{part}", joint[apart])
                for name, source in {
                    "attn_norm": "input_layernorm", "attn_output": "attention.dense",
                    "ffn_norm": "post_attention_layernorm", "ffn_up": "mlp.dense_h_to_4h",
                    "ffn_down": "mlp.dense_4h_to_h",
                }.items():  # fmt: skip
                    file.tensor(f"blk.{i}.{name}.{part}", weights[f"{theirs}{source}.{part}"])
    return path
