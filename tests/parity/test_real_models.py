"""The two real models against what another implementation computed from the same files
(reference/README.md).
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.capture import capture
from engine.decoding import greedy, text_reader, texts
from engine.model.transformer import DecoderOnly
from engine.pretrained import catalogue, sources, vocabulary
from engine.pretrained.__main__ import main
from engine.pretrained.gguf_file import GgufFile
from engine.pretrained.loaded import Loaded
from engine.pretrained.loader import load
from tests.engine.pretrained.checkpoints import Writer

REFERENCE = Path(__file__).parent / "reference"
TEXTS: dict[str, dict] = json.loads((REFERENCE / "pretrained.json").read_text(encoding="utf-8"))
MODELS = {"smollm2": ("smollm2-135m", "decoder"), "minilm": ("minilm-l6", "encoder")}

pytestmark = pytest.mark.parity


@pytest.fixture(scope="module")
def numbers():
    with np.load(REFERENCE / "pretrained.npz") as file:
        yield dict(file)


def here(name: str) -> None:
    """Goes on only where the model is; where it must be there, its absence is a failure."""
    if sources.status(name).present:
        return
    reason = f"{name} is not in {catalogue.home()}: fetch it with `python -m engine.pretrained get {name}`"
    if os.environ.get("ATLAS_REQUIRE_PARITY") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@cache
def computed(key: str) -> tuple[Loaded, str, dict[str, torch.Tensor]]:
    """The model of an entry, its stack, and what it computes for the reference's own ids."""
    name, stack = MODELS[key.rsplit("_", 1)[0]]
    here(name)
    loaded = load(name)
    wanted = ["*.weights", "*.self_attention_residual.resid_pre", "*.final_norm"]
    with torch.inference_mode(), capture(wanted) as trace:
        output = loaded.model(torch.tensor([TEXTS[key]["ids"]]))
    return loaded, stack, {**trace, "output": output}


every_text = pytest.mark.parametrize("key", TEXTS)
every_smollm2_text = pytest.mark.parametrize("key", [key for key in TEXTS if key.startswith("smollm2")])


def layers(key: str) -> int:
    loaded, stack, _ = computed(key)
    return loaded.config.stacks[stack].n_layers


@every_text
def test_ids_are_equal(key):
    loaded, _, _ = computed(key)
    assert list(loaded.tokenizer.encode(TEXTS[key]["text"]).ids) == TEXTS[key]["ids"]


@every_text
def test_every_weight_of_every_layer(key, numbers):
    _, stack, values = computed(key)
    ours = np.stack([values[f"{stack}.layers.{i}.self_attention.weights"][0] for i in range(layers(key))])
    assert ours.shape == numbers[f"{key}_weights"].shape
    np.testing.assert_allclose(ours, numbers[f"{key}_weights"], rtol=0, atol=1e-4)


@every_text
def test_norm_of_the_residual_stream_before_each_layer_and_at_the_end(key, numbers):
    _, stack, values = computed(key)
    names = [f"{stack}.layers.{i}.self_attention_residual.resid_pre" for i in range(layers(key))]
    ours = np.stack([values[name][0].norm(dim=-1) for name in [*names, f"{stack}.final_norm"]])
    np.testing.assert_allclose(ours, numbers[f"{key}_hidden_norms"], rtol=1e-3)


@every_text
def test_last_hidden_state(key, numbers):
    _, stack, values = computed(key)
    theirs = numbers[f"{key}_last_hidden"]
    np.testing.assert_allclose(
        values[f"{stack}.final_norm"][0], theirs, rtol=0, atol=1e-4 * np.abs(theirs).max()
    )


@every_smollm2_text
def test_probabilities_of_the_next_token(key, numbers):
    _, _, values = computed(key)
    ours = values["output"][0, -1].softmax(-1)
    theirs = torch.from_numpy(numbers[f"{key}_logits_last"]).softmax(-1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
    loaded, _, _ = computed(key)
    expected = TEXTS[key]["top5_next"]
    assert [loaded.tokenizer.decode([i]) for i in ours.topk(5).indices.tolist()] == [
        piece.replace("Ġ", " ").replace("Ċ", "\n") for piece, _ in expected
    ]
    np.testing.assert_allclose(
        ours.topk(5).values, [probability for _, probability in expected], rtol=0, atol=1e-4
    )


@every_smollm2_text
def test_loss_over_the_text(key):
    _, _, values = computed(key)
    loss = torch.nn.functional.cross_entropy(values["output"][0, :-1], torch.tensor(TEXTS[key]["ids"][1:]))
    assert loss.item() == pytest.approx(TEXTS[key]["loss_nats_per_token"], abs=1e-4)


@every_smollm2_text
def test_sixteen_greedy_ids(key):
    loaded, _, _ = computed(key)
    ids = list(TEXTS[key]["ids"])
    with torch.inference_mode():
        for _ in range(16):
            ids.append(int(loaded.model(torch.tensor([ids]))[0, -1].argmax()))
    written = ids[-16:]
    assert written == TEXTS[key]["greedy_16_ids"]
    assert isinstance(loaded.model, DecoderOnly)
    cached = greedy(text_reader(loaded.model), torch.tensor([ids[:-16]]), max_new_tokens=16, max_len=2048)
    assert texts(cached, 1) == [written]
    assert loaded.tokenizer.decode(written) == TEXTS[key]["greedy_16"]


@pytest.mark.parametrize("name", catalogue.CATALOGUE)
def test_the_verify_command_finds_nothing_wrong(name, capsys):
    here(name)
    assert main(["check", name]) == 0
    printed = capsys.readouterr().out
    assert "FAILED" not in printed
    assert printed.endswith(f"{name} is whole and computes what it should.\n")


def test_wordpiece_as_gguf_files_keep_it_reads_like_the_original(tmp_path):
    """MiniLM's vocabulary, written the way converters write it, cuts text as its tokenizer.json does."""
    here("minilm-l6")
    original = vocabulary.from_folder(sources.path_of("minilm-l6"))
    pieces = [str(original.id_to_token(i)) for i in range(original.get_vocab_size())]
    path = tmp_path / "minilm.gguf"
    with Writer(path, "bert") as file:
        file.add_tokenizer_model("bert")
        file.add_token_list([
            piece if piece[0] == "[" and piece[-1] == "]" else piece[2:] if piece[:2] == "##" else "▁" + piece
            for piece in pieces
        ])  # fmt: skip
        file.add_unk_token_id(pieces.index("[UNK]"))
        file.add_uint32("tokenizer.ggml.cls_token_id", pieces.index("[CLS]"))
        file.add_sep_token_id(pieces.index("[SEP]"))
        file.tensor("one", torch.zeros(1))
    rebuilt = vocabulary.from_gguf(GgufFile(path))
    for text in [*(entry["text"] for entry in TEXTS.values()), "Unbelievably, 2025-06-03! [MASK] אבג 👍", ""]:
        theirs, ours = original.encode(text), rebuilt.encode(text)
        assert ours.ids == theirs.ids
        assert ours.offsets == theirs.offsets
