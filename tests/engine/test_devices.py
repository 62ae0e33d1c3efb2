"""A model computes where it is and in its own type of number, and what analyses get of it is numpy on the CPU.

There may be no second device here. Making `meta` the default one finds every tensor that is made without saying where:
it holds no numbers, and mixes with none that do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from engine.analysis.expected import expected_after
from engine.analysis.head_walk import walk_head
from engine.capture import as_numpy
from engine.config import Alibi, Shaw, T5Buckets, TransformerConfig
from engine.decoding import Sampling
from engine.language_model import LanguageModel
from engine.model.transformer import EncoderOnly
from engine.verify import verify
from tests.engine.recipes import ASSEMBLIES, bert, config, language_model, llama, stack

POSITIONS = {
    name: config(max_len=80, decoder=stack(positions=scheme))
    for name, scheme in {"alibi": Alibi(), "shaw": Shaw(reach=2), "t5": T5Buckets(buckets=4)}.items()
}
ALL = {name: made.model_copy(update={"max_len": 80}) for name, made in ASSEMBLIES.items()} | POSITIONS
LONG = "abcdefghij" * 7  # too long for a trace to keep its query-by-key taps
every_model = pytest.mark.parametrize("settings", ALL.values(), ids=ALL)


def everything(lm: LanguageModel) -> dict[str, Any]:
    """What each way to use a model gives, as numpy."""
    last, target = [*lm.config.stacks][-1], "ab" if len(lm.config.stacks) == 2 else None
    first, W_q = f"{last}.layers.0.self_attention", f"{last}.layers.0.self_attention.W_q.weight"
    short, long = lm.trace("abc", target), lm.trace(LONG, None if target is None else LONG)
    assert f"{first}.weights" not in long
    changed = lm.with_parameters({W_q: np.zeros(lm.parameter(W_q).shape)})
    found = {
        "trace": short.array(f"{last}.final_norm"),
        "again": lm.layer_trace(long, last, 0).array(f"{first}.weights"),
        "verified": [check.worst for check in verify(lm)],
        "silent": changed.trace("abc", target).array(f"{first}.q"),
    }
    if not isinstance(lm.model, EncoderOnly):
        drawn = Sampling(temperature=0.7, top_k=9, top_p=0.9, min_p=0.01, repetition_penalty=1.1)
        found["written"] = [int(step.ids) for step in lm.steps("abc", 4)]
        found["drawn"] = [int(step.ids) for step in lm.steps("abc", 4, drawn)]
        found["searched"] = [float(step.logits.sum()) for step in lm.search("abc", 3, beams=2)]
    return found


@every_model
def test_every_tensor_is_made_where_the_model_is(settings: TransformerConfig) -> None:
    lm = language_model(settings)
    expected = everything(lm)
    with torch.device("meta"):
        found = everything(lm)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    assert not found["silent"].any()


@every_model
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_gives_the_same_up_to_its_rounding(
    settings: TransformerConfig, dtype: torch.dtype
) -> None:
    lm, half = language_model(settings), language_model(settings)
    half.model.to(dtype)
    assert half.dtype == dtype
    expected, found = everything(lm), everything(half)
    heard = half.trace("abc", "ab" if len(half.config.stacks) == 2 else None)
    assert {value.dtype for value in heard.values()} == {dtype, torch.bool}
    assert found["trace"].dtype == np.float32
    worst = np.abs(found["trace"] - expected["trace"]).max() / np.abs(expected["trace"]).max()
    assert 0 < worst < 40 * torch.finfo(dtype).eps
    np.testing.assert_allclose(found["again"], expected["again"], atol=20 * torch.finfo(dtype).eps)
    assert all(check.ok for check in verify(half))


class Elsewhere(torch.Tensor):
    """A tensor of another device as far as numpy goes: it has to come to the CPU first."""

    def cpu(self, *_: Any) -> torch.Tensor:
        return self.as_subclass(torch.Tensor)

    def numpy(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert a tensor of this device to numpy")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("settings", "kind"), [(llama(), "masked"), (bert(), "self")])
def test_a_walk_reads_a_trace_of_any_device_and_type(
    settings: TransformerConfig, kind: str, dtype: torch.dtype
) -> None:
    lm = language_model(settings)
    lm.model.to(dtype)
    trace = lm.trace("abcabc")

    def walk() -> Any:
        return walk_head(lm, trace, kind=kind, layer=1, head=2, query=4, focus=1)

    here, ahead = walk(), expected_after(lm, trace, 4)
    trace._values = {name: value.as_subclass(Elsewhere) for name, value in trace.items()}
    for name, value in vars(here).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(walk(), name), value)
    assert here.matrix.dtype == np.float32
    assert here.z.dtype == here.shares.dtype == np.float64
    assert expected_after(lm, trace, 4) == ahead
    assert trace.frame(f"{here.place.path}.weights")["value"].dtype == np.float32


def test_numpy_gets_what_it_has_a_type_for() -> None:
    values = torch.tensor([1.5, -2.0], requires_grad=True)
    for dtype, expected in {
        torch.bfloat16: np.float32, torch.float16: np.float32, torch.float32: np.float32,
        torch.float64: np.float64, torch.int64: np.int64, torch.bool: np.bool_,
    }.items():  # fmt: skip
        assert as_numpy(values.to(dtype)).dtype == expected
    assert as_numpy(values.to(torch.bfloat16)).tolist() == [1.5, -2.0]
