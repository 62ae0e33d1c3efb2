"""Each family against `transformers` on tiny random checkpoints: outputs, and every layer's residual and
weights.
"""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config import AtlasError
from engine.pretrained import bert, gpt2, gpt_neox, hf_config, llama, renaming, t5
from engine.pretrained.loader import load
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.comparison import assert_same

LLAMAS = {
    "grouped": {},
    "multi-head": {"num_key_value_heads": 4},
    "multi-query, tied": {"num_key_value_heads": 1, "tie_word_embeddings": True},
    "head_dim given": {"hidden_size": 20, "head_dim": 8},
    "biases": {"attention_bias": True, "mlp_bias": True},
    "gelu": {"hidden_act": "gelu_pytorch_tanh"},
}


@pytest.mark.parametrize("changes", LLAMAS.values(), ids=LLAMAS)
def test_llama(changes, tmp_path):
    theirs = checkpoints.llama(**changes)
    loaded = load(checkpoints.save(theirs, tmp_path))
    assert_same(theirs, loaded.model, "decoder")
    assert loaded.meta["family"] == "llama"
    assert loaded.meta["parameters"] == theirs.num_parameters()
    assert (loaded.tokenizer.bos_id, loaded.tokenizer.eos_id) == (1, 2)


def test_llama_with_head_dim_given_has_the_shapes_of_its_config(tmp_path):
    loaded = load(checkpoints.save(checkpoints.llama(hidden_size=20, head_dim=8), tmp_path))
    weights = loaded.model.state_dict()
    shapes = [tuple(weights[f"decoder.layers.0.self_attention.W_{part}.weight"].shape) for part in "qkvo"]
    assert shapes == [(32, 20), (16, 20), (16, 20), (20, 32)]


@pytest.mark.parametrize("kind", ["grouped", "multi-head", "multi-query, tied", "head_dim given"])
def test_llama_in_gguf_with_its_rows_in_another_order(kind, tmp_path, home):
    changes = LLAMAS[kind]
    theirs = checkpoints.llama(**changes)
    path = checkpoints.llama_as_gguf(theirs, tmp_path / "tiny.gguf")
    first, second = load(path), load(path)
    assert_same(theirs, first.model, "decoder")
    assert_same(theirs, second.model, "decoder")
    assert first.config == second.config == load(checkpoints.save(theirs, tmp_path / "folder")).config


@pytest.mark.parametrize("n_heads", [1, 2])
def test_the_row_order_of_gguf(n_heads):
    d_k = 8 // n_heads
    settings = {"num_attention_heads": 4, "num_key_value_heads": n_heads, "head_dim": d_k}
    stored = {1: [0, 4, 1, 5, 2, 6, 3, 7], 2: [0, 2, 1, 3, 4, 6, 5, 7]}[n_heads]
    rows = torch.tensor(stored, dtype=torch.float32)[:, None].numpy()
    name = "decoder.layers.0.self_attention."
    assert llama.from_gguf(name + "W_k.weight", rows, settings)[:, 0].tolist() == list(range(8))
    assert llama.from_gguf(name + "W_v.weight", rows, settings)[:, 0].tolist() == stored
    assert llama.from_gguf(name + "W_o.weight", rows, settings)[:, 0].tolist() == stored
    assert checkpoints.neighbours(torch.arange(8), n_heads).tolist() == stored


@pytest.mark.parametrize(
    "changes", [{}, {"hidden_act": "gelu_new"}, {"type_vocab_size": 1}, {"layer_norm_eps": 1e-3}]
)
def test_bert(changes, tmp_path):
    theirs = checkpoints.bert(**changes)
    loaded = load(checkpoints.save(theirs, tmp_path))
    assert_same(theirs, loaded.model, "encoder")
    assert loaded.config.assembly == "encoder-only"


def test_bert_in_gguf(tmp_path, home):
    theirs = checkpoints.bert()
    loaded = load(checkpoints.bert_as_gguf(theirs, tmp_path / "tiny.gguf"))
    assert_same(theirs, loaded.model, "encoder")
    assert loaded.config == load(checkpoints.save(theirs, tmp_path / "folder")).config


def test_the_gap_to_bert_is_rounding_alone(tmp_path):
    theirs = checkpoints.bert()
    ours = load(checkpoints.save(theirs, tmp_path)).model
    assert_same(theirs.double(), ours.double(), "encoder", bound=1e-13)


@pytest.mark.parametrize(
    "prefix",
    ["module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod.", "module.model.", "transformer.", ""],
)
def test_wrapper_prefixes_are_taken_off(prefix, tmp_path):
    theirs = checkpoints.llama()
    folder = checkpoints.save(theirs, tmp_path)
    weights = load_file(folder / "model.safetensors")
    bare = {key.removeprefix("model."): value for key, value in weights.items()}
    save_file({prefix + key: value for key, value in bare.items()}, folder / "model.safetensors")
    assert_same(theirs, load(folder).model, "decoder")


def test_a_prefix_inside_a_name_is_part_of_it(tmp_path):
    folder = checkpoints.save(checkpoints.llama(), tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.0.module.mlp.up_proj.weight"] = weights.pop("model.layers.0.mlp.up_proj.weight")
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(
        AtlasError, match=r"lacks 1 .*\(layers\.0\.mlp\.up_proj\.weight\).*nothing knows .*module\.mlp"
    ):
        load(folder)


def test_saved_buffers_and_task_heads_are_ignored(tmp_path):
    theirs = checkpoints.bert()
    folder = checkpoints.save(theirs, tmp_path)
    weights = {f"bert.{key}": value for key, value in load_file(folder / "model.safetensors").items()}
    weights["bert.embeddings.position_ids"] = torch.arange(32)[None]
    weights["cls.predictions.bias"] = torch.zeros(checkpoints.VOCAB)
    weights["classifier.weight"] = torch.zeros(2, 24)
    save_file(weights, folder / "model.safetensors")
    assert_same(theirs, load(folder).model, "encoder")


def test_angles_that_old_files_of_llama_keep_are_ignored(tmp_path):
    theirs = checkpoints.llama()
    folder = checkpoints.save(theirs, tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["rope.freqs"] = torch.ones(4)
    for layer in range(3):
        weights[f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    save_file(weights, folder / "model.safetensors")
    assert_same(theirs, load(folder).model, "decoder")


def test_a_half_matching_file_lists_what_is_missing_and_is_refused(tmp_path):
    folder = checkpoints.save(checkpoints.llama(), tmp_path)
    weights = load_file(folder / "model.safetensors")
    half = {key: value for key, value in weights.items() if ".self_attn." not in key}
    save_file(half, folder / "model.safetensors")
    with pytest.raises(
        AtlasError, match=r"lacks 12 of the tensors .*\(layers\.0\.self_attn\.k_proj\.weight.*\(\+8\)"
    ):
        load(folder)


def test_tensors_that_nothing_knows_are_listed_and_refused(tmp_path):
    folder = checkpoints.save(checkpoints.llama(num_hidden_layers=2), tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.2.mlp.up_proj.weight"] = torch.zeros(48, 32)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(
        AtlasError, match=r"holds 1 tensors that .* not call for \(model\.layers\.2\.mlp\.up_proj"
    ):
        load(folder)


def test_two_names_for_one_parameter_are_refused(tmp_path):
    folder = checkpoints.save(checkpoints.llama(), tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["norm.weight"] = weights["model.norm.weight"].clone()
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(AtlasError, match=r"which both mean decoder\.norm\.weight"):
        load(folder)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox"])
def test_an_output_of_its_own_beside_settings_that_say_tied(family, tmp_path):
    folder = checkpoints.save(getattr(checkpoints, family)(tie_word_embeddings=False), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": True}))
    with pytest.raises(
        AtlasError,
        match=r'(lm_head|embed_out)\.weight with different numbers, and its "tie_word_embeddings" makes them',
    ):
        load(folder)
    weights = load_file(folder / "model.safetensors")
    table = next(
        value
        for name, value in weights.items()
        if name.endswith(("wte.weight", "embed_tokens.weight", "embed_in.weight"))
    )
    (head,) = [name for name in weights if "lm_head" in name or "embed_out" in name]
    save_file({**weights, head: table.clone()}, folder / "model.safetensors")
    assert load(folder).config.tied_embeddings


def test_shapes_are_compared_before_anything_is_read(tmp_path):
    folder = checkpoints.save(checkpoints.llama(), tmp_path)
    text = (folder / "config.json").read_text().replace('"intermediate_size": 48', '"intermediate_size": 50')
    (folder / "config.json").write_text(text)
    with pytest.raises(
        AtlasError, match=r"mlp\.down_proj\.weight has the shape 32 x 48 where .* calls for 32 x 50"
    ):
        load(folder)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("gelu", "gelu"), ("gelu_new", "gelu_tanh"), ("gelu_fast", "gelu_tanh"),
        ("gelu_pytorch_tanh", "gelu_tanh"), ("silu", "silu"), ("swish", "silu"), ("relu", "relu"),
    ],
)  # fmt: skip
def test_activation_names(name, ours):
    assert hf_config.activation(name) == ours


def test_an_unknown_activation_is_refused_by_name():
    with pytest.raises(AtlasError, match="activation quick_gelu is not built"):
        hf_config.activation("quick_gelu")


@pytest.mark.parametrize("kind", ["yarn", "dynamic", "longrope"])
@pytest.mark.parametrize(
    ("outer", "inner"),
    [("rope_scaling", "rope_type"), ("rope_scaling", "type"), ("rope_parameters", "rope_type")],
)
def test_stretching_of_an_unknown_kind_is_refused_by_name(outer, inner, kind):
    with pytest.raises(
        AtlasError, match=f"by {kind} scaling, which is not built here .built: .*linear, llama3"
    ):
        hf_config.rope({outer: {inner: kind, "factor": 4.0}})


@pytest.mark.parametrize("kind", ["linear", "llama3"])
def test_stretching_that_does_not_say_by_how_much(kind):
    with pytest.raises(AtlasError, match='does not say by which "factor"'):
        hf_config.rope({"rope_scaling": {"type": kind}})


def test_positions_that_differ_by_layer_are_refused():
    with pytest.raises(AtlasError, match=r'has "rope_parameters": .*, which is not built here'):
        hf_config.rope({"rope_parameters": {"full_attention": {"rope_theta": 1e6}}})


def test_the_base_is_read_and_has_its_default_only_when_absent():
    assert hf_config.rope({}).base == 10_000
    assert hf_config.rope({"rope_theta": 5e5}).base == 5e5
    assert hf_config.rope({"rope_parameters": {"rope_type": "default", "rope_theta": 1e5}}).base == 1e5


@pytest.mark.parametrize("family", [llama, bert])
def test_a_config_without_the_needed_keys_names_them(family):
    with pytest.raises(
        AtlasError, match="does not give hidden_size, num_attention_heads as positive whole numbers"
    ):
        family.config_from_hf({
            "vocab_size": 5, "hidden_size": None, "num_hidden_layers": 1, "num_attention_heads": "4",
            "intermediate_size": 3, "max_position_embeddings": 9,
        })  # fmt: skip


def test_berts_of_another_kind_are_refused_by_name():
    whole = {
        "vocab_size": 5, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 4,
        "intermediate_size": 3, "max_position_embeddings": 9,
    }  # fmt: skip
    with pytest.raises(AtlasError, match='has "position_embedding_type": "relative_key", which is not built'):
        bert.config_from_hf({**whole, "position_embedding_type": "relative_key"})
    with pytest.raises(AtlasError, match='has "is_decoder": true, which is not built'):
        bert.config_from_hf({**whole, "is_decoder": True})
    with pytest.raises(AtlasError, match="d_model 9 is not divisible by n_heads 4"):
        bert.config_from_hf({**whole, "hidden_size": 9})


@pytest.mark.parametrize(
    ("table", "ours", "theirs"),
    [
        (bert.RENAMES, ["embedding.table.weight"], ["embeddings.word_embeddings.weight"]),
        (
            bert.RENAMES,
            ["encoder.layers.11.self_attention.W_q.bias", "encoder.layers.0.feed_forward_residual.post.weight"],
            ["encoder.layer.11.attention.self.query.bias", "encoder.layer.0.output.LayerNorm.weight"],
        ),
        (bert.GGUF_RENAMES, ["encoder.layers.3.self_attention.W_k.bias"], ["blk.3.attn_k.bias"]),
        (
            gpt2.RENAMES,
            [f"decoder.layers.7.self_attention.W_{which}.weight" for which in "qkvo"],
            ["h.7.attn.c_attn.weight", "h.7.attn.c_proj.weight"],
        ),
        (gpt_neox.RENAMES, ["head.weight"], ["embed_out.weight"]),
        (t5.RENAMES, ["embedding.table.weight"], ["shared.weight"]),
        (
            t5.RENAMES,
            ["decoder.layers.2.cross_attention.W_v.weight"],
            ["decoder.block.2.layer.1.EncDecAttention.v.weight"],
        ),
        (t5.GGUF_RENAMES, ["encoder.positions.table.weight"], ["enc.blk.0.attn_rel_b.weight"]),
        (t5.RENAMES, ["encoder.layers.2.feed_forward.W_out.weight"], ["encoder.layers.2.feed_forward.W_out.weight"]),
        (t5.RENAMES, ["what.no.rule.knows"], ["what.no.rule.knows"]),
    ],
)  # fmt: skip
def test_a_missing_parameter_goes_by_the_name_that_files_have_for_it(table, ours, theirs):
    assert renaming.theirs(ours, table) == theirs
