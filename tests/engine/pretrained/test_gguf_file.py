"""GGUF files: blocks decoded to known numbers, and every way a file can be wrong as one sentence."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from gguf import RopeScalingType

from engine.config import AtlasError
from engine.pretrained.gguf_file import GgufFile
from engine.pretrained.loader import load
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.checkpoints import Writer

NIBBLES = np.array(
    [j | (15 - j) << 4 for j in range(16)], dtype=np.uint8
)  # low half counts up, high half down


def half(value: float) -> bytes:
    return np.float16(value).tobytes()


@pytest.mark.parametrize(
    ("kind", "block", "expected"),
    [
        (Kind.Q4_0, half(0.5) + NIBBLES.tobytes(), [*np.arange(-8, 8) * 0.5, *np.arange(7, -9, -1) * 0.5]),
        (
            Kind.Q4_1,
            half(0.5) + half(-1) + NIBBLES.tobytes(),
            [*np.arange(16) * 0.5 - 1, *np.arange(15, -1, -1) * 0.5 - 1],
        ),
        (
            Kind.Q8_0,
            half(0.5) + np.array([-128, -1, 0, 1, 127] + [2] * 27, dtype=np.int8).tobytes(),
            [-64, -0.5, 0, 0.5, 63.5] + [1.0] * 27,
        ),
        (
            Kind.Q5_0,
            half(0.5) + bytes([0, 0, 255, 255]) + NIBBLES.tobytes(),  # a fifth bit for the upper half only
            [*np.arange(-16, 0) * 0.5, *np.arange(15, -1, -1) * 0.5],
        ),
        (Kind.F32, np.arange(32, dtype=np.float32).tobytes(), [*range(32)]),
        (Kind.F16, (np.arange(32) / 4).astype(np.float16).tobytes(), [*np.arange(32) / 4]),
        (Kind.BF16, np.array([0x3FC0, 0xC000] * 16, dtype=np.uint16).tobytes(), [1.5, -2.0] * 16),
    ],
    ids=["Q4_0", "Q4_1", "Q8_0", "Q5_0", "F32", "F16", "BF16"],
)
def test_a_block_is_decoded_to_the_numbers_it_stands_for(tmp_path, kind, block, expected):
    path = tmp_path / "one.gguf"
    width = {Kind.F32: np.float32, Kind.F16: np.float16}.get(kind, np.uint8)
    with Writer(path) as file:
        file.add_tensor("one", np.frombuffer(block, dtype=width)[None], raw_dtype=kind)
    opened = GgufFile(path)
    assert opened.shapes == {"one": (1, 32)}
    assert opened.tensor("one")[0].tolist() == expected
    assert opened.quantisation == kind.name


# Eight runs of 32: the scales 1..8 in six bits each, spread over twelve bytes, and the minimum 1 for all of them.
SCALES = bytes([1, 2, 3, 4, 1, 1, 1, 1, 0x15, 0x16, 0x17, 0x18])
UP, DOWN = np.tile(np.arange(16), 2), np.tile(np.arange(15, -1, -1), 2)


@pytest.mark.parametrize(
    ("kind", "block", "expected", "some"),
    [
        (
            Kind.Q4_K,  # d, dmin, scales, and per 64 numbers 32 bytes whose low halves come first
            half(0.5) + half(1) + SCALES + np.tile(NIBBLES, 8).tobytes(),
            np.concatenate([0.5 * run * (UP if run % 2 else DOWN) - 1 for run in range(1, 9)]),
            {0: -1.0, 15: 6.5, 32: 14.0, 64 + 3: 3.5, 255: -1.0},
        ),
        (
            Kind.Q6_K,  # low four bits, high two bits, sixteen scales, d; twice the same 128 numbers but for the scales
            np.tile(NIBBLES, 8).tobytes() + bytes([0b11100100] * 64) + bytes(range(1, 17)) + half(0.25),
            np.concatenate([
                0.25 * (8 * part + run + 1) * (codes[16 * (run % 2) : 16 * (run % 2) + 16] - 32)
                for part in (0, 1)
                for run, codes in enumerate(np.repeat([UP, UP + 16, DOWN + 32, DOWN + 48], 2, axis=0))
            ]),
            {0: -8.0, 15: -4.25, 32: -12.0, 64: 18.75, 96: 54.25, 128: -72.0, 255: 64.0},
        ),
    ],
    ids=["Q4_K", "Q6_K"],
)  # fmt: skip
def test_a_block_of_256(tmp_path, kind, block, expected, some):
    path = tmp_path / "one.gguf"
    with Writer(path) as file:
        file.add_tensor("one", np.frombuffer(block, dtype=np.uint8)[None], raw_dtype=kind)
    found = GgufFile(path).tensor("one")[0].tolist()
    assert found == expected.tolist()
    assert {place: found[place] for place in some} == some


def test_shapes_are_outermost_first_and_values_are_our_own(tmp_path):
    values = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    path = tmp_path / "one.gguf"
    with Writer(path) as file:
        file.add_layer_norm_rms_eps(1e-5)
        file.add_tokenizer_model("gpt2")
        file.tensor("one", values)
    opened = GgufFile(path)
    assert opened.shapes == {"one": (2, 3)}
    found = opened.tensor("one")
    assert found.tolist() == values.tolist()
    found[0, 0] = 7.0  # the file is mapped read-only; this must not be it
    assert opened.tensor("one")[0, 0] == 0.0
    assert opened.get("llama.attention.layer_norm_rms_epsilon") == 1e-05
    assert opened.get("tokenizer.ggml.model") == "gpt2"
    assert opened.get("nothing") is None
    assert opened.architecture == "llama"


@pytest.fixture
def whole(tmp_path, home):
    return checkpoints.llama_as_gguf(checkpoints.llama(), tmp_path / "whole.gguf")


@pytest.mark.parametrize("kept", [0.999, 0.7, 0.2, 0.01, 12])
def test_a_truncated_file_wherever_it_ends(whole, kept):
    content = whole.read_bytes()
    whole.write_bytes(content[: int(kept * len(content)) if kept < 1 else kept])
    with pytest.raises(
        AtlasError, match=r"whole\.gguf is cut short or damaged .*: fetch or copy it again\.$"
    ):
        load(whole)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(100), b"<html>not found</html>"])
def test_a_foreign_file(tmp_path, home, content):
    path = tmp_path / "foreign.gguf"
    path.write_bytes(content)
    with pytest.raises(AtlasError, match="is not a GGUF file: its first bytes are not those of one"):
        load(path)


def test_version_1(whole):
    content = bytearray(whole.read_bytes())
    content[4:8] = struct.pack("<I", 1)
    whole.write_bytes(content)
    with pytest.raises(AtlasError, match="GGUF file of version 1, and only versions 2 and 3 can be read"):
        load(whole)


@pytest.mark.parametrize("what", ["tensors", "settings", "token types", "letters"])
def test_counts_that_no_file_can_hold(whole, what):
    content = bytearray(whole.read_bytes())
    key = b"tokenizer.ggml.token_type" if what == "token types" else b"tokenizer.ggml.model"
    behind = content.index(key) + len(key)
    at = {"tensors": 8, "settings": 16, "token types": behind + 8, "letters": behind + 4}[what]
    content[at : at + 8] = struct.pack("<Q", 1 << 60)
    whole.write_bytes(content)
    with pytest.raises(AtlasError, match="cut short or damaged"):
        load(whole)


@pytest.mark.parametrize(("number", "name"), [(99, "99"), (Kind.Q8_K.value, "Q8_K")])
def test_types_that_cannot_be_decoded_are_named(tmp_path, home, number, name):
    path = tmp_path / "odd.gguf"
    with Writer(path) as file:
        file.tensor("odd", torch.zeros(256))
    content = path.read_bytes()
    # the tensor's record: name, one dimension of 256, then its type
    record = b"odd" + struct.pack("<IQ", 1, 256)
    at = content.index(record) + len(record)
    path.write_bytes(content[:at] + struct.pack("<I", number) + content[at + 4 :] + bytes(300))
    with pytest.raises(
        AtlasError, match=rf"quantisation type {name}, which cannot be read here: use a file of another"
    ):
        load(path)


def test_a_file_with_a_vocabulary_only(tmp_path, home):
    path = tmp_path / "vocab.gguf"
    with Writer(path) as file:
        file.byte_bpe(checkpoints.byte_pieces(), [])
    with pytest.raises(
        AtlasError, match="holds a vocabulary and no weights: open the file that holds the model"
    ):
        load(path)


def test_another_family_is_refused_by_name(tmp_path, home):
    path = tmp_path / "other.gguf"
    with Writer(path, "mamba") as file:
        file.tensor("one", torch.zeros(3))
    with pytest.raises(
        AtlasError, match=r"of the family mamba, which is not built here yet \(built: llama, .*bert"
    ):
        load(path)


def stretched_twice(file: Writer) -> None:
    file.add_rope_scaling_type(RopeScalingType.LINEAR)
    file.tensor("rope_freqs.weight", torch.full((4,), 2.0))


def test_mixtures_of_experts_and_stretched_positions_are_refused_by_name(tmp_path, home):
    for add, says in (
        (lambda file: file.add_expert_count(8), "LLaMA with 8 experts"),
        (lambda file: file.add_string("llama.rope.scaling.type", "yarn"), "yarn scaling"),
        (stretched_twice, r'"llama\.rope\.scaling\.type": "linear", which is not built'),
        (
            lambda file: file.add_sliding_window_pattern(2),
            r'attention\.sliding_window_pattern": 2, which is not',
        ),
    ):
        path = tmp_path / "other.gguf"
        with Writer(path) as file:
            file.settings(checkpoints.llama().config)
            file.tensor("token_embd.weight", torch.zeros(checkpoints.VOCAB, 32))
            add(file)
        with pytest.raises(AtlasError, match=says):
            load(path)


def test_quantised_weights_give_the_model_of_their_dequantised_values(tmp_path, home):
    theirs = checkpoints.llama(
        hidden_size=64, intermediate_size=64, num_key_value_heads=4, tie_word_embeddings=True
    )
    path = tmp_path / "q8.gguf"
    weights = theirs.state_dict()
    with Writer(path) as file:
        file.settings(theirs.config)
        file.byte_bpe(checkpoints.byte_pieces()[: checkpoints.VOCAB], [])
        file.tensor("token_embd.weight", weights["model.embed_tokens.weight"], Kind.Q8_0)
        file.tensor("output_norm.weight", weights["model.norm.weight"])
        for i in range(3):
            block = f"blk.{i}."
            for name, source in {"q": "q_proj", "k": "k_proj"}.items():
                rows = weights[f"model.layers.{i}.self_attn.{source}.weight"]
                file.tensor(f"{block}attn_{name}.weight", checkpoints.neighbours(rows, 4), Kind.Q8_0)
            for name, source in {
                "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj",
                "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
            }.items():  # fmt: skip
                file.tensor(f"{block}{name}.weight", weights[f"model.layers.{i}.{source}.weight"], Kind.Q8_0)
            for name, source in {
                "attn_norm": "input_layernorm",
                "ffn_norm": "post_attention_layernorm",
            }.items():
                file.tensor(f"{block}{name}.weight", weights[f"model.layers.{i}.{source}.weight"])
    loaded = load(path)
    assert loaded.meta["stored_as"] == "Q8_0, F32"
    assert loaded.config.tied_embeddings
    ours = loaded.model.state_dict()["decoder.layers.1.self_attention.W_q.weight"]
    original = weights["model.layers.1.self_attn.q_proj.weight"]
    step = original.abs().max() / 127
    assert 0 < (ours - original).abs().max() <= step
