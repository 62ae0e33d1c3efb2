"""GPT-2: matrices kept the other way round, Q, K and V in one of them, and what old files save besides."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config import AtlasError
from engine.pretrained import gpt2
from engine.pretrained.loader import load
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.comparison import assert_same, assert_same_greedy

WHOLE = {"vocab_size": 9, "n_embd": 4, "n_layer": 1, "n_head": 2, "n_positions": 5}

VARIANTS = {
    "plain": {},
    "untied": {"tie_word_embeddings": False},
    "n_inner given": {"n_inner": 20},
    "gelu by erf": {"activation_function": "gelu"},
    "relu": {"activation_function": "relu"},
    "scores not scaled": {"scale_attn_weights": False},
    "another eps": {"layer_norm_epsilon": 1e-3},
    "one head": {"n_head": 1},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_gpt2(changes, tmp_path):
    theirs = checkpoints.gpt2(**changes)
    loaded = load(checkpoints.save(theirs, tmp_path))
    assert_same(theirs, loaded.model, "decoder")
    assert_same_greedy(theirs, loaded.model)
    assert loaded.meta["parameters"] == theirs.num_parameters()
    assert loaded.meta["family"] == "gpt2"


def test_the_gap_to_gpt2_is_rounding_alone(tmp_path):
    theirs = checkpoints.gpt2()
    ours = load(checkpoints.save(theirs, tmp_path)).model
    assert_same(theirs.double(), ours.double(), "decoder", bound=1e-13)


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False}])
def test_gpt2_in_gguf(changes, tmp_path, home):
    theirs = checkpoints.gpt2(**changes)
    loaded = load(checkpoints.gpt2_as_gguf(theirs, tmp_path / "tiny.gguf"))
    assert_same(theirs, loaded.model, "decoder")
    assert loaded.config == load(checkpoints.save(theirs, tmp_path / "folder")).config


def test_a_matrix_is_for_x_w_and_the_joint_one_holds_q_then_k_then_v():
    rows = torch.arange(16.0).reshape(4, 4)
    name = "decoder.layers.0.self_attention."
    w_o = gpt2.from_hf(name + "W_o.weight", rows, {})
    assert (w_o @ torch.tensor([1.0, 0, 0, 0])).tolist() == rows[0].tolist()

    joint = torch.arange(12.0).reshape(2, 6)
    parts = [gpt2.from_hf(f"{name}W_{part}.weight", joint, {}).tolist() for part in "qkv"]
    assert parts == [[[0, 6], [1, 7]], [[2, 8], [3, 9]], [[4, 10], [5, 11]]]
    biases = [gpt2.from_hf(f"{name}W_{part}.bias", joint[0], {}).tolist() for part in "qkv"]
    assert biases == [[0, 1], [2, 3], [4, 5]]
    assert gpt2.from_hf("embedding.table.weight", joint, {}) is joint


def test_gelu_is_by_tanh_unless_told():
    def name(**changes):
        return gpt2.config_from_hf({**WHOLE, **changes}).stacks["decoder"].feed_forward.activation

    assert name() == "gelu_tanh"
    assert name(activation_function="gelu") == "gelu"
    with pytest.raises(AtlasError, match="activation quick_gelu is not built"):
        name(activation_function="quick_gelu")


@pytest.mark.parametrize(
    "prefix", ["", "transformer.", "module.transformer.", "_orig_mod.module.transformer."]
)
def test_old_files_with_masks_in_them_and_prefixes(prefix, tmp_path):
    theirs = checkpoints.gpt2()
    folder = checkpoints.save(theirs, tmp_path)
    bare = {
        key.removeprefix("transformer."): value
        for key, value in load_file(folder / "model.safetensors").items()
    }
    for i in range(3):
        bare[f"h.{i}.attn.bias"] = torch.ones(1, 1, 32, 32).tril()
        bare[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    bare["lm_head.weight"] = bare["wte.weight"].clone()
    save_file({prefix + key: value for key, value in bare.items()}, folder / "model.safetensors")
    assert_same(theirs, load(folder).model, "decoder")


@pytest.mark.parametrize("switch", ["scale_attn_by_inverse_layer_idx", "add_cross_attention"])
def test_what_is_not_built_is_refused_by_name(switch):
    with pytest.raises(AtlasError, match=f'has "{switch}": true, which is not built here'):
        gpt2.config_from_hf({**WHOLE, switch: True})


def test_a_joint_matrix_of_another_width_is_named_in_the_shape_of_the_file(tmp_path):
    folder = checkpoints.save(checkpoints.gpt2(), tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["transformer.h.1.attn.c_attn.weight"] = torch.zeros(24, 71)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(AtlasError, match=r"c_attn\.weight has the shape 24 x 71 where .* calls for 24 x 72"):
        load(folder)


def test_a_config_without_the_needed_keys_names_them(tmp_path):
    folder = checkpoints.save(checkpoints.gpt2(), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    del config["n_embd"], config["n_positions"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(AtlasError, match="does not give n_embd, n_positions as positive whole numbers"):
        load(folder)
