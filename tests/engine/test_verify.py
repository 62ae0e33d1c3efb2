from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import (
    Alibi,
    ClassHead,
    EncoderHead,
    Learned,
    NoHead,
    NoPositions,
    Patches,
    Rope,
    Shaw,
    StackConfig,
    T5Buckets,
    TransformerConfig,
)
from engine.home import embedded
from engine.language_model import LanguageModel
from engine.model import stack as stacks
from engine.model.cache import KVCache
from engine.verify import Check, __main__, verify
from tests.engine.model.any_config import HEADS, VARIANTS, named
from tests.engine.recipes import ASSEMBLIES, bert, config, language_model, llama, part, stack


@pytest.mark.parametrize("settings", ASSEMBLIES.values(), ids=ASSEMBLIES)
@pytest.mark.parametrize("text", [None, "abcabc", "a"])
def test_sound_models_pass(settings: TransformerConfig, text: str | None) -> None:
    checks = verify(language_model(settings), text)
    assert [check for check in checks if not check.ok] == []
    assert len(checks) >= 7
    assert len({check.name for check in checks}) == len(checks)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_passes(variant: str) -> None:
    assembly = "decoder-only" if "parallel" in variant else "encoder-decoder"
    assert [check for check in verify(language_model(named(variant, assembly))) if not check.ok] == []


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_an_encoder_with_any_head_passes(head: EncoderHead) -> None:
    settings = bert().model_copy(update={"encoder_head": head})
    assert [check for check in verify(language_model(settings)) if not check.ok] == []


@pytest.mark.parametrize("positions", [Learned(), Rope(), Shaw()], ids=lambda p: p.scheme)
@pytest.mark.parametrize("head", [NoHead(), ClassHead(n_classes=3)], ids=lambda head: head.kind)
def test_a_model_that_reads_images_passes(head: EncoderHead, positions: Any) -> None:
    cut = Patches(height=4, width=4, patch=2, channels=2)
    settings = config(encoder=stack(positions=positions), encoder_head=head, patches=cut)
    checks = verify(language_model(settings))
    assert [check for check in checks if not check.ok] == []
    assert {check.name for check in checks} == {
        "listening changes nothing", "the fused and the explicit path agree", "hidden keys weigh nothing",
        "the heads add up to the output", SUM, STREAM, ADDED if positions.scheme == "learned" else SHIFT,
    }  # fmt: skip


SUM = "the weights of a query sum to 1"
LEAK = "a later token leaves earlier ones alone"
CACHE = "a cache of keys and values changes nothing"
STREAM = "the branches add up to the residual stream"
ADDED = "what a position adds is the same for every token"
SHIFT = "of positions only distances count"


@pytest.mark.parametrize(
    ("settings", "some"),
    [
        (config(encoder=stack()), {SUM, STREAM, ADDED}),
        (config(encoder=stack(placement="post", positions=Rope())), {SUM, SHIFT}),
        (config(encoder=stack(placement="deepnorm", core="relu", positions=Shaw())), {SHIFT}),
        (config(decoder=stack(placement="sandwich", positions=Learned())), {SUM, STREAM, ADDED, LEAK, CACHE}),
        (config(decoder=stack(parallel=True, positions=Alibi())), {SUM, STREAM, SHIFT, LEAK, CACHE}),
        (
            config(encoder=stack(core="relu", positions=T5Buckets()), decoder=stack(placement="post")),
            {SUM, STREAM, SHIFT, ADDED, LEAK, CACHE},
        ),
    ],
)
def test_each_model_is_held_to_what_applies_to_it(settings: TransformerConfig, some: set[str]) -> None:
    always = {
        "listening changes nothing", "the fused and the explicit path agree", "hidden keys weigh nothing",
        "the heads add up to the output", "padding changes nothing",
    }  # fmt: skip
    assert {check.name for check in verify(language_model(settings))} == always | some


def test_a_tiny_model_passes_too() -> None:
    stack = StackConfig(n_layers=1, n_heads=1, d_ff=1)
    lm = language_model(TransformerConfig(vocab_size=3, d_model=2, max_len=2, decoder=stack))
    assert all(check.ok for check in verify(lm))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_pass(dtype: torch.dtype) -> None:
    lm = language_model(llama())
    lm.model.to(dtype)
    assert all(check.ok for check in verify(lm))


# ── what is wrong is found ──────────────────────────────────────────────────────────────────────────────────


def failing(lm: LanguageModel) -> set[str]:
    return {check.name for check in verify(lm) if not check.ok}


def test_a_leak_of_the_future_is_found() -> None:
    lm = language_model(llama())
    part(lm.model, "decoder").masks = part(language_model(ASSEMBLIES["encoder-only"]).model, "encoder").masks
    assert failing(lm) == {LEAK, CACHE}  # which the cache cannot see


def test_heads_that_do_not_add_up_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(llama())
    attention = part(lm.model, "decoder.layers.0.self_attention")
    monkeypatch.setattr(attention.W_o, "forward", lambda z: z * 2)
    assert "the heads add up to the output" in failing(lm)


class Wrong:
    """A core whose weights are changed after the softmax."""

    fused = True

    def __init__(self, factor: float, extra: float) -> None:
        self.factor, self.extra = factor, extra

    def __call__(self, masked: Tensor) -> Tensor:
        return masked.softmax(-1) * self.factor + self.extra


@pytest.mark.parametrize(
    ("core", "found"),
    [(Wrong(1.01, 0), SUM), (Wrong(1, 1e-6), "hidden keys weigh nothing"), (Wrong(float("nan"), 0), SUM)],
)
def test_wrong_weights_are_found(core: Wrong, found: str) -> None:
    lm = language_model(llama())
    part(lm.model, "decoder.layers.1.self_attention").core = core
    assert found in failing(lm)


def test_padding_that_is_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "padded", lambda mask, real: mask)
    assert failing(language_model(bert())) == {"padding changes nothing"}


@pytest.mark.parametrize("pool", ["first", "mean"])
def test_padding_that_is_read_is_found_in_a_classifier(monkeypatch: pytest.MonkeyPatch, pool: Any) -> None:
    monkeypatch.setattr(stacks, "padded", lambda mask, real: mask)
    head = ClassHead(n_classes=3, pool=pool)
    assert failing(language_model(bert().model_copy(update={"encoder_head": head}))) == {
        "padding changes nothing"
    }


def test_a_cache_that_begins_at_0_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    place = KVCache.place

    def wrong(self: KVCache, x: Tensor, lengths: Tensor | None, limit: int | None = None) -> Any:
        at_q, at_k, real = place(self, x, lengths, limit)
        return at_q - at_q[:, :1], at_k, real

    monkeypatch.setattr(KVCache, "place", wrong)
    assert failing(language_model(config(decoder=stack(positions=Learned())))) == {CACHE}


def test_a_stream_that_is_not_the_sum_is_found() -> None:
    lm = language_model(llama())
    part(lm.model, "decoder.layers.0.feed_forward_residual").skip_scale = 0.9
    assert failing(lm) == {STREAM}


def test_a_position_that_is_not_added_is_found() -> None:
    lm = language_model(bert())
    part(lm.model, "encoder.positions").embed = lambda x, at: x * (1 + at[..., None])
    assert failing(lm) == {ADDED}


@pytest.mark.parametrize(
    "positions", [NoPositions(), Rope(), Shaw(), T5Buckets(), Alibi()], ids=lambda p: p.scheme
)
def test_a_place_that_counts_by_itself_is_found(positions: Any) -> None:
    lm = language_model(config(encoder=stack(positions=positions)))
    scheme = part(lm.model, "encoder.positions")
    scheme.turn = lambda at, like: (at[:, None, :, None].to(like.dtype),) * 2
    scheme.rotate = lambda x, turn: x * (1 + turn[0])
    assert failing(lm) == {SHIFT}


@pytest.mark.parametrize("layer", [0, 1])
def test_what_is_not_a_number_is_not_fine(layer: int) -> None:
    """Wherever it comes up: in a model without numbers only the exact and the local can still hold."""
    lm = language_model(llama())
    part(lm.model, f"decoder.layers.{layer}.self_attention_residual.pre").weight.data[0] = float("nan")
    assert failing(lm) >= {
        "the fused and the explicit path agree", "listening changes nothing", "padding changes nothing",
        "hidden keys weigh nothing", "the heads add up to the output", SUM, LEAK, CACHE, STREAM,
    }  # fmt: skip
    assert not Check("anything", float("nan"), 1.0).ok


# ── python -m engine.verify ─────────────────────────────────────────────────────────────────────────────────


def test_a_table_for_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["pocket"]) == 0
    title, head, *rows = capsys.readouterr().out.strip().splitlines()
    assert title == "Pocket"
    assert head.split() == ["check", "worst", "difference", "bound", "verdict"]
    assert [row.split()[-1] for row in rows] == ["holds"] * 10
    assert rows[0].split() == ["listening", "changes", "nothing", "0", "0", "holds"]


def test_without_a_name_every_model_that_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path))
    assert __main__.here() == embedded()
    monkeypatch.setattr(__main__, "status", lambda name: type("Status", (), {"present": name == "minilm-l6"}))
    assert __main__.here() == [*embedded(), "minilm-l6"]
    monkeypatch.setattr(__main__, "here", lambda: ["pocket", "pocket"])
    assert __main__.main([]) == 0
    assert capsys.readouterr().out.count("verdict") == 2


def test_one_failure_is_said_and_the_others_are_still_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Check("a", 2.0, 1.0), Check("b", 0.0, 0.0), Check("c", float("nan"), 1.0)]
    monkeypatch.setattr(__main__, "verify", lambda lm: found)
    monkeypatch.setattr(__main__, "here", lambda: ["nowhere", "pocket"])
    assert __main__.main([]) == 1
    said = capsys.readouterr()
    assert [row.split() for row in said.out.splitlines()[-3:]] == [
        ["a", "2.0e+00", "1.0e+00", "FAILS"], ["b", "0", "0", "holds"], ["c", "nan", "1.0e+00", "FAILS"],
    ]  # fmt: skip
    assert said.err.startswith("nowhere is neither a model of the catalogue")
