"""Files that are whole and wrong: whatever stands in them, one sentence says which file, what and where."""

from __future__ import annotations

import json
import shutil
import time

import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
from engine.config import AtlasError
from engine.model.build import build
from engine.pretrained import families, hf_config
from engine.pretrained.loader import load
from engine.training.model_folder import save_checkpoint
from tests.engine.pretrained import checkpoints, translators
from tests.engine.pretrained.test_lora import adapter
from tests.engine.pretrained.test_weights import pickled, sharded
from tests.engine.training.copying import Copying, small

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(scope="module", params=families.FAMILIES)
def saved(request, tmp_path_factory):
    home = translators if hasattr(translators, request.param) else checkpoints
    return checkpoints.save(getattr(home, request.param)(), tmp_path_factory.mktemp(request.param))


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


@pytest.fixture
def own(tmp_path):
    """A folder as this program saves its own models."""
    config = small(task := Copying())
    card = {"name": "copier", "title": "Copier"}
    save_checkpoint(tmp_path / "own", config, build(config, seed=1), task.tokenizer, card)
    return tmp_path / "own"


USUAL = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads")
NAMES = {
    "gpt2": ("n_layer", "n_embd", "n_inner", "n_head"),
    "t5": ("num_layers", "d_model", "d_ff", "num_heads"),
    "marian": ("encoder_layers", "d_model", "encoder_ffn_dim", "encoder_attention_heads"),
}


def called(folder, key: str) -> str:
    """What this model's config.json calls a setting that most call `key`."""
    own = NAMES.get(json.loads((folder / "config.json").read_text())["model_type"], USUAL)
    return own[USUAL.index(key)] if key in USUAL else key


def change(path, **changes) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refusal(folder) -> str:
    """The one sentence with which a folder is refused, well within a second."""
    began = time.process_time()
    with pytest.raises(AtlasError) as caught:
        engine.load(folder)
    assert time.process_time() - began < 2
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


ODD = (
    ["gelu"],
    "linear",
    [1],
    {"a": [1]},
    "x",
    -3,
    0,
    10**30,
    10**400,
    1.5,
    float("nan"),
    float("inf"),
    True,
    "",
)


def asked(kind: str, value) -> list[str]:
    """Every key; but what is of a wrong type is refused before a family is asked, and so by one of them for all."""
    keys = {key: test for test, keys in hf_config._KEYS.items() for key in keys if "." not in key}
    return [key for key, test in keys.items() if kind == "llama" or hf_config._TESTS[test](value)]


@pytest.mark.parametrize("value", ODD, ids=[str(value)[:12] for value in ODD])
def test_no_setting_of_a_wrong_type_is_more_than_a_sentence(folder, value):
    whole = json.loads((folder / "config.json").read_text())
    for key in asked(whole["model_type"], value):
        (folder / "config.json").write_text(json.dumps({**whole, key: value}))
        try:
            loaded = load(folder)
        except AtlasError as error:
            assert "\n" not in str(error), key  # noqa: PT017 (some values are right ones for some keys)
        else:
            assert loaded.model is not None


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("hidden_act", ["gelu"], r'"hidden_act" should be a text, not \[…\]'),
        ("rope_scaling", "linear", '"rope_scaling" should be an object, not "linear"'),
        ("rope_scaling", [1], r'"rope_scaling" should be an object, not \[…\]'),
        ("rope_scaling", {"rope_type": 3}, '"rope_scaling.rope_type" should be a text, not 3'),
        ("rope_theta", "x", '"rope_theta" should be a number between 0 and 1e30, not "x"'),
        ("quantization_config", "gptq", '"quantization_config" should be an object, not "gptq"'),
        ("vocab_size", True, '"vocab_size" should be a whole number from 1 to 2147483647, not true'),
        (
            "num_hidden_layers",
            10**400,
            '"num_hidden_layers" should be a whole number from 1 to 2147483647, not 1000',
        ),
        ("tie_word_embeddings", "no", '"tie_word_embeddings" should be true or false, not "no"'),
        ("eos_token_id", ["</s>"], r'"eos_token_id" should be the number of a token, not \[…\]'),
        ("sliding_window", 0, '"sliding_window" should be a whole number from 1 to 2147483647, not 0'),
        (
            "rope_scaling",
            {"factor": "2"},
            '"rope_scaling.factor" should be a number between 0 and 1e30, not "2"',
        ),
        ("layer_types", ["full_attention", 3], r'"layer_types" should be a list of texts, not \[…\]'),
        ("d_kv", 0, '"d_kv" should be a whole number from 1 to 2147483647, not 0'),
        (
            "num_decoder_layers",
            "3",
            '"num_decoder_layers" should be a whole number from 1 to 2147483647, not "3"',
        ),
        ("feed_forward_proj", 3, '"feed_forward_proj" should be a text, not 3'),
        ("scale_embedding", 1, '"scale_embedding" should be true or false, not 1'),
        ("decoder_start_token_id", 1.5, '"decoder_start_token_id" should be the number of a token, not 1.5'),
        ("type_vocab_size", -1, '"type_vocab_size" should be a whole number from 0 to 2147483647, not -1'),
    ],
)
def test_a_setting_of_a_wrong_type_is_named(folder, key, value, says):
    change(folder / "config.json", **{key: value})
    with pytest.raises(AtlasError, match=f"The configuration of {folder}: {says}"):
        load(folder)


@pytest.mark.parametrize(
    ("family", "changes", "says"),
    [
        ("llama", {"num_key_value_heads": 3}, "n_heads 4 is not divisible by n_kv_heads 3"),
        ("llama", {"head_dim": 9}, "rope turns pairs of numbers, so d_k must be even, not 9"),
        (
            "llama",
            {"rope_parameters": {"rope_type": "linear", "factor": 0.5}},
            "factor must be at least 1.0, not 0.5",
        ),
        ("llama", {"hidden_act": "mish"}, "The activation mish is not built here"),
        ("llama", {"vocab_size": None}, "does not give vocab_size as positive whole numbers"),
        ("mistral", {"sliding_window": 1}, '"sliding_window": 1, which is not built here'),
        ("t5", {"relative_attention_num_buckets": 6}, '"relative_attention_num_buckets": 6, which is not'),
        ("t5", {"relative_attention_max_distance": 4}, '"relative_attention_max_distance": 4, which is not'),
    ],
)
def test_whatever_a_configuration_asks_for_the_file_is_named(tmp_path, family, changes, says):
    home = translators if hasattr(translators, family) else checkpoints
    folder = checkpoints.save(getattr(home, family)(), tmp_path)
    change(folder / "config.json", **changes)
    with pytest.raises(AtlasError) as caught:
        load(folder)
    assert str(caught.value).startswith(f"{folder / 'config.json'}: ")
    assert says in str(caught.value)


def test_a_number_alone_has_a_shape_too(whole):
    weights = load_file(whole / "model.safetensors")
    save_file({**weights, "model.norm.weight": torch.tensor(1.0)}, whole / "model.safetensors")
    assert "norm.weight has the shape () where the configuration calls for 32" in refusal(whole)


def test_null_is_the_same_as_absent(folder):
    change(
        folder / "config.json", rope_scaling=None, rope_theta=None, hidden_act="silu", layer_norm_eps=None,
        rms_norm_eps=None, type_vocab_size=None, quantization_config=None, eos_token_id=None, pad_token_id=-1,
    )  # fmt: skip
    assert load(folder).meta["pad_id"] is None


@pytest.mark.parametrize(
    "places", [[], None, 3, {"a": 3}, {"a": "b.safetensors", "c": None}, {"a": "../x"}, {}]
)
def test_an_index_that_names_no_files(folder, places):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    assert "index" in refusal(folder)


@pytest.mark.parametrize("content", ["", "null", "3", "[]", "{", '{"weight_map": ', DEEP, "\x00"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors.index.json"])
def test_no_content_of_a_file_is_more_than_a_sentence(folder, name, content):
    if name.endswith("index.json"):
        (folder / "model.safetensors").unlink()
    (folder / name).write_text(content)
    assert name.removesuffix(".index.json") in refusal(folder)


@pytest.mark.parametrize("content", [DEEP, "null", '{"kind": "word", "vocabulary": 3}'])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "card.json"])
def test_nor_of_a_model_of_our_own(own, name, content):
    (own / name).write_text(content)
    refusal(own)


@pytest.mark.parametrize("values", [{"title": ["Copier"]}, {"name": 3}])
def test_a_card_without_words(own, values):
    change(own / "card.json", **values)
    assert "card.json is not a card" in refusal(own)


def test_a_vocabulary_of_numbers(own):
    change(own / "tokenizer.json", vocabulary=[1, 2, 3])
    assert "list of texts" in refusal(own)


@pytest.mark.parametrize(
    ("layers", "says"),
    [
        (4, "its configuration calls for 4:"),
        (4096, "its configuration calls for 4,096:"),
        (20_000, "n_layers must be at most 4096, not 20000"),
        (2**31 - 1, "n_layers must be at most 4096, not 2147483647"),
    ],
)
def test_layers_that_the_weights_do_not_have_are_not_made(folder, layers, says):
    change(folder / "config.json", **{called(folder, "num_hidden_layers"): layers})
    assert says in refusal(folder)
    named = {f"x.{key}": value for key, value in load_file(folder / "model.safetensors").items()}
    save_file(named, folder / "model.safetensors")
    refusal(folder)


@pytest.mark.parametrize("key", ["vocab_size", "hidden_size", "intermediate_size", "num_attention_heads"])
@pytest.mark.parametrize("size", [2_000_000, 2**31 - 1])
def test_nor_are_widths(folder, key, size):
    heads = {"head_dim": 8} if key == "num_attention_heads" else {}
    change(folder / "config.json", **{called(folder, key): size}, **heads)
    refusal(folder)


@pytest.mark.parametrize(("key", "value"), [("n_layers", 4096), ("d_ff", 10**15), ("n_segments", 10**15)])
def test_nor_of_a_model_of_our_own_that_is_too_large(own, key, value):
    config = json.loads((own / "config.json").read_text())
    config["encoder"][key] = value
    (own / "config.json").write_text(json.dumps(config))
    assert "belong to different models" in refusal(own)


def own_names(folder):
    """The folder as one that describes itself: our settings, and the names of the family as they are."""
    family = families.FAMILIES["llama"]
    config = family.config_from_hf(json.loads((folder / "config.json").read_text()))
    (folder / "config.json").unlink()
    renames = [(rf"(?:model\.)?{pattern}", ours) for pattern, ours in family.RENAMES]
    described = {"config": json.loads(config.to_json()), "renames": renames}
    (folder / "tokenizer.json").write_text(Copying().tokenizer.to_json())
    (folder / "atlas.json").write_text(json.dumps(described))
    return folder


def adapted(folder):
    """An adapter that changes nothing, and the folder as its base."""
    names = [f"base_model.model.model.layers.{i}.self_attn.q_proj.lora_" for i in range(3)]
    zeros = {f"{name}{side}.weight": torch.zeros(size) for name in names for side, size in
             {"A": (2, 32), "B": (32, 2)}.items()}  # fmt: skip
    return adapter(folder.with_name("lora"), folder, zeros)


LARGER = {
    "bin": lambda folder: pickled(folder),
    "shards": lambda folder: sharded(folder, form="model.safetensors"),
    "shards of bin": lambda folder: sharded(folder, form="pytorch_model.bin"),
    "adapter": adapted,
}
LIES = {
    "num_hidden_layers": 4096,
    "vocab_size": 2_000_000,
    "hidden_size": 2**31 - 1,
    "num_key_value_heads": 4,
}


@pytest.fixture
def whole(tmp_path):
    return checkpoints.save(checkpoints.llama(), tmp_path / "model")


@pytest.mark.parametrize(("key", "value"), LIES.items(), ids=LIES)
@pytest.mark.parametrize("make", LARGER.values(), ids=LARGER)
def test_a_config_that_lies_about_weights_of_any_form(whole, make, key, value):
    opened = make(whole)
    assert engine.load(opened).config.decoder is not None
    change(whole / "config.json", **{key: value})
    refusal(opened)


@pytest.mark.parametrize(
    ("key", "value"),
    [("n_layers", 4096), ("n_heads", 3), ("d_ff", 10**15), ("n_kv_heads", 4), ("d_k", 10**9)],
)
def test_nor_in_the_description_of_ones_own_model(whole, key, value):
    own_names(whole)
    assert engine.load(whole).config.decoder is not None
    described = json.loads((whole / "atlas.json").read_text())
    described["config"]["decoder"][key] = value
    (whole / "atlas.json").write_text(json.dumps(described))
    refusal(whole)
