"""T5 1.0 and 1.1 against `transformers`, and the many ways in which their files were written."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.models.t5 import modeling_t5

import engine
from engine.config import AtlasError
from engine.pretrained import t5
from engine.pretrained.loader import load
from engine.verify import verify
from tests.engine.pretrained import translators
from tests.engine.pretrained.checkpoints import VOCAB, save
from tests.engine.pretrained.translators import SOURCE, TARGET, assert_same

HEAD = torch.linspace(-1, 1, VOCAB * 16).reshape(VOCAB, 16).sin()

SWITCHES = {
    "1.0": {},
    "1.1": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "head": HEAD},
    "1.1 whose output is tied": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "1.0 whose output is not tied": {"head": HEAD},
    "unequal depths": {"num_layers": 2, "num_decoder_layers": 4},
    "heads narrower than the stream": {"d_kv": 3, "num_heads": 2},
    "gated silu": {"feed_forward_proj": "gated-silu"},
    "plain gelu": {"feed_forward_proj": "gelu"},
    "another eps": {"layer_norm_epsilon": 1e-3},
    "32 buckets": {"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128},
}


def rewrite(folder, change, **settings) -> None:
    """Change the tensors, and the settings: None takes one away."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)
    config = {**json.loads((folder / "config.json").read_text()), **settings}
    kept = {key: value for key, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept))


@pytest.mark.parametrize("changes", SWITCHES.values(), ids=SWITCHES)
def test_everything_it_computes(changes, tmp_path):
    theirs = translators.t5(**changes)
    loaded = load(save(theirs, tmp_path))
    assert_same(theirs, loaded.model)
    assert loaded.meta["family"] == "t5"
    assert loaded.meta["parameters"] == sum(value.numel() for value in set(theirs.parameters()))


GGUF = {
    "1.0": {},
    "1.1": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "head": HEAD},
    "unequal depths": {"num_layers": 2, "num_decoder_layers": 4},
    "another eps": {"layer_norm_epsilon": 1e-3},
    "another length": {"n_positions": 24},
}


@pytest.mark.parametrize("changes", GGUF.values(), ids=GGUF)
def test_in_gguf(changes, tmp_path, home):
    theirs = translators.t5(relative_attention_max_distance=128, **changes)
    path = translators.t5_as_gguf(theirs, tmp_path / "tiny.gguf")
    for loaded in (load(path), load(path)):
        assert_same(theirs, loaded.model)
        assert loaded.config == load(save(theirs, tmp_path / "folder")).config
        assert loaded.meta["parameters"] == sum(value.numel() for value in set(theirs.parameters()))
        assert (loaded.tokenizer.bos_id, loaded.tokenizer.eos_id, loaded.tokenizer.pad_id) == (0, 1, 0)


@pytest.mark.parametrize("kind", ["1.0", "1.1"])
def test_it_writes_the_same_from_gguf(kind, tmp_path, home):
    theirs = translators.t5(relative_attention_max_distance=128, **GGUF[kind])
    lm = engine.load(translators.t5_as_gguf(theirs, tmp_path / "tiny.gguf"))
    read = torch.tensor([lm.encode("the cat").ids])
    assert int(read.max()) < VOCAB
    expected = theirs.generate(read, max_new_tokens=8, do_sample=False)[0].tolist()
    assert expected[0] == 0
    assert [int(step.ids) for step in lm.steps("the cat", 8)] == expected[1:]
    assert [str(check) for check in verify(lm) if not check.ok] == []


def test_a_bias_for_each_layer_is_not_t5s(tmp_path, home):
    """UMT5 goes by the same name in GGUF files."""
    bias = {"enc.blk.1.attn_rel_b.weight": torch.ones(8, 3)}
    path = translators.t5_as_gguf(translators.t5(), tmp_path / "umt5.gguf", more=bias)
    with pytest.raises(
        AtlasError, match=r"holds 1 tensors .* not call for \(enc\.blk\.1\.attn_rel_b\.weight\)"
    ):
        load(path)


def exact(norm, x):
    """Their norm, which takes the mean square in float32 even of a float64."""
    return norm.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + norm.variance_epsilon)


def test_the_gap_is_rounding_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(modeling_t5.T5LayerNorm, "forward", exact)
    theirs = translators.t5(**SWITCHES["1.1"])
    ours = load(save(theirs, tmp_path)).model
    assert_same(theirs.double(), ours.double(), bound=1e-12)


@pytest.mark.parametrize("kind", ["1.0", "1.1"])
def test_it_writes_the_same(kind, tmp_path):
    theirs = translators.t5(**SWITCHES[kind])
    lm = engine.load(save(theirs, tmp_path))
    text = " ".join(f"w{id}" for id in SOURCE[0].tolist())
    expected = theirs.generate(SOURCE, max_new_tokens=12, do_sample=False)[0].tolist()
    assert expected[0] == 0
    assert [int(step.ids) for step in lm.steps(text, 12)] == expected[1:]
    trace = lm.trace(text)
    assert trace.written
    assert trace.texts["decoder"].ids[: len(expected)] == [id for id in expected if id != 1]


def test_a_tied_output_is_scaled_and_one_of_its_own_is_not(tmp_path):
    tied: Any = load(save(translators.t5(), tmp_path / "tied"))
    own: Any = load(save(translators.t5(**SWITCHES["1.1"]), tmp_path / "own"))
    for loaded, matrix, scale in ((tied, tied.model.embedding.table.weight, 0.25), (own, HEAD, 1.0)):
        with torch.no_grad():
            last = loaded.model.decoder(loaded.model.embedding(TARGET), memory=loaded.model.encode(SOURCE))
            torch.testing.assert_close(
                loaded.model(SOURCE, TARGET), scale * last @ matrix.T, rtol=0, atol=1e-5
            )
    assert (tied.config.logit_scale, own.config.logit_scale) == (0.25, 1.0)


@pytest.mark.parametrize("kept", ["shared", "encoder.embed_tokens", "decoder.embed_tokens"])
def test_embeddings_come_from_wherever_they_are_but_never_from_the_output(kept, tmp_path):
    theirs = translators.t5(**SWITCHES["1.1"])
    folder = save(theirs, tmp_path)

    def rename(weights):
        weights[f"{kept}.weight"] = weights.pop("shared.weight")

    rewrite(folder, rename, tie_word_embeddings=False, scale_decoder_outputs=None)
    loaded: Any = load(folder)
    assert_same(theirs, loaded.model)
    assert torch.equal(loaded.model.embedding.table.weight, theirs.shared.weight)
    assert torch.equal(loaded.model.head.weight, HEAD)
    rewrite(folder, lambda weights: weights.pop(f"{kept}.weight"))
    with pytest.raises(AtlasError, match=r"lacks 1 of the tensors .*\(shared\.weight\)"):
        load(folder)


def test_copies_of_the_embeddings_are_one_and_differing_ones_are_refused(tmp_path):
    theirs = translators.t5()
    folder = save(theirs, tmp_path)

    def copy(weights):
        weights["encoder.embed_tokens.weight"] = weights["shared.weight"].clone()
        weights["decoder.embed_tokens.weight"] = weights["shared.weight"].clone()

    def change(weights):
        weights["decoder.embed_tokens.weight"][3, 2] += 1

    rewrite(folder, copy)
    assert_same(theirs, load(folder).model)
    rewrite(folder, change)
    with pytest.raises(
        AtlasError, match=r"shared\.weight and decoder\.embed_tokens\.weight with different numbers"
    ):
        load(folder)


def test_old_files_of_a_tied_model_may_hold_its_output_and_a_table_nobody_used(tmp_path):
    theirs = translators.t5()
    folder = save(theirs, tmp_path)

    def add(weights):
        weights["lm_head.weight"] = weights["shared.weight"].clone()
        unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
        weights[unused] = torch.ones(8, 3)

    rewrite(folder, add, scale_decoder_outputs=None, num_decoder_layers=None)
    loaded = load(folder)
    assert_same(theirs, loaded.model)
    assert loaded.config.tied_embeddings


def test_the_gated_gelu_is_the_one_by_tanh():
    assert t5.feed_forward("gated-gelu").activation == "gelu_tanh"
    assert t5.feed_forward("gelu").activation == "gelu"
    assert (t5.feed_forward("relu").kind, t5.feed_forward("gated-silu").kind) == ("plain", "gated")
    with pytest.raises(AtlasError, match="T5 with a feed-forward of kind mixed-gelu"):
        t5.feed_forward("mixed-gelu")
    with pytest.raises(AtlasError, match="activation quick_gelu is not built"):
        t5.feed_forward("gated-quick_gelu")


def test_one_bias_for_all_layers_none_across_and_no_scale(tmp_path):
    lm = engine.load(save(translators.t5(), tmp_path))
    trace = lm.trace("w3 w17 w5 w5 w29", "w8 w22 w4")
    for stack in ("encoder", "decoder"):
        added = [
            trace[f"{stack}.layers.{layer}.self_attention.biased"]
            - trace[f"{stack}.layers.{layer}.self_attention.scaled"]
            for layer in range(3)
        ]
        assert added[0].abs().max() > 0.1
        torch.testing.assert_close(added[1], added[0], rtol=0, atol=1e-5)
        torch.testing.assert_close(added[2], added[0], rtol=0, atol=1e-5)
    cross = "decoder.layers.1.cross_attention"
    assert torch.equal(trace[f"{cross}.biased"], trace[f"{cross}.scores"])
    products = trace[f"{cross}.q"] @ trace[f"{cross}.k"].mT
    torch.testing.assert_close(trace[f"{cross}.scaled"], products, rtol=0, atol=1e-5)


def test_its_invariants_hold(tmp_path):
    lm = engine.load(save(translators.t5(num_decoder_layers=2), tmp_path))
    assert [check.name for check in verify(lm) if not check.ok] == []


def test_a_decoder_begins_with_the_token_that_is_named_else_with_pad(tmp_path):
    folder = save(translators.t5(), tmp_path)
    assert load(folder).tokenizer.encode("w7", begin=True).ids == [0, 7]
    rewrite(folder, lambda weights: None, decoder_start_token_id=5)
    assert load(folder).tokenizer.encode("w7", begin=True).ids == [5, 7]
    rewrite(folder, lambda weights: None, decoder_start_token_id=None, pad_token_id=4)
    assert load(folder).tokenizer.encode("w7", begin=True).ids == [4, 7]


def test_its_length_is_that_of_its_training(tmp_path):
    folder = save(translators.t5(), tmp_path)
    assert load(folder).config.max_len == 512
    rewrite(folder, lambda weights: None, n_positions=100)
    assert load(folder).config.max_len == 100


def test_a_file_that_says_tied_and_holds_an_output_of_its_own_is_refused(tmp_path):
    folder = save(translators.t5(), tmp_path)

    def rename(weights):
        weights["decoder.embed_tokens.weight"] = weights.pop("shared.weight")
        weights["lm_head.weight"] = HEAD.clone()

    rewrite(folder, rename, tie_word_embeddings=True, scale_decoder_outputs=None)
    with pytest.raises(AtlasError, match=r"embed_tokens\.weight and lm_head\.weight with different numbers"):
        load(folder)


def test_a_layer_of_a_long_text_is_computed_again(tmp_path):
    lm = engine.load(save(translators.t5(), tmp_path))
    texts = " ".join(f"w{i % 37 + 2}" for i in range(70)), " ".join(f"w{i % 31 + 3}" for i in range(66))
    long, whole = lm.trace(*texts), lm.trace(*texts, names="*")
    for stack in ("encoder", "decoder"):
        again = lm.layer_trace(long, stack, 1)
        names = [name for name in whole if name.startswith(f"{stack}.layers.1.")]
        assert f"{stack}.layers.1.self_attention.biased" not in long
        assert names
        assert all(torch.equal(again[name], whole[name]) for name in names)
