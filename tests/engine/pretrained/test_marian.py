"""Marian's translators against `transformers`, and the relatives of theirs that are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
from engine.config import AtlasError
from engine.pretrained.loader import load
from engine.verify import verify
from tests.engine.pretrained import translators
from tests.engine.pretrained.checkpoints import VOCAB, save
from tests.engine.pretrained.translators import PAD, SOURCE, assert_same

SWITCHES = {
    "as it is": {},
    "embeddings scaled": {"scale_embedding": True},
    "swish": {"activation_function": "swish"},
    "relu": {"activation_function": "relu"},
    "deeper decoder": {"encoder_layers": 1, "decoder_layers": 3},
    "an odd width": {"d_model": 15, "encoder_attention_heads": 5, "decoder_attention_heads": 3},
}


def change_config(folder, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_weights(folder, change) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)


@pytest.fixture
def folder(tmp_path):
    return save(translators.marian(), tmp_path / "model")


@pytest.mark.parametrize("changes", SWITCHES.values(), ids=SWITCHES)
def test_everything_it_computes(changes, tmp_path):
    theirs = translators.marian(**changes)
    loaded = load(save(theirs, tmp_path))
    assert_same(theirs, loaded.model)
    assert (loaded.meta["family"], loaded.config.assembly) == ("marian", "encoder-decoder")


def test_the_gap_is_rounding_alone(tmp_path):
    theirs = translators.marian()
    ours = load(save(theirs, tmp_path)).model.double()
    for stack in (theirs.model.encoder, theirs.model.decoder):  # as exact as the rest
        waves = [[pos / 10_000 ** (2 * (i // 2) / 24) for i in range(24)] for pos in range(32)]
        angle = torch.tensor(waves, dtype=torch.float64)
        stack.embed_positions.weight.data = torch.cat([angle[:, ::2].sin(), angle[:, 1::2].cos()], dim=1)
    assert_same(theirs.double(), ours, bound=1e-12)


def test_all_sines_come_before_all_cosines(tmp_path):
    heads = {"d_model": 8, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    lm = engine.load(save(translators.marian(**heads), tmp_path))
    trace = lm.trace("w3 w17", "w8")
    expected = [0.841471, 0.099833, 0.0099998, 0.001, 0.540302, 0.995004, 0.99995, 0.9999995]
    for stack in ("encoder", "decoder"):
        waves = trace[f"{stack}.position"] - trace[f"{stack}.embed"]
        torch.testing.assert_close(waves[0, 1], torch.tensor(expected), rtol=0, atol=1e-6)


def test_waves_are_exact_to_the_last_position(tmp_path):
    theirs = translators.marian(max_position_embeddings=512)
    model: Any = load(save(theirs, tmp_path)).model
    waves = model.encoder.positions.embed(torch.zeros(1, 512, 24), torch.arange(512)[None])
    torch.testing.assert_close(waves[0], theirs.model.encoder.embed_positions.weight, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("scaled", "factor"), [(True, math.sqrt(24)), (False, 1.0)])
def test_embeddings_are_scaled_only_where_the_file_says_so(scaled, factor, tmp_path):
    lm = engine.load(save(translators.marian(scale_embedding=scaled), tmp_path))
    rows = lm.model.get_parameter("embedding.table.weight")[[3, 17]]
    torch.testing.assert_close(lm.trace("w3 w17", "")["encoder.embed"][0], factor * rows.detach())


def test_it_writes_the_same_and_never_pad(tmp_path):
    theirs = translators.marian()
    theirs.final_logits_bias[0, PAD] = 50.0  # what it would write all the time
    theirs.generation_config.bad_words_ids = [[PAD]]
    lm = engine.load(save(theirs, tmp_path))
    text = " ".join(f"w{id}" for id in SOURCE[0].tolist())
    expected = theirs.generate(SOURCE, max_new_tokens=12, do_sample=False, num_beams=1)[0].tolist()
    assert [int(step.ids) for step in lm.steps(text, 12)] == expected[1:]
    assert lm.tokenizer.suppressed_ids == (PAD,)
    trace = lm.trace(text)
    assert trace.logits[0].argmax(dim=-1).tolist() == [PAD] * len(trace.ids)
    assert trace.ids[:2] == expected[:2] == [PAD, expected[1]]
    assert PAD not in trace.ids[1:]


def test_the_bias_on_the_logits_may_be_missing(folder):
    with_bias: Any = load(folder)
    change_weights(folder, lambda weights: weights.pop("final_logits_bias"))
    without = load(folder)
    assert not without.config.head_bias
    ids = torch.tensor([[3, 4]])
    with torch.no_grad():
        gap = with_bias.model(ids, ids) - without.model(ids, ids)
        torch.testing.assert_close(gap[0, 0], with_bias.model.head.bias, rtol=0, atol=1e-5)


def test_tables_of_waves_and_copies_of_the_embeddings_are_not_needed(folder):
    before = load(folder).model.state_dict()

    def add(weights):
        weights["model.encoder.embed_positions.weight"] = torch.zeros(32, 24)
        for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
            weights[f"{name}.weight"] = weights["model.shared.weight"].clone()

    change_weights(folder, add)
    after = load(folder).model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    change_weights(folder, lambda weights: weights.pop("model.shared.weight"))
    after = load(folder).model.state_dict()
    assert torch.equal(after["embedding.table.weight"], before["embedding.table.weight"])


def test_an_output_or_embeddings_of_their_own_are_refused(folder):
    def add(weights):
        weights["lm_head.weight"] = weights["model.shared.weight"] + 1

    change_weights(folder, add)
    with pytest.raises(AtlasError, match=r"model\.shared\.weight and lm_head\.weight with different numbers"):
        load(folder)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("normalize_before", True), ("normalize_embedding", True), ("add_final_layer_norm", True),
        ("add_final_layernorm", True), ("static_position_embeddings", False),
        ("share_encoder_decoder_embeddings", False), ("tie_word_embeddings", False),
    ],
)  # fmt: skip
def test_relatives_are_refused_by_name(folder, setting, value):
    change_config(folder, **{setting: not value})
    load(folder)
    change_config(folder, **{setting: value})
    with pytest.raises(
        AtlasError, match=f'a Marian with "{setting}" {str(value).lower()}, which is not built'
    ):
        load(folder)


def test_two_vocabularies_are_refused(folder):
    change_config(folder, decoder_vocab_size=VOCAB + 7)
    with pytest.raises(AtlasError, match="a Marian with 40 tokens to read and 47 to write"):
        load(folder)


def test_its_invariants_hold(folder):
    assert [check.name for check in verify(engine.load(folder)) if not check.ok] == []
