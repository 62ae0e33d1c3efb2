from __future__ import annotations

import pytest
import torch

from engine.config import StackConfig, TransformerConfig
from engine.verify import Check, verify
from tests.engine.recipes import ASSEMBLIES, language_model, llama, part


@pytest.mark.parametrize("settings", ASSEMBLIES.values(), ids=ASSEMBLIES)
@pytest.mark.parametrize("text", [None, "abcabc", "a"])
def test_sound_models_pass(settings: TransformerConfig, text: str | None) -> None:
    checks = verify(language_model(settings), text)
    assert [check for check in checks if not check.ok] == []
    assert len(checks) >= 6
    assert len({check.name for check in checks}) == len(checks)


def test_a_tiny_model_passes_too() -> None:
    stack = StackConfig(n_layers=1, n_heads=1, d_ff=1)
    lm = language_model(TransformerConfig(vocab_size=3, d_model=2, max_len=2, decoder=stack))
    assert all(check.ok for check in verify(lm))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_pass(dtype: torch.dtype) -> None:
    lm = language_model(llama())
    lm.model.to(dtype)
    assert all(check.ok for check in verify(lm))


def failing(lm) -> set[str]:
    return {check.name for check in verify(lm) if not check.ok}


def test_a_leak_of_the_future_is_found() -> None:
    lm = language_model(llama())
    part(lm.model, "decoder").mask = part(language_model(ASSEMBLIES["encoder-only"]).model, "encoder").mask
    assert failing(lm) == {"a later token leaves earlier ones alone"}


def test_heads_that_do_not_add_up_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(llama())
    attention = part(lm.model, "decoder.layers.0.self_attention")
    monkeypatch.setattr(attention.W_o, "forward", lambda z: z * 2)
    assert "the heads add up to the output" in failing(lm)


def test_what_is_not_a_number_is_not_fine() -> None:
    lm = language_model(llama())
    part(lm.model, "decoder.norm").weight.data[0] = float("nan")
    assert "the fused and the explicit path agree" in failing(lm)
    assert not Check("anything", float("nan"), 1.0).ok
