from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from engine.config import (
    AtlasError,
    ClassHead,
    EncoderHead,
    Factors,
    FeedForwardConfig,
    Learned,
    Linear,
    Llama3,
    NoHead,
    NoPositions,
    NormConfig,
    Rope,
    Sinusoidal,
    StackConfig,
    T5Buckets,
    TokenHead,
    TransformerConfig,
)
from tests.engine.model.any_config import HEADS
from tests.engine.recipes import ASSEMBLIES, config, stack


@pytest.mark.parametrize(("name", "settings"), ASSEMBLIES.items())
def test_assembly_follows_from_the_stacks(name: str, settings: TransformerConfig) -> None:
    assert settings.assembly == name
    assert (
        list(settings.stacks)
        == {
            "encoder-only": ["encoder"],
            "decoder-only": ["decoder"],
            "encoder-decoder": ["encoder", "decoder"],
        }[name]
    )


@pytest.mark.parametrize("settings", ASSEMBLIES.values(), ids=ASSEMBLIES)
def test_json_gives_back_the_same(settings: TransformerConfig) -> None:
    assert TransformerConfig.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    "positions",
    [
        NoPositions(), Sinusoidal(base=100.0), Learned(), Rope(base=1e5),
        Rope(scaling=Factors(factors=(1.0, 2.7))),
    ],
)  # fmt: skip
def test_a_position_scheme_is_told_by_its_name(positions) -> None:
    settings = config(decoder=stack(positions=positions))
    assert TransformerConfig.from_json(settings.to_json()).stacks["decoder"].positions == positions


def test_some_layers_look_further_than_a_window() -> None:
    settings = config(decoder=stack(n_layers=4, window=2, full_layers=(1, 3)))
    assert settings.stacks["decoder"].windows == (2, None, 2, None)
    assert TransformerConfig.from_json(settings.to_json()) == settings
    assert stack(n_layers=2, window=5).windows == (5, 5)
    assert stack(n_layers=2).windows == (None, None)


def test_what_is_left_out_is_resolved() -> None:
    decoder = config(decoder=stack()).stacks["decoder"]
    assert (decoder.n_kv_heads, decoder.d_k) == (4, 4)


def test_d_k_may_differ_from_d_model_by_heads() -> None:
    decoder = config(d_model=20, decoder=stack(n_kv_heads=2, d_k=8, positions=Rope())).stacks["decoder"]
    assert (decoder.n_kv_heads, decoder.d_k) == (2, 8)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"d_model": 66, "decoder": stack(n_heads=8)}, "d_model 66 is not divisible by n_heads 8"),
        (
            {"decoder": stack(d_k=5, positions=Rope())},
            "rope turns pairs of numbers, so d_k must be even, not 5",
        ),
        (
            {"decoder": stack(d_k=4, positions=Rope(scaling=Factors(factors=(1, 2, 4))))},
            "rope turns 2 pairs of numbers and is given factors for 3",
        ),
        (
            {"decoder": stack(d_k=8, positions=Rope(scaling=Factors(factors=(1, 2, 4)), fraction=0.5))},
            "rope turns 2 pairs of numbers and is given factors for 3",
        ),
        ({}, "a model needs an encoder, a decoder, or both"),
        (
            {"encoder": stack(), "decoder": stack(), "encoder_head": TokenHead()},
            "only an encoder that stands alone has a head of its own, not one beside a decoder",
        ),
        (
            {"decoder": stack(), "encoder_head": ClassHead(n_classes=2)},
            "only an encoder that stands alone has a head of its own, not one beside a decoder",
        ),
        (
            {"encoder": stack(), "decoder": stack(parallel=True)},
            "a decoder that reads an encoder has no parallel sub-layers",
        ),
    ],
)
def test_the_impossible_is_refused_with_its_numbers(changes: dict, sentence: str) -> None:
    with pytest.raises(AtlasError) as refusal:
        config(**changes)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: stack(parallel=True, placement="post"),
            "parallel sub-layers share one stream and are built with Pre-Norm, not with post",
        ),
        (
            lambda: stack(n_layers=3, window=2, full_layers=(0, 3)),
            "full_layers names layer 3, and the last of 3 layers is 2",
        ),
        (
            lambda: stack(d_ff=0),
            "a feed-forward layer needs a d_ff of at least 1; without one, its kind is none",
        ),
        (lambda: Factors(factors=(1, float("inf"))), "factors.1 must be a finite number, not inf"),
        (lambda: Rope(base=float("inf")), "base must be a finite number, not inf"),
        (lambda: stack(scale=float("inf")), "scale must be a finite number, not inf"),
        (lambda: NormConfig(eps=float("inf")), "eps must be a finite number, not inf"),
        (lambda: Linear(factor=float("nan")), "factor must be a finite number, not nan"),
        (lambda: config(logit_scale=float("inf")), "logit_scale must be a finite number, not inf"),
        (lambda: Factors(factors=(1, 0)), "factors.1 must be at least 1e-30, not 0"),
        (lambda: Llama3(factor=8, low=4, high=4), "low 4.0 must be less than high 4.0"),
        (lambda: T5Buckets(buckets=32, farthest=16), "farthest 16 must exceed half of the 32 buckets"),
        (lambda: ClassHead(n_classes=1), "n_classes must be at least 2, not 1"),
        (lambda: T5Buckets(buckets=30), "buckets must be a multiple of 4, not 30"),
        (lambda: Rope(scaling=Linear(factor=0.5)), "factor must be at least 1.0, not 0.5"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(AtlasError) as refusal:
        make()
    assert str(refusal.value) == sentence


def test_what_is_left_out_follows_from_the_rest() -> None:
    plain = config(d_model=48, decoder=StackConfig(n_layers=1, n_heads=4)).stacks["decoder"]
    assert (plain.n_kv_heads, plain.d_k, plain.d_ff, plain.scale) == (4, 12, 192, 12**-0.5)
    gate = FeedForwardConfig(kind="gated", activation="silu")
    gated = config(d_model=48, decoder=StackConfig(n_layers=1, n_heads=4, feed_forward=gate)).stacks[
        "decoder"
    ]
    assert gated.d_ff == 128  # three matrices of 48 x 128 are as many numbers as two of 48 x 192


def test_without_a_feed_forward_layer_there_is_no_hidden_width() -> None:
    settings = config(decoder=stack(d_ff=32, feed_forward=FeedForwardConfig(kind="none")))
    assert settings.stacks["decoder"].d_ff == 0
    assert TransformerConfig.from_json(settings.to_json()) == settings


def test_shared_keys_must_divide_the_heads() -> None:
    with pytest.raises(AtlasError, match="n_heads 4 is not divisible by n_kv_heads 3"):
        stack(n_kv_heads=3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "not JSON"),
        ("[]", "must be a JSON object, not a list"),
        ('{"vocab_size": 0, "d_model": 4, "max_len": 4}', "vocab_size must be at least 1, not 0"),
        (
            '{"vocab_size": 5, "d_model": 4, "max_len": 4,"encoder": {"n_layers": 1,"n_heads": 3,"d_ff": 4}}',
            "d_model 4 is not divisible by n_heads 3",
        ),
        (
            '{"vocab_size": 5, "d_model": 4, "max_len": 4, "decoder": {"n_layers":1,"d_ff":4}}',
            "decoder.n_heads is missing",
        ),
        (
            '{"vocab_size": 5, "d_model": 4, "max_len": 4, "colour": "red"}',
            "there is no setting called colour",
        ),
    ],
)
def test_a_file_that_is_no_configuration_gets_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(AtlasError, match=sentence):
        TransformerConfig.from_json(text)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_head_is_told_by_its_kind(head: EncoderHead) -> None:
    settings = config(encoder=stack(), encoder_head=head)
    assert TransformerConfig.from_json(settings.to_json()) == settings


def test_what_was_written_before_there_were_heads_still_loads() -> None:
    text = (
        '{"vocab_size": 5, "d_model": 4, "max_len": 4, "encoder": {"n_layers": 1, "n_heads": 2, "d_ff": 4}}'
    )
    assert TransformerConfig.from_json(text).encoder_head == NoHead()


def test_an_unknown_scheme_is_refused_by_name() -> None:
    with pytest.raises(AtlasError, match="spiral"):
        StackConfig(n_layers=1, n_heads=1, d_ff=4, positions={"scheme": "spiral"})  # pyright: ignore


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        ASSEMBLIES["decoder-only"].d_model = 5


def test_an_error_can_be_said_in_another_language() -> None:
    error = AtlasError("{n} tokens, limit {limit}", n=9, limit=8)
    assert str(error) == "9 tokens, limit 8"
    assert error.template.format(**error.values) == str(error)


@pytest.mark.parametrize("module", ["engine", "engine.config", "engine.images", "engine.tokenizers"])
def test_importing_a_part_imports_no_torch(module: str) -> None:
    code = f"import sys, {module}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_resolve_lazily() -> None:
    import engine

    assert engine.TransformerConfig is TransformerConfig
    assert engine.load.__module__ == "engine.language_model"
    with pytest.raises(AttributeError, match="nothing"):
        engine.nothing  # noqa: B018
