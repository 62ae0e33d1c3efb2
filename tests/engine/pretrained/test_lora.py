"""LoRA adapters: merged numbers worked out by hand, and every way in which one does not fit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
from engine.config import AtlasError
from engine.pretrained import matching
from tests.engine.pretrained import checkpoints

IDS = torch.tensor([[3, 17, 5]])
Q = "base_model.model.model.layers.{}.self_attn.q_proj.lora_{}.weight"


@pytest.fixture
def base(tmp_path) -> Path:
    return checkpoints.save(checkpoints.llama(), tmp_path / "base")


def adapter(folder: Path, base: Path | str | None, tensors: dict[str, torch.Tensor], **settings: Any) -> Path:
    """A folder as PEFT writes it."""
    folder.mkdir(exist_ok=True)
    config = {
        "peft_type": "LORA", "base_model_name_or_path": None if base is None else str(base), "r": 2,
        "lora_alpha": 4, "target_modules": ["q_proj"], "bias": "none", "fan_in_fan_out": False,
        "use_rslora": False, "use_dora": False, "modules_to_save": None, "init_lora_weights": True,
        "rank_pattern": {}, "alpha_pattern": {}, "layers_to_transform": None, **settings,
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(config))
    save_file({name: value.clone() for name, value in tensors.items()}, folder / "adapter_model.safetensors")
    return folder


def pair(layer: int) -> dict[str, torch.Tensor]:
    """A has 1 and 2 in its rows' first places, B has 3, -5 in the first of its columns and 7 in the second."""
    A, B = torch.zeros(2, 32), torch.zeros(32, 2)
    A[0, 0], A[0, 1], A[1, 2] = 1, 2, 10
    B[0, 0], B[1, 0], B[31, 1] = 3, -5, 7
    return {Q.format(layer, "A"): A, Q.format(layer, "B"): B}


ALL = {name: value for layer in range(3) for name, value in pair(layer).items()}
DELTA = {(0, 0): 3, (0, 1): 6, (1, 0): -5, (1, 1): -10, (31, 2): 70}  # B A, all else is 0


def added(lm: engine.LanguageModel, plain: engine.LanguageModel, name: str) -> dict[tuple[int, ...], float]:
    """What a parameter has more than the base's, where that is not nothing."""
    delta = (lm.model.get_parameter(name) - plain.model.get_parameter(name)).detach()
    places = [tuple(place) for place in delta.nonzero().tolist()]
    return {place: round(float(delta[place]), 3) for place in places}


@pytest.mark.parametrize(
    ("settings", "scale"),
    [({}, 2.0), ({"lora_alpha": 1}, 0.5), ({"r": 7, "rank_pattern": {"q_proj": 2}}, 2.0),
     ({"use_rslora": True}, 4 / math.sqrt(2)),
     ({"alpha_pattern": {"layers.1.self_attn.q_proj": 7}}, 3.5)],
)  # fmt: skip
def test_alpha_over_r_times_b_a_is_added(base, tmp_path, settings, scale):
    lm, plain = engine.load(adapter(tmp_path / "lora", base, ALL, **settings)), engine.load(base)
    name = "decoder.layers.1.self_attention.W_q.weight"
    assert added(lm, plain, name) == {place: round(scale * value, 3) for place, value in DELTA.items()}
    assert added(lm, plain, "decoder.layers.1.self_attention.W_k.weight") == {}
    assert lm.card["base"] == str(base)
    assert lm.title == "lora"
    assert not torch.equal(lm.model(IDS), plain.model(IDS))


def test_a_base_that_is_chosen_goes_before_the_one_that_is_named(base, tmp_path):
    folder = adapter(tmp_path / "lora", "/nowhere/llama", ALL)
    with pytest.raises(
        AtlasError,
        match=r"adapter of /nowhere/llama, which is not on this machine: give its folder as base=, or hf:",
    ):
        engine.load(folder)
    assert engine.load(folder, base=base).card["base"] == str(base)
    unnamed = adapter(tmp_path / "unnamed", None, ALL)
    with pytest.raises(AtlasError, match="does not name the model that it changes: give its folder as base="):
        engine.load(unnamed)
    with pytest.raises(AtlasError, match="is merged into a folder in the Hugging Face layout, with config"):
        engine.load(folder, base=unnamed)


def test_a_base_that_keeps_matrices_the_other_way_round(tmp_path):
    base = checkpoints.save(checkpoints.gpt2(), tmp_path / "base")
    plain = engine.load(base)
    width = plain.config.d_model
    A, B = torch.zeros(1, width), torch.zeros(width, 1)
    A[0, 1], B[2, 0] = 2, 3  # adds to output 2 what comes in at 1
    name = "base_model.model.transformer.h.0.attn.c_proj.lora_{}.weight"
    tensors = {name.format("A"): A, name.format("B"): B}
    settings = {"r": 1, "lora_alpha": 1, "target_modules": ["attn.c_proj"], "layers_to_transform": [0]}
    for flag in (
        True,
        False,
    ):  # the family tells, as in PEFT, which switches a flag that is wrong with a warning
        lm = engine.load(adapter(tmp_path / "lora", base, tensors, fan_in_fan_out=flag, **settings))
        assert added(lm, plain, "decoder.layers.0.self_attention.W_o.weight") == {(2, 1): 6.0}
    fused = name.replace("c_proj", "c_attn")
    B = torch.zeros(3 * width, 1)
    B[width + 2, 0] = 3
    tensors = {fused.format("A"): A, fused.format("B"): B}
    for flag in (True, False):
        lm = engine.load(
            adapter(
                tmp_path / "lora",
                base,
                tensors,
                fan_in_fan_out=flag,
                **{**settings, "target_modules": "c_attn"},
            )
        )
        assert added(lm, plain, "decoder.layers.0.self_attention.W_k.weight") == {(2, 1): 6.0}
        assert added(lm, plain, "decoder.layers.0.self_attention.W_q.weight") == {}


def test_a_flag_does_not_turn_the_square_matrix_of_a_llama(base, tmp_path):
    lm = engine.load(adapter(tmp_path / "lora", base, ALL, fan_in_fan_out=True))
    doubled = {place: 2.0 * value for place, value in DELTA.items()}
    assert added(lm, engine.load(base), "decoder.layers.1.self_attention.W_q.weight") == doubled


def test_biases_that_were_trained_have_to_be_there(tmp_path):
    base = checkpoints.save(checkpoints.llama(attention_bias=True), tmp_path / "base")
    name = "base_model.model.model.layers.{}.self_attn.{}_proj.bias"
    own = {name.format(layer, "q"): torch.full((32,), 3.0) for layer in range(3)}
    lm = engine.load(adapter(tmp_path / "lora", base, {**ALL, **own}, bias="lora_only"))
    assert lm.model.get_parameter("decoder.layers.2.self_attention.W_q.bias").eq(3).all()
    with pytest.raises(AtlasError, match=r"lacks model\.layers\.0\.self_attn\.q_proj\.bias.*was trained"):
        engine.load(adapter(tmp_path / "lora", base, ALL, bias="lora_only"))
    with pytest.raises(AtlasError, match=r"lacks .*_proj\.bias.*\(\+5\), which its settings say was trained"):
        engine.load(adapter(tmp_path / "lora", base, {**ALL, **own}, bias="all"))


def test_a_base_without_biases_lacks_none(base, tmp_path):
    assert engine.load(adapter(tmp_path / "lora", base, ALL, bias="all")).config.decoder is not None


def test_embeddings_and_what_was_trained_as_a_whole(base, tmp_path):
    plain = engine.load(base)
    table = "base_model.model.model.embed_tokens.lora_embedding_{}"
    A, B = torch.zeros(2, checkpoints.VOCAB), torch.zeros(32, 2)
    A[0, 5], B[3, 0] = 2, 3
    norm, head = torch.arange(32.0), torch.randn(checkpoints.VOCAB, 32)
    tensors = {
        table.format("A"): A, table.format("B"): B, "base_model.model.model.norm.weight": norm,
        "base_model.model.lm_head.modules_to_save.weight": head,
    }  # fmt: skip
    lm = engine.load(adapter(tmp_path / "lora", base, tensors, target_modules=["embed_tokens"]))
    assert added(lm, plain, "embedding.table.weight") == {(5, 3): 12.0}
    assert torch.equal(lm.model.get_parameter("decoder.norm.weight"), norm)
    assert torch.equal(lm.model.get_parameter("head.weight"), head)


def test_half_precision_is_added_up_in_float32(base, tmp_path):
    weights = {name: value.half() for name, value in load_file(base / "model.safetensors").items()}
    save_file(weights, base / "model.safetensors")
    A, B = torch.full((2, 32), 1e-3), torch.full((32, 2), 1e-3)
    tensors = {Q.format(layer, side): value for layer in range(3) for side, value in (("A", A), ("B", B))}
    lm = engine.load(adapter(tmp_path / "lora", base, tensors))
    expected = weights["model.layers.0.self_attn.q_proj.weight"].float() + 2 * (B @ A)
    assert torch.equal(lm.model.get_parameter("decoder.layers.0.self_attention.W_q.weight"), expected)


def test_weights_of_the_older_form(base, tmp_path):
    expected = engine.load(adapter(tmp_path / "lora", base, ALL)).model(IDS)
    (tmp_path / "lora" / "adapter_model.safetensors").unlink()
    torch.save(ALL, tmp_path / "lora" / "adapter_model.bin")
    assert torch.equal(engine.load(tmp_path / "lora").model(IDS), expected)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"peft_type": "IA3"}, "adapter of kind IA3, and only LoRA itself"),
        ({"peft_type": None}, "adapter of kind None"),
        ({"use_dora": True}, "adapter of kind DoRA"),
        ({"init_lora_weights": "pissa_niter_4"}, "adapter of kind LoRA begun by pissa_niter_4"),
        ({"lora_bias": True}, "adapter of kind LoRA with a bias of its own"),
        ({"layer_replication": [[0, 2], [1, 3]]}, "adapter of kind LoRA with layers used again"),
        ({"r": 4}, "q_proj have rank 4, and they have 2: its settings and its matrices"),
        ({"rank_pattern": {"1.self_attn.q_proj": 4}}, r"layers\.1\.self_attn\.q_proj have rank 4, and they"),
        ({"r": 0}, '"r" cannot be 0 in the settings'),
        ({"r": None}, '"r" cannot be null in the settings'),
        ({"r": 2.5}, '"r" cannot be 2.5 in the settings'),
        ({"lora_alpha": math.inf}, '"lora_alpha" cannot be Infinity in the settings'),
        ({"lora_alpha": math.nan}, '"lora_alpha" cannot be NaN in the settings'),
        ({"alpha_pattern": {"q_proj": -math.inf}}, '"alpha_pattern" cannot be'),
        ({"modules_to_save": ["lm_head"]}, "lacks lm_head, which its settings say was trained"),
        ({"modules_to_save": "lm_head"}, '"modules_to_save" cannot be "lm_head"'),
        ({"bias": "some"}, '"bias" cannot be "some" in the settings'),
        ({"bias": [1]}, r'"bias" cannot be \[1\] in the settings'),
        ({"lora_alpha": "16"}, '"lora_alpha" cannot be "16" in the settings'),
        ({"alpha_pattern": {"q_proj": None}}, '"alpha_pattern" cannot be'),
        ({"alpha_pattern": {"q_proj(": 3}}, r'"alpha_pattern" cannot be .*q_proj\('),
        ({"alpha_pattern": 3}, '"alpha_pattern" cannot be 3'),
        ({"base_model_name_or_path": 3}, '"base_model_name_or_path" cannot be 3'),
    ],
)
def test_settings_of_another_kind_are_refused_by_name(base, tmp_path, settings, says):
    folder = adapter(tmp_path / "lora", base, ALL, **settings)
    with pytest.raises(AtlasError, match=says) as caught:
        engine.load(folder)
    assert "\n" not in str(caught.value)


def test_a_pattern_that_finds_no_end(base, tmp_path, monkeypatch):
    monkeypatch.setattr(matching, "_SECONDS", 1.0)
    folder = adapter(tmp_path / "lora", base, ALL, alpha_pattern={"(a|aa|a.*|.)*(.+)+Z": 3})
    with pytest.raises(
        AtlasError, match=r'adapter_config\.json \("alpha_pattern"\): matching .* more than 1 s'
    ):
        engine.load(folder)


def without(*names: str) -> dict[str, torch.Tensor]:
    return {name: value for name, value in ALL.items() if name not in names}


TIED = {"base_model.model.lm_head.weight": torch.zeros(checkpoints.VOCAB, 32)}


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        (
            without(Q.format(1, "B")),
            r"holds only one of the two matrices for model\.layers\.1\.self_attn\.q_proj",
        ),
        (
            without(Q.format(1, "A"), Q.format(1, "B")),
            r"lacks the matrices for layers\.1\.self_attn\.q_proj\.weight",
        ),
        ({}, "changes nothing, which its base does not hold"),
        (
            {**ALL, "base_model.model.model.layers.7.x.weight": torch.ones(2)},
            r"changes model\.layers\.7\.x\.weight",
        ),
        (
            {**ALL, Q.format(9, "A"): ALL[Q.format(0, "A")]},
            r"layers\.9\.self_attn\.q_proj\.weight, which its base",
        ),
        (
            {**ALL, Q.format(0, "A"): torch.ones(2, 30)},
            r"q_proj are 2 x 30 and 32 x 2 where the base has 32 x 32",
        ),
        (
            {**ALL, Q.format(0, "A"): torch.ones(3, 32)},
            r"q_proj are 3 x 32 and 32 x 2 where the base has 32 x 32",
        ),
        ({**ALL, Q.format(0, "A"): torch.full((2, 32), math.nan)}, r"0\.self_attn\.q_proj\.weight holds NaN"),
        ({**ALL, Q.format(0, "A"): torch.ones(32)}, r"q_proj are 32 and 32 x 2 where"),
        ({**ALL, Q.format(0, "A"): torch.ones(2, 32, dtype=torch.int8)}, "is stored as I8"),
        (
            {**ALL, "base_model.model.model.norm.weight": torch.ones(31)},
            r"norm\.weight has the shape 31 where",
        ),
    ],
)
def test_half_an_adapter_and_one_of_another_model(base, tmp_path, tensors, says):
    with pytest.raises(AtlasError, match=says) as caught:
        engine.load(adapter(tmp_path / "lora", base, tensors))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["embed_tokens", "lm_head"])
def test_a_matrix_that_serves_twice_cannot_be_changed_for_one(tmp_path, name):
    base = checkpoints.save(checkpoints.llama(tie_word_embeddings=True), tmp_path / "base")
    key = {
        "embed_tokens": "base_model.model.model.embed_tokens.weight",
        "lm_head": "base_model.model.lm_head.weight",
    }
    folder = adapter(tmp_path / "lora", base, {**ALL, key[name]: torch.zeros(checkpoints.VOCAB, 32)})
    with pytest.raises(AtlasError, match=r"changes .*(embed_tokens|lm_head)\.weight"):
        engine.load(folder)


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000])
def test_a_broken_description(base, tmp_path, content):
    folder = adapter(tmp_path / "lora", base, ALL)
    (folder / "adapter_config.json").write_text(content)
    with pytest.raises(AtlasError, match=r"adapter_config\.json (cannot be read|does not hold)"):
        engine.load(folder)


def test_a_folder_that_lacks_the_matrices_or_holds_half_of_the_file(base, tmp_path):
    folder = adapter(tmp_path / "lora", base, ALL)
    path = folder / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(AtlasError, match="cut short or is not a safetensors file"):
        engine.load(folder)
    path.unlink()
    with pytest.raises(AtlasError, match=r"has no adapter_model\.safetensors / adapter_model\.bin"):
        engine.load(folder)
