from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from engine import home
from engine.config import AtlasError, ClassHead, Patches, TokenHead, TransformerConfig
from engine.edits import zero_head
from engine.language_model import LanguageModel, Site, load
from engine.model.build import build
from engine.tokenizers import WordTokenizer
from tests.engine import recipes
from tests.engine.recipes import ASSEMBLIES, bert, config, language_model, llama, vaswani

every_assembly = pytest.mark.parametrize("settings", ASSEMBLIES.values(), ids=ASSEMBLIES)
LONG = "abcdefghij" * 7


@pytest.fixture
def decoder() -> LanguageModel:
    return language_model(llama())


@pytest.fixture
def translator() -> LanguageModel:
    return language_model(vaswani())


def test_sites_by_assembly() -> None:
    kinds = {name: list(language_model(settings).sites) for name, settings in ASSEMBLIES.items()}
    assert kinds == {
        "encoder-only": ["self"],
        "decoder-only": ["masked"],
        "encoder-decoder": ["self", "masked", "cross"],
    }
    assert Site("decoder", "cross_attention").path(3) == "decoder.layers.3.cross_attention"


@every_assembly
def test_every_site_has_its_weights(settings: TransformerConfig) -> None:
    lm = language_model(settings)
    trace = lm.trace("abc")
    lengths = {"encoder": trace.source, "decoder": trace.target}
    for kind, site in lm.sites.items():
        queries, keys = lengths[site.stack], lengths["encoder" if kind == "cross" else site.stack]
        assert queries is not None
        assert keys is not None
        weights = trace[site.path(0) + ".weights"]
        assert weights.shape == (1, 4, len(queries), len(keys))


def test_who_reads_what(decoder: LanguageModel, translator: LanguageModel) -> None:
    trace = decoder.trace("abca")
    assert trace.source is None
    assert trace.target is not None
    assert trace.ids == trace.target.ids == [4, 5, 6, 4]
    assert [token.label for token in trace.tokens] == list("abca")
    trace = language_model(bert()).trace("abca")
    assert trace.target is None
    assert list(trace.texts) == ["encoder"]
    trace = translator.trace("abca", "ba")
    assert trace.source is not None
    assert trace.source.ids == [4, 5, 6, 4]
    assert trace.ids == [1, 5, 4]
    assert not trace.written


def test_an_encoder_decoder_writes_its_own_target() -> None:
    lm = next(lm for lm in map(wordy, range(50)) if lm.generate("abc", 5) != "")
    trace = lm.trace("abc")
    assert trace.written
    assert trace.target is not None
    assert trace.target.text == lm.generate("abc", lm.max_len)
    steps = list(lm.steps("abc", 3))
    assert trace.logits[0, : len(steps)].argmax(-1).tolist() == [int(step.ids) for step in steps]


@pytest.mark.parametrize(
    ("source", "max_len", "tokens"), [("abc", 300, 64), ("abcd" * 10, 300, 80), ("abc", 40, 39)]
)
def test_what_never_ends_is_cut_and_says_so(source: str, max_len: int, tokens: int) -> None:
    """64 tokens, or twice the source's, or as many as fit behind the one that begins."""
    settings = vaswani().model_copy(update={"tied_embeddings": False, "max_len": max_len})
    lm = language_model(settings)
    head = lm.parameter("head.weight").copy()
    head[lm.tokenizer.eos_id] = 0  # never the largest
    lm = lm.with_parameters({"head.weight": head})
    trace = lm.trace(source)
    assert trace.cut == tokens
    assert trace.target is not None
    assert len(trace.target.ids) == 1 + tokens
    assert lm.layer_trace(trace, "decoder", 0).cut == tokens
    assert lm.trace(source, "ab").cut is None


def test_what_ends_by_itself_is_not_cut() -> None:
    trace = load("dates").trace("3 juin 2025")
    assert trace.written
    assert trace.cut is None
    assert trace.target is not None
    assert trace.target.text == "2025-06-03"


def wordy(seed: int) -> LanguageModel:
    return language_model(vaswani().model_copy(update={"tied_embeddings": False, "max_len": 8}), seed)


def test_logits_are_those_of_the_model(decoder: LanguageModel) -> None:
    logits = decoder.trace("abc").logits
    assert logits.shape == (1, 3, decoder.config.vocab_size)
    torch.testing.assert_close(logits, decoder.model(torch.tensor([[4, 5, 6]])).detach(), rtol=0, atol=1e-5)


def test_an_encoder_alone_has_no_logits_and_cannot_write() -> None:
    lm = language_model(bert())
    with pytest.raises(AtlasError, match="no logits"):
        _ = lm.trace("abc").logits
    with pytest.raises(AtlasError, match="Toy reads in both directions and cannot write"):
        lm.generate("abc")


def test_an_encoder_with_a_token_head_has_logits_for_each_place() -> None:
    lm = language_model(bert().model_copy(update={"encoder_head": TokenHead()}))
    assert lm.trace("abc").logits.shape == (1, 3, 20)
    with pytest.raises(AtlasError, match="Toy reads in both directions and cannot write"):
        lm.generate("abc")


def test_a_classifier_has_logits_of_classes_and_none_of_tokens() -> None:
    lm = language_model(bert().model_copy(update={"encoder_head": ClassHead(n_classes=3)}))
    trace = lm.trace("abc")
    assert trace["logits"].shape == (1, 3)
    assert trace.dims("logits") == ("batch", "class")
    with pytest.raises(AtlasError, match="the model predicts no tokens"):
        _ = trace.logits
    assert lm.parameters_by_part()["head"] == 3 * 16 + 3


@pytest.fixture
def looker() -> LanguageModel:
    """A classifier of images of 4 x 6 grey pixels."""
    cut = Patches(height=4, width=6, patch=2)
    return language_model(config(encoder=recipes.stack(), patches=cut, encoder_head=ClassHead(n_classes=3)))


def test_an_image_is_read_as_its_patches(looker: LanguageModel) -> None:
    image = np.linspace(0, 1, 24).reshape(4, 6)
    trace = looker.trace_image(image)
    assert [token.label for token in trace.tokens] == ["[CLS]", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]
    assert [token.special for token in trace.tokens] == [True] + [False] * 6
    assert list(trace.texts) == ["encoder"]
    assert trace["encoder.layers.0.self_attention.weights"].shape == (1, 4, 7, 7)
    pixels = torch.tensor(image[None, ..., None], dtype=torch.float32)
    torch.testing.assert_close(trace["logits"], looker.model(pixels).detach(), rtol=0, atol=1e-5)
    assert torch.equal(looker.trace_image(image[..., None].tolist())["logits"], trace["logits"])
    layer = looker.layer_trace(looker.trace_image(image, names="*.resid_pre"), "encoder", 1)
    name = "encoder.layers.1.self_attention.weights"
    torch.testing.assert_close(layer[name], trace[name])
    assert not looker.reads_pairs
    assert looker.parameters_by_part()["embedding"] == 4 * 16 + 16 + 16


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        ([[0.0] * 5] * 4, r"images must be of shape \(batch, 4, 6, 1\), not \(1, 4, 5, 1\)"),
        ([[0.0] * 6] * 3 + [[0.0]], "an image takes numbers, in rows of equal length"),
        ("a picture", "an image takes numbers"),
        ([[float("nan")] * 6] * 4, "images must be finite numbers"),
    ],
)
def test_what_is_no_image_is_refused(looker: LanguageModel, image: Any, sentence: str) -> None:
    with pytest.raises(AtlasError, match=sentence):
        looker.trace_image(image)


def test_texts_and_images_have_models_of_their_own(looker: LanguageModel, decoder: LanguageModel) -> None:
    with pytest.raises(AtlasError, match=r"^Toy reads images, not texts$"):
        looker.trace("abc")
    with pytest.raises(AtlasError, match=r"^Toy reads texts, not images$"):
        decoder.trace_image([[0.0]])


def test_only_an_encoder_decoder_takes_a_target(decoder: LanguageModel) -> None:
    with pytest.raises(AtlasError, match="only an encoder-decoder has a target"):
        decoder.trace("abc", "abc")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "nothing to read"),
        ("a" * 65, "this text has 65 tokens, more than the 64 that Toy can read"),
    ],
)
@every_assembly
def test_unreadable_texts_get_a_sentence(settings: TransformerConfig, text: str, sentence: str) -> None:
    with pytest.raises(AtlasError, match=sentence):
        language_model(settings).trace(text)


def test_a_target_may_be_empty_but_not_too_long(translator: LanguageModel) -> None:
    assert translator.trace("abc", "").ids == [1]
    with pytest.raises(AtlasError, match="65 tokens, more than the 64"):
        translator.trace("abc", "a" * 64)


def test_a_target_without_a_source_is_refused(translator: LanguageModel) -> None:
    with pytest.raises(AtlasError, match="nothing to read"):
        translator.trace("", "ab")


@pytest.mark.parametrize("text", ["   ", "\n\n", "\t", "\u00a0"])
def test_blanks_are_no_words(text: str) -> None:
    tokenizer = WordTokenizer(["the", "cat"])
    settings = llama().model_copy(update={"vocab_size": len(tokenizer)})
    lm = LanguageModel("toy", "Toy", settings, tokenizer, build(settings))
    with pytest.raises(AtlasError, match="nothing to read: type at least one word"):
        lm.trace(text)


def test_a_token_without_a_vector_is_named_with_its_place() -> None:
    lm = language_model(llama().model_copy(update={"vocab_size": 10}))
    with pytest.raises(AtlasError, match="token 15 at position 1 is not among the 10 tokens that Toy knows"):
        lm.trace("al")


@pytest.mark.parametrize("text", ["   ", "\n\n", "\u200b", "👍", "שלום", "<b>"])
@every_assembly
def test_strange_texts_are_read(settings: TransformerConfig, text: str) -> None:
    assert all(
        value.isfinite().all()
        for name, value in language_model(settings).trace(text).items()
        if name[-1] == "z"
    )


@every_assembly
def test_one_token_gives_one_by_one_matrices(settings: TransformerConfig) -> None:
    trace = language_model(settings).trace("a", "" if settings.assembly == "encoder-decoder" else None)
    for name, value in trace.items():
        if name.endswith(".weights"):
            assert value.tolist() == [[[[1.0]]] * 4]


@every_assembly
def test_a_layer_can_be_computed_again_to_the_bit(settings: TransformerConfig) -> None:
    lm = language_model(settings)
    target = "ba" if settings.assembly == "encoder-decoder" else None
    whole, little = (
        lm.trace("abcab", target),
        lm.trace("abcab", target, names=["*.resid_pre", "*.final_norm"]),
    )
    for stack, layers in settings.stacks.items():
        for layer in range(layers.n_layers):
            once, again = lm.layer_trace(whole, stack, layer), lm.layer_trace(little, stack, layer)
            assert set(once) == set(again) == {n for n in whole if n.startswith(f"{stack}.layers.{layer}.")}
            assert all(torch.equal(once[name], again[name]) for name in once)
            assert all(once.dims(name) == again.dims(name) for name in once)


@every_assembly
def test_a_long_text_keeps_what_grows_with_it_and_makes_the_rest_again(settings: TransformerConfig) -> None:
    lm = language_model(settings.model_copy(update={"max_len": 100}))
    trace = lm.trace(LONG, LONG if settings.assembly == "encoder-decoder" else None)
    assert not any({"query", "key"} <= set(trace.dims(name)) for name in trace)
    whole = lm.trace(LONG, LONG if settings.assembly == "encoder-decoder" else None, names="*")
    for stack in settings.stacks:
        layer = lm.layer_trace(trace, stack, 0)
        assert layer[f"{stack}.layers.0.self_attention.weights"].shape[-1] >= 70
        assert all(torch.equal(layer[name], whole[name]) for name in layer)


@pytest.mark.parametrize("tap", ["self_attention.z", "self_attention_residual.resid_pre"])
def test_an_edit_is_still_there_when_a_layer_is_computed_again(decoder: LanguageModel, tap: str) -> None:
    name = f"decoder.layers.1.{tap}"
    edits = {name: zero_head(2) if tap.endswith("z") else lambda value, _: value + 1}
    little = decoder.trace("abc", names="*.resid_pre", edits=edits)
    whole = decoder.trace("abc", edits=edits)
    again = decoder.layer_trace(little, "decoder", 1)
    assert all(torch.equal(again[n], whole[n]) for n in again)
    assert not torch.equal(whole.logits, decoder.trace("abc").logits)


def test_gradients_flow_when_asked_for(decoder: LanguageModel) -> None:
    trace = decoder.trace("abc", grad=True)
    weights = trace["decoder.layers.0.self_attention.weights"]
    (gradient,) = torch.autograd.grad(trace.logits[0, -1].max(), weights)
    assert gradient.abs().sum() > 0
    assert not decoder.trace("abc").logits.requires_grad


def test_frames_name_their_axes(decoder: LanguageModel) -> None:
    frame = decoder.trace("ab").frame("decoder.layers.0.self_attention.weights")
    assert list(frame.columns) == ["batch", "head", "query", "key", "value"]
    assert len(frame) == 1 * 4 * 2 * 2


def test_writing_stops_at_the_models_limit(decoder: LanguageModel) -> None:
    steps = list(decoder.steps("a" * 62, 10))
    assert (len(steps), steps[-1].stop) == (2, "full")
    assert decoder.generate("a" * 64) == ""


def test_writing_is_the_likeliest_token_each_time(decoder: LanguageModel) -> None:
    ids = [4, 5]
    for step in decoder.steps("ab", 4):
        logits = decoder.model(torch.tensor([ids]))[0, -1]
        assert int(step.ids) == int(logits.argmax())
        ids.append(int(step.ids))


def test_a_parameter_is_given_as_a_copy_and_by_its_name() -> None:
    lm = language_model(llama())
    before = lm.model.get_parameter("embedding.table.weight").clone()
    lm.parameter("embedding.table.weight")[0] = 5
    assert torch.equal(lm.model.get_parameter("embedding.table.weight"), before)
    with pytest.raises(AtlasError, match="has no parameter nope"):
        lm.parameter("nope")


@every_assembly
def test_parts_count_every_parameter_once(settings: TransformerConfig) -> None:
    lm = language_model(settings)
    parts = lm.parameters_by_part()
    assert sum(parts.values()) == sum(parameter.numel() for parameter in lm.model.parameters())
    assert parts["embedding"] == 20 * 16
    for stack in settings.stacks:
        assert {f"{stack}.self_attention", f"{stack}.feed_forward", f"{stack}.norms"} <= parts.keys()


def test_weights_are_replaced_in_a_copy(decoder: LanguageModel) -> None:
    name = "decoder.layers.0.self_attention.W_v.weight"
    before = decoder.trace("abc").logits
    edited = decoder.with_parameters({name: np.zeros((8, 16))})
    assert edited.trace("abc", names="*.0.self_attention.v")["decoder.layers.0.self_attention.v"].eq(0).all()
    assert torch.equal(decoder.trace("abc").logits, before)
    assert (edited.name, edited.config, edited.tokenizer) == (decoder.name, decoder.config, decoder.tokenizer)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"W_z": [1.0]}, "Toy has no parameter W_z"),
        ({"decoder.norm.weight": [1.0, 2.0]}, r"takes numbers of shape \(16,\), not of shape \(2,\)"),
        (
            {"decoder.norm.weight": [float("nan"), 1e300] + [1.0] * 14},
            "decoder.norm.weight takes numbers that are finite in float32, and 2 of these are not",
        ),
        ({"decoder.norm.weight": np.ones(16) * 1j}, "takes real numbers, and these are complex"),
        (
            {"decoder.norm.weight": torch.ones(16).to_sparse()},
            "must be a tensor that holds a number for each",
        ),
    ],
)
def test_only_fitting_weights_are_taken(
    decoder: LanguageModel, values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(AtlasError, match=sentence):
        decoder.with_parameters(values)


def test_a_model_that_is_shown_does_not_drop_out() -> None:
    lm = language_model(llama(dropout=0.5))
    assert not lm.model.training
    assert torch.equal(lm.trace("abc").logits, lm.trace("abc").logits)


def test_an_embedded_model_is_found_by_its_name(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(llama())
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "card.json").write_text("{}")
    monkeypatch.setattr(home, "EMBEDDED", tmp_path)
    from engine.training import model_folder

    opened = []

    def read(folder):
        opened.append(folder)
        return lm.config, copy.deepcopy(lm.model), lm.tokenizer, {"name": "toy", "title": "Toy"}

    monkeypatch.setattr(model_folder, "load_checkpoint", read)
    assert home.embedded() == ["toy"]
    for name in ("toy", tmp_path / "toy"):
        assert load(name).title == "Toy"
    assert opened == [tmp_path / "toy"] * 2


def test_a_name_that_is_nothing_gets_a_sentence() -> None:
    with pytest.raises(AtlasError, match="no-such-model"):
        load("no-such-model")


def test_a_layer_that_is_not_there_is_refused_with_the_last_one(decoder: LanguageModel) -> None:
    trace = decoder.trace("abc")
    for layer in (2, 5, -1):
        with pytest.raises(AtlasError, match=f"Toy has no layer {layer} in the decoder; the last one is 1"):
            decoder.layer_trace(trace, "decoder", layer)
    with pytest.raises(AtlasError, match="no stack called encoder; it has: decoder"):
        decoder.layer_trace(trace, "encoder", 0)


def test_a_layer_cannot_be_computed_from_nothing(decoder: LanguageModel, translator: LanguageModel) -> None:
    with pytest.raises(AtlasError, match=r"holds no decoder\.layers\.0\.self_attention_residual\.resid_pre"):
        decoder.layer_trace(decoder.trace("abc", names="logits"), "decoder", 0)
    with pytest.raises(AtlasError, match=r"holds no encoder\.final_norm"):
        translator.layer_trace(translator.trace("abc", "ab", names="*.resid_pre"), "decoder", 0)


@pytest.mark.parametrize("value", ["abc", [[1.0], [1.0, 2.0]], None, {"a": 1}, [["x"]], object()])
def test_weights_that_are_no_numbers_are_refused(decoder: LanguageModel, value: Any) -> None:
    with pytest.raises(AtlasError, match=r"^embedding\.table\.weight takes"):
        decoder.with_parameters({"embedding.table.weight": value})


def test_what_is_neither_name_nor_text_is_refused() -> None:
    """In a Python of its own: in this one, types are checked at every call."""
    code = (
        "import engine\n"
        "from engine.config import AtlasError\n"
        "lm = engine.load('pocket')\n"
        "for refuse in (engine.load, lm.trace, lm.encode, lm.generate):\n"
        "    try:\n"
        "        refuse(None)\n"
        "    except AtlasError as error:\n"
        "        print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["load takes a name or a path, not NoneType"] + 3 * [
        "a text is read, not NoneType"
    ]


def test_a_path_that_is_too_long_is_refused() -> None:
    with pytest.raises(AtlasError, match=r"cannot be read \(File name too long\)"):
        load("x" * 300)


def test_a_model_and_its_trace_are_one_line_of_a_notebook() -> None:
    lm = load("pocket")
    assert repr(lm) == "<LanguageModel Pocket: decoder-only, 192 parameters>"
    trace = lm.trace("the cat sat", names=["logits", "decoder.embed"])
    assert repr(trace) == "<TextTrace of 3 tokens: 2 values, 192 bytes>"
    dates = load("dates").trace("3 June", "2025", names=["logits"])
    assert repr(dates) == "<TextTrace of 6 tokens and 5 tokens: 1 values, 1,880 bytes>"
