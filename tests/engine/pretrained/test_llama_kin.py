"""What is made like LLaMA: stretched positions, windows, biases and norms of Mistral, Qwen2 and Qwen3."""

from __future__ import annotations

import json
import math

import pytest
import torch

from engine.config import AtlasError, Factors, Linear, Llama3, Rope
from engine.pretrained import hf_config, mistral, qwen2, qwen3
from engine.pretrained.loader import load
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.comparison import assert_same, assert_same_greedy

WHOLE = {
    "vocab_size": 5, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 3,
    "max_position_embeddings": 9,
}  # fmt: skip
FULL, SLIDING = "full_attention", "sliding_attention"
LINEAR = {"rope_type": "linear", "factor": 2.5, "rope_theta": 500.0}
LLAMA3 = {
    "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64, "rope_theta": 500.0,
}  # fmt: skip

VARIANTS = {
    "llama, linear": ("llama", {"rope_parameters": LINEAR}),
    "llama, llama3": ("llama", {"rope_parameters": LLAMA3}),
    "llama, biases, stretched, head_dim": (
        "llama",
        {
            "attention_bias": True,
            "mlp_bias": True,
            "rope_parameters": LLAMA3,
            "hidden_size": 20,
            "head_dim": 8,
        },
    ),
    "mistral": ("mistral", {"sliding_window": None}),
    "mistral, window": ("mistral", {"sliding_window": 4}),
    "mistral, window of 2, one key": ("mistral", {"sliding_window": 2, "num_key_value_heads": 1}),
    "mistral, window wider than the text": ("mistral", {"sliding_window": 32}),
    "mistral, head_dim": ("mistral", {"sliding_window": None, "hidden_size": 20, "head_dim": 8}),
    "qwen2": ("qwen2", {}),
    "qwen2, tied, multi-head": ("qwen2", {"tie_word_embeddings": True, "num_key_value_heads": 4}),
    "qwen2, window not switched on": ("qwen2", {"sliding_window": 3, "use_sliding_window": False}),
    "qwen2, window": ("qwen2", {"sliding_window": 3, "use_sliding_window": True, "max_window_layers": 0}),
    "qwen2, window for no layer": (
        "qwen2",
        {"sliding_window": 3, "use_sliding_window": True, "max_window_layers": 3},
    ),
    "qwen2, window from the second layer on": (
        "qwen2",
        {"sliding_window": 3, "use_sliding_window": True, "max_window_layers": 1},
    ),
    "qwen3": ("qwen3", {}),
    "qwen3, tied": ("qwen3", {"tie_word_embeddings": True, "num_key_value_heads": 1}),
    "qwen3, biases": ("qwen3", {"attention_bias": True}),
    "qwen3, head_dim": ("qwen3", {"hidden_size": 20, "head_dim": 6}),
    "qwen3, window in the middle": (
        "qwen3",
        {
            "sliding_window": 4,
            "use_sliding_window": True,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
        },
    ),
    "qwen3, window": ("qwen3", {"sliding_window": 5, "use_sliding_window": True, "max_window_layers": 0}),
}


@pytest.mark.parametrize(("kind", "changes"), VARIANTS.values(), ids=VARIANTS)
def test_kin(kind, changes, tmp_path):
    theirs = getattr(checkpoints, kind)(**changes)
    loaded = load(checkpoints.save(theirs, tmp_path))
    assert_same(theirs, loaded.model, "decoder")
    assert_same_greedy(theirs, loaded.model)
    assert loaded.meta["family"] == kind
    assert loaded.meta["parameters"] == theirs.num_parameters()


@pytest.mark.parametrize("kind", ["qwen2", "qwen3"])
@pytest.mark.parametrize("changes", [{}, {"num_key_value_heads": 4, "tie_word_embeddings": True}])
def test_in_gguf_with_rows_as_they_are(kind, changes, tmp_path, home):
    theirs = getattr(checkpoints, kind)(**changes)
    loaded = load(checkpoints.llama_as_gguf(theirs, tmp_path / "tiny.gguf", kind))
    assert_same(theirs, loaded.model, "decoder")
    assert loaded.config == load(checkpoints.save(theirs, tmp_path / "folder")).config
    assert loaded.meta["family"] == kind


def test_llama_in_gguf_with_positions_stretched_evenly(tmp_path, home):
    theirs = checkpoints.llama(rope_parameters=LINEAR)
    loaded = load(checkpoints.llama_as_gguf(theirs, tmp_path / "tiny.gguf"))
    assert_same(theirs, loaded.model, "decoder")
    assert loaded.config.stacks["decoder"].positions == Rope(base=500, scaling=Linear(factor=2.5))


def divisors(original: int, factor: float = 8.0, base: float = 500_000.0, half: int = 8) -> torch.Tensor:
    """What converters keep of LLaMA 3's stretching, wave by wave, by its wave length."""
    found = []
    for i in range(half):
        length = 2 * math.pi * base ** (i / half)
        if length < original / 4:
            found.append(1.0)
        elif length > original:
            found.append(factor)
        else:
            share = (original / length - 1) / 3
            found.append(1 / ((1 - share) / factor + share))
    return torch.tensor(found)


@pytest.mark.parametrize("original", [8192, 64])
def test_llama3_in_gguf_keeps_only_what_its_numbers_make(original, tmp_path, home):
    stretch = {**LLAMA3, "factor": 8.0, "original_max_position_embeddings": original, "rope_theta": 500_000.0}
    theirs = checkpoints.llama(rope_parameters=stretch, head_dim=16)
    kept = divisors(original)
    middle = {
        8192: [1, 1, 1, 1, pytest.approx(2.6945, abs=1e-4), 8],
        64: [1, pytest.approx(2.4422, abs=1e-4), 8],
    }
    assert kept.tolist() == [*middle[original], *[8] * (8 - len(middle[original]))]
    path = checkpoints.llama_as_gguf(theirs, tmp_path / "tiny.gguf", divided_by=kept)
    for loaded in (load(path), load(path)):
        assert_same(theirs, loaded.model, "decoder")
        assert_same_greedy(theirs, loaded.model)
        scaling = Factors(factors=tuple(kept.tolist()))
        assert loaded.config.stacks["decoder"].positions == Rope(base=500_000, scaling=scaling)


def test_factors_for_another_number_of_pairs_are_refused(tmp_path, home):
    path = checkpoints.llama_as_gguf(checkpoints.llama(), tmp_path / "tiny.gguf", divided_by=torch.ones(3))
    with pytest.raises(AtlasError, match="rope turns 4 pairs of numbers and is given factors for 3"):
        load(path)


@pytest.mark.parametrize(("size", "reach"), [(4, 3), (32, 31)])
def test_mistral_in_gguf_is_a_llama_with_a_window(size, reach, tmp_path, home):
    theirs = checkpoints.mistral(sliding_window=size)
    path = checkpoints.llama_as_gguf(theirs, tmp_path / "tiny.gguf", window=size)
    for loaded in (load(path), load(path)):
        assert_same(theirs, loaded.model, "decoder")
        assert_same_greedy(theirs, loaded.model)
        assert loaded.config.stacks["decoder"].window == reach
        assert loaded.meta["family"] == "mistral"
        assert loaded.config == load(checkpoints.save(theirs, tmp_path / "folder")).config


def test_a_window_of_none_in_gguf_is_no_window(tmp_path, home):
    loaded = load(checkpoints.llama_as_gguf(checkpoints.llama(), tmp_path / "tiny.gguf", window=0))
    assert loaded.config.stacks["decoder"].window is None
    assert loaded.meta["family"] == "llama"


@pytest.mark.parametrize("kind", ["qwen2", "qwen3"])
def test_a_window_that_is_named_in_gguf_is_that_of_every_layer(kind, tmp_path, home):
    window = {"sliding_window": 3, "use_sliding_window": True, "max_window_layers": 0}
    theirs = getattr(checkpoints, kind)(**window)
    loaded = load(checkpoints.llama_as_gguf(theirs, tmp_path / "tiny.gguf", kind, window=3))
    assert_same(theirs, loaded.model, "decoder")
    assert loaded.meta["family"] == kind


@pytest.mark.parametrize("key", ["type", "rope_type"])
def test_stretching_has_its_numbers_under_either_name(key):
    assert hf_config.rope({"rope_scaling": {key: "linear", "factor": 2}}).scaling == Linear(factor=2)
    given = {key: "llama3", **{name: value for name, value in LLAMA3.items() if name != "rope_type"}}
    assert hf_config.rope({"rope_scaling": given}).scaling == Llama3(factor=4, low=1, high=4, original=64)
    assert hf_config.rope({"rope_scaling": {key: "default"}}).scaling is None


def test_old_config_keys_make_the_same_model(tmp_path):
    theirs = checkpoints.llama(rope_parameters=LLAMA3)
    folder = checkpoints.save(theirs, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    stretch = config.pop("rope_parameters")
    config |= {"rope_theta": stretch.pop("rope_theta"), "rope_scaling": stretch}
    (folder / "config.json").write_text(json.dumps(config))
    assert_same(theirs, load(folder).model, "decoder")


def test_a_window_counts_the_query_itself():
    assert mistral.config_from_hf({**WHOLE, "sliding_window": 4}).stacks["decoder"].window == 3
    assert mistral.config_from_hf(WHOLE).stacks["decoder"].window is None


@pytest.mark.parametrize("family", [qwen2, qwen3])
@pytest.mark.parametrize(
    ("changes", "windows"),
    [
        ({}, (None, None, None)),
        ({"sliding_window": 4}, (None, None, None)),
        ({"use_sliding_window": True}, (None, None, None)),
        # from layer 28 on, and there are 3
        ({"use_sliding_window": True, "sliding_window": 4}, (None, None, None)),
        ({"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}, (3, 3, 3)),
        ({"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}, (None, 3, 3)),
        ({"use_sliding_window": True, "sliding_window": 4, "layer_types": [FULL] * 3}, (None, None, None)),
        ({"use_sliding_window": True, "sliding_window": 4, "layer_types": [SLIDING] * 3}, (3, 3, 3)),
        (
            {"use_sliding_window": True, "sliding_window": 4, "layer_types": [SLIDING, FULL, SLIDING]},
            (3, None, 3),
        ),
    ],
)
def test_the_switches_of_a_window(family, changes, windows):
    assert family.config_from_hf({**WHOLE, **changes}).stacks["decoder"].windows == windows


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"layer_types": ["chunked_attention", FULL, FULL]}, "chunked_attention, full_attention"),
        ({"layer_types": [SLIDING] * 3, "use_sliding_window": False}, "sliding_attention"),
        ({"layer_types": [SLIDING] * 2}, "sliding_attention"),
        ({"layer_types": []}, ""),
    ],
)
def test_layers_of_other_kinds_are_refused(changes, kinds):
    with pytest.raises(AtlasError, match=rf'has "layer_types": "{kinds}", which is not built'):
        qwen2.config_from_hf({**WHOLE, "use_sliding_window": True, "sliding_window": 4, **changes})


def test_biases_and_norms_are_those_of_the_family(tmp_path):
    assert qwen2.config_from_hf(WHOLE).stacks["decoder"].out_bias is False
    assert qwen3.config_from_hf(WHOLE).stacks["decoder"].d_k == 128
    weights = load(checkpoints.save(checkpoints.qwen3(head_dim=6), tmp_path)).model.state_dict()
    assert weights["decoder.layers.2.self_attention.q_norm.weight"].shape == (6,)
    assert "decoder.layers.2.self_attention.W_q.bias" not in weights
