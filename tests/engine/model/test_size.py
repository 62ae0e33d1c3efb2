from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from engine import room
from engine.config import (
    AtlasError,
    ClassHead,
    FeedForwardConfig,
    Learned,
    NormConfig,
    Patches,
    Shaw,
    StackConfig,
    T5Buckets,
    TransformerConfig,
)
from engine.model.build import build, build_empty
from engine.model.size import parameters
from tests.engine.model.any_config import ASSEMBLIES, VARIANTS, configs, named
from tests.engine.recipes import config, stack


def made(settings: TransformerConfig) -> int:
    return sum(weight.numel() for weight in build_empty(settings).parameters())


@given(configs())
def test_reckoned_as_many_as_made(settings: TransformerConfig) -> None:
    assert parameters(settings) == made(settings)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("assembly", ASSEMBLIES)
def test_of_every_variant(variant: str, assembly: str) -> None:
    assert parameters(named(variant, assembly)) == made(named(variant, assembly))


def test_of_images_and_classes() -> None:
    cut = Patches(height=4, width=6, patch=2, channels=3)
    settings = config(encoder=stack(), patches=cut, encoder_head=ClassHead(n_classes=3))
    assert parameters(settings) == made(settings)


def test_by_hand() -> None:
    """Five tokens of two numbers; one head of two: q, k, v and out; a gate of three; no norms, one bias a token."""
    decoder = StackConfig(
        n_layers=10, n_heads=1, d_ff=3, attention_bias=False, norm=NormConfig(kind="none"),
        feed_forward=FeedForwardConfig(kind="gated", bias=False),
    )  # fmt: skip
    settings = TransformerConfig(vocab_size=5, d_model=2, max_len=7, decoder=decoder, head_bias=True)
    assert parameters(settings) == 5 * 2 + 10 * (4 * 2 * 2 + 3 * 2 * 3) + 5


HUGE: dict[str, Callable[[], TransformerConfig]] = {
    "vocabulary": lambda: config(vocab_size=10**12, decoder=stack()),
    "width": lambda: config(d_model=10**9, decoder=stack()),
    "heads": lambda: config(decoder=stack(n_heads=10**12, d_k=10**15)),
    "reach": lambda: config(decoder=stack(positions=Shaw(reach=10**12))),
    "buckets": lambda: config(decoder=stack(positions=T5Buckets(buckets=4 * 10**12, farthest=10**13))),
    "positions": lambda: config(max_len=2**53 - 1, decoder=stack(positions=Learned())),
    "segments": lambda: config(encoder=stack(n_segments=10**12)),
    "classes": lambda: config(encoder=stack(), encoder_head=ClassHead(n_classes=10**12)),
    "hidden": lambda: config(decoder=stack(n_layers=4096, d_ff=2**53 - 1)),
    "pixels": lambda: config(
        max_len=2, encoder=stack(), patches=Patches(height=10**9, width=10**9, patch=10**9)
    ),
}


@pytest.mark.parametrize("make", HUGE.values(), ids=HUGE)
def test_what_no_memory_holds_is_refused_before_any_is_taken(make: Callable[[], TransformerConfig]) -> None:
    with pytest.raises(
        AtlasError, match=r"^this model has [\d.,e+]+ parameters, which take [\d.e+]+ TB of memory"
    ):
        build(make())


def test_the_limit_is_the_memory_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config(
        d_model=100,
        vocab_size=1000,
        decoder=stack(
            n_layers=1,
            feed_forward=FeedForwardConfig(kind="none"),
            norm=NormConfig(kind="none"),
            attention_bias=False,
        ),
    )
    needed = 4 * (1000 * 100 + 4 * 100 * 100)
    monkeypatch.setattr(room, "free_memory", lambda: needed)
    build(settings)
    monkeypatch.setattr(room, "free_memory", lambda: needed - 1)
    with pytest.raises(AtlasError) as refusal:
        build(settings)
    assert str(refusal.value) == (
        "this model has 140,000 parameters, which take 560 kB of memory, and 560 kB are free: make it smaller, or "
        "close other programs"
    )
    monkeypatch.setattr(room, "free_memory", lambda: None)  # a system that does not say
    build(settings)
