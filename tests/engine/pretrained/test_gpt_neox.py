"""GPT-NeoX: parallel sub-layers or not, a part of each head turned, Q, K and V of each head in one tensor."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config import AtlasError, Linear, Rope
from engine.pretrained import gpt_neox
from engine.pretrained.loader import load
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.comparison import assert_same, assert_same_greedy

WHOLE = {
    "vocab_size": 5, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3,
    "max_position_embeddings": 9,
}  # fmt: skip


def turned(fraction: float, **changes) -> dict:
    given = {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": fraction, **changes}
    return {"rope_parameters": given}


VARIANTS = {
    "parallel": {},
    "one after the other": {"use_parallel_residual": False},
    "tied": {"tie_word_embeddings": True},
    "the whole head turned": turned(1.0),
    "half of it": turned(0.5),
    "stretched": turned(0.5, rope_type="linear", factor=2.5),
    "no attention biases": {"attention_bias": False},
    "gelu by tanh": {"hidden_act": "gelu_fast", "use_parallel_residual": False},
    "another eps": {"layer_norm_eps": 1e-3},
    "one head": {"num_attention_heads": 1},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_gpt_neox(changes, tmp_path):
    theirs = checkpoints.gpt_neox(**changes)
    loaded = load(checkpoints.save(theirs, tmp_path))
    assert_same(theirs, loaded.model, "decoder")
    assert_same_greedy(theirs, loaded.model)
    assert loaded.meta["parameters"] == theirs.num_parameters()
    assert loaded.meta["family"] == "gpt_neox"


@pytest.mark.parametrize("parallel", [True, False])
def test_gpt_neox_in_gguf(parallel, tmp_path, home):
    theirs = checkpoints.gpt_neox(use_parallel_residual=parallel, **turned(0.5, rope_theta=10_000.0))
    loaded = load(checkpoints.gpt_neox_as_gguf(theirs, tmp_path / "tiny.gguf"))
    assert_same(theirs, loaded.model, "decoder")
    assert loaded.config == load(checkpoints.save(theirs, tmp_path / "folder")).config


def test_rows_are_kept_head_by_head():
    rows = torch.arange(12.0)[:, None]  # two heads of d_k 2: q q k k v v, q q k k v v
    settings = {"num_attention_heads": 2}
    name = "decoder.layers.0.self_attention."
    parts = [gpt_neox.from_hf(f"{name}W_{part}.weight", rows, settings)[:, 0].tolist() for part in "qkv"]
    assert parts == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    assert gpt_neox.from_hf(f"{name}W_k.bias", rows[:, 0], settings).tolist() == [2, 3, 8, 9]
    assert gpt_neox.from_hf(f"{name}W_o.weight", rows, settings) is rows


def test_old_files_with_masks_and_angles_in_them_and_old_names(tmp_path):
    theirs = checkpoints.gpt_neox()
    folder = checkpoints.save(theirs, tmp_path)
    weights = load_file(folder / "model.safetensors")
    output = next(key for key in weights if key in ("lm_head.weight", "embed_out.weight"))
    weights["embed_out.weight"] = weights.pop(output)
    for i in range(3):
        weights[f"gpt_neox.layers.{i}.attention.bias"] = torch.ones(1, 1, 64, 64).tril()
        weights[f"gpt_neox.layers.{i}.attention.masked_bias"] = torch.tensor(-1e9)
        weights[f"gpt_neox.layers.{i}.attention.rotary_emb.inv_freq"] = torch.ones(1)
    save_file(weights, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    del config["rope_parameters"]
    config |= {"rotary_pct": 0.25, "rotary_emb_base": 10_000}
    (folder / "config.json").write_text(json.dumps(config))
    assert_same(theirs, load(folder).model, "decoder")


@pytest.mark.parametrize(
    ("given", "positions"),
    [
        ({}, Rope(base=10_000, fraction=0.25)),
        ({"rotary_pct": 1.0, "rotary_emb_base": 500}, Rope(base=500, fraction=1.0)),
        (turned(0.5), Rope(base=500, fraction=0.5)),
        (
            {"rotary_pct": 0.5, "rope_scaling": {"type": "linear", "factor": 2}},
            Rope(base=10_000, fraction=0.5, scaling=Linear(factor=2)),
        ),
    ],
)
def test_how_much_is_turned(given, positions):
    assert gpt_neox.config_from_hf({**WHOLE, **given}).stacks["decoder"].positions == positions


def test_a_part_that_is_no_pairs_is_refused():
    with pytest.raises(AtlasError, match="rope turns pairs of numbers, so d_k must be even, not 5"):
        gpt_neox.config_from_hf({**WHOLE, "rotary_pct": 0.33})


def test_a_joint_matrix_of_another_width_is_named_in_the_shape_of_the_file(tmp_path):
    folder = checkpoints.save(checkpoints.gpt_neox(), tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["gpt_neox.layers.1.attention.query_key_value.weight"] = torch.zeros(71, 24)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(
        AtlasError, match=r"query_key_value\.weight has the shape 71 x 24 where .* calls for 72 x 24"
    ):
        load(folder)
