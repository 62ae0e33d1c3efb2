"""One optimizer step: in parts or whole, in half precision, refused where it would spoil the weights, looked into."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import AtlasError
from engine.tokenizers import CharacterTokenizer, Tokenizer
from engine.training import divergence
from engine.training.arithmetic import DOUBLE_AFTER, Arithmetic
from engine.training.details import Look, layer_of
from engine.training.loop import Training, train
from engine.training.measure import evaluate, write
from engine.training.records import DivergedError, Evaluation
from engine.training.settings import TrainingSettings
from engine.training.tasks import exact
from tests.engine.training.copying import Copying, small

SHORT = {"steps": 12, "batch_size": 8, "warmup": 6, "seed": 5, "device": "cpu"}


def run_of(**settings: Any) -> Training:
    task = Copying()
    return train(small(task), task, TrainingSettings(**{**SHORT, **settings}))


def weights_of(run: Training) -> list[Tensor]:
    return [weight.detach().clone() for weight in run.model.parameters()]


# ── in parts ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("parts", [3, 8])  # 8 examples in 2, 3 and 3, or one by one
def test_a_batch_read_in_parts_is_one_batch(parts: int) -> None:
    """Their targets differ in length, so the mean of the parts' means would be another."""
    whole, parted = run_of(), run_of(accumulate=parts)
    for run in (whole, parted):
        run.model.double()
    for one, other in zip(whole, parted, strict=True):
        assert other.loss == pytest.approx(one.loss, abs=1e-10)
        assert other.gradient_norm == pytest.approx(one.gradient_norm, abs=1e-10)
        assert (other.accuracy, other.tokens) == (one.accuracy, one.tokens)
    torch.testing.assert_close(weights_of(parted), weights_of(whole), atol=1e-10, rtol=0)


def test_more_parts_than_examples_are_refused() -> None:
    with pytest.raises(AtlasError, match="a batch of 8 cannot be read in 9 parts"):
        run_of(accumulate=9)


# ── no clipping, another optimizer ──────────────────────────────────────────────────────────────────────────


def test_without_clip_the_gradient_stays() -> None:
    run = run_of(clip=None)
    record = next(run)
    left = torch.stack(
        [weight.grad.norm() for weight in run.trained.values() if weight.grad is not None]
    ).norm()
    assert left.item() == pytest.approx(record.gradient_norm, rel=1e-5)
    assert record.gradient_norm > 1.5


def test_the_first_step_of_adam_moves_every_weight_by_the_rate() -> None:
    """m / sqrt(v) is 1 after one step, whatever the gradient; weight decay takes its own share first."""
    run = run_of(warmup=0, learning_rate=0.01, schedule="constant", weight_decay=0.5, eps=1e-30)
    before = weights_of(run)
    next(run)
    for old, weight in zip(before, run.model.parameters(), strict=True):
        assert weight.grad is not None
        moved = old * (1 - 0.01 * 0.5) - 0.01 * weight.grad.sign()
        torch.testing.assert_close(weight.detach(), moved, atol=2e-6, rtol=0)


# ── refused ─────────────────────────────────────────────────────────────────────────────────────────────────


def spoilt(bad: float) -> Callable[..., Any]:
    return lambda module, into, out: (into[0] * bad, *into[1:])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_makes_no_step(bad: float) -> None:
    run = run_of()
    next(run)
    run.model.head.register_full_backward_hook(spoilt(bad))
    before, state = weights_of(run), copy.deepcopy(run.optimizer.moments)
    with pytest.raises(DivergedError, match="step 2 is not made, since its gradient is not finite"):
        next(run)
    assert run.step == 1
    assert all(torch.equal(old, new) for old, new in zip(before, weights_of(run), strict=True))
    assert str(run.optimizer.moments) == str(state)
    assert all(value.isfinite().all() for value in run.state().tensors.values())


def without_a_number(module: torch.nn.Module, given: Any, logits: Tensor) -> Tensor:
    return logits * math.nan


def test_a_loss_that_is_not_finite_makes_no_step() -> None:
    run = run_of()
    next(run)
    run.model.register_forward_hook(without_a_number)
    before = weights_of(run)
    with pytest.raises(DivergedError, match="step 2 is not made, since its loss is not a finite number"):
        next(run)
    assert all(torch.equal(old, new) for old, new in zip(before, weights_of(run), strict=True))


def test_a_first_loss_that_is_not_finite_leaves_a_state_that_json_can_hold() -> None:
    run = run_of()
    run.model.register_forward_hook(without_a_number)
    with pytest.raises(DivergedError, match="step 1 is not made"):
        next(run)
    assert json.loads(json.dumps(run.state().values, allow_nan=False))["step"] == 0


def test_a_loss_ten_times_the_first_has_diverged() -> None:
    assert divergence.limit(2.0, 13) == pytest.approx(25.649494)  # knowing nothing costs ln 13 = 2.565
    assert divergence.limit(30.0, 13) == 300.0
    divergence.refuse(7, loss=25.6, gradient_norm=1.0, rate=0.5, limit=25.65)
    with pytest.raises(DivergedError, match=r"step 7 .* grown to 25\.7, beyond 25\.6: .* below 0\.5"):
        divergence.refuse(7, loss=25.7, gradient_norm=1.0, rate=0.5, limit=25.65)


def test_a_rate_out_of_all_proportion_is_told_and_leaves_finite_weights() -> None:
    run = run_of(steps=200, learning_rate=100.0, warmup=0, schedule="constant", clip=None)
    with pytest.raises(DivergedError):
        list(run)
    assert 0 < run.step < 200
    assert all(weight.isfinite().all() for weight in weights_of(run))


# ── precision and device ────────────────────────────────────────────────────────────────────────────────────


def test_bf16_learns_in_fp32_weights() -> None:
    run, exact_run = run_of(precision="bf16"), run_of()
    halves, whole = list(run), list(exact_run)
    assert all(weight.dtype == torch.float32 for weight in run.model.parameters())
    assert halves[0].loss != whole[0].loss
    assert halves[-1].loss == pytest.approx(whole[-1].loss, rel=0.02)


def test_fp16_is_for_cuda_and_cuda_for_those_who_have_it() -> None:
    with pytest.raises(AtlasError, match="fp16 needs a cuda device; on cpu there are fp32 and bf16"):
        run_of(precision="fp16")
    if not torch.cuda.is_available():
        with pytest.raises(AtlasError, match="this machine cannot compute on cuda, only on"):
            run_of(device="cuda")


def overflows_above(scale: float, run: Training) -> Callable[[Tensor], Tensor]:
    """A gradient that is infinite while the loss is multiplied by more than `scale`."""
    return lambda gradient: gradient * (math.inf if run.arithmetic.scale > scale else 1)


def test_a_step_that_overflows_is_made_again_at_half_the_scale() -> None:
    """Scales are powers of two, so the step that is made at last is the very step without any."""
    scaled, plain = run_of(), run_of()
    scaled.arithmetic.scaled, scaled.arithmetic.scale = True, 2.0**16
    next(iter(scaled.model.parameters())).register_hook(overflows_above(2.0**10, scaled))
    assert list(scaled) == list(plain)
    assert scaled.arithmetic.scale == 2.0**10
    assert scaled.state().values["scale"] == 2.0**10


def test_a_gradient_that_overflows_at_every_scale_has_diverged() -> None:
    run = run_of()
    run.arithmetic.scaled, run.arithmetic.scale = True, 2.0**16
    next(iter(run.model.parameters())).register_hook(overflows_above(0.5, run))
    with pytest.raises(DivergedError, match="step 1 is not made"):
        next(run)


def test_the_scale_grows_again_after_many_good_steps() -> None:
    arithmetic = Arithmetic("fp16", torch.device("cuda"))
    assert arithmetic.halve()
    for _ in range(DOUBLE_AFTER - 1):
        arithmetic.went_well()
    assert arithmetic.scale == 2.0**15
    arithmetic.went_well()
    assert (arithmetic.scale, arithmetic.good) == (2.0**16, 0)


# ── looked into ─────────────────────────────────────────────────────────────────────────────────────────────


def test_layers_are_told_apart_by_name() -> None:
    assert layer_of("decoder.layers.12.self_attention.W_q.weight") == "decoder.layers.12"
    assert layer_of("embedding.table.weight") == "embedding"
    assert layer_of("encoder.norm.weight") == "encoder.norm"
    assert layer_of("decoder.positions.table.weight") == "decoder.positions"


def test_a_look_gives_each_layers_gradient_and_how_far_it_moves() -> None:
    weights = {
        "head.weight": torch.nn.Parameter(torch.tensor([3.0, 4.0])),
        "encoder.layers.0.x": torch.nn.Parameter(torch.tensor([0.0])),
        "encoder.layers.0.y": torch.nn.Parameter(torch.tensor([2.0])),
    }
    for name, gradient in {
        "head.weight": [0.6, 0.8],
        "encoder.layers.0.x": [5.0],
        "encoder.layers.0.y": [12.0],
    }.items():
        weights[name].grad = torch.tensor(gradient)
    look = Look(weights)
    with torch.no_grad():
        weights["head.weight"].add_(torch.tensor([0.3, 0.4]))
        weights["encoder.layers.0.x"].add_(1.0)
    assert look.gradient_norms == {"head": pytest.approx(1.0), "encoder.layers.0": pytest.approx(13.0)}
    assert look.update_ratios() == {"head": pytest.approx(0.1), "encoder.layers.0": pytest.approx(0.5)}


def test_details_come_when_they_are_due_and_agree_with_the_whole() -> None:
    records = list(run_of(steps=4, details_every=2))
    assert [record.gradient_norms is not None for record in records] == [False, True, False, True]
    norms, ratios = records[1].gradient_norms, records[1].update_ratios
    assert norms is not None
    assert ratios is not None
    assert norms.keys() == ratios.keys() == {
        "embedding", "encoder.norm", "encoder.layers.0", "decoder.norm", "decoder.layers.0",
    }  # fmt: skip
    assert math.hypot(*norms.values()) == pytest.approx(records[1].gradient_norm, rel=1e-5)
    assert all(0 < ratio < 0.1 for ratio in ratios.values())


# ── evaluated ───────────────────────────────────────────────────────────────────────────────────────────────


def test_evaluations_come_when_they_are_due_and_at_the_end() -> None:
    run = run_of(steps=7, evaluate_every=3, evaluate_count=10)
    records = list(run)
    assert [record.step for record in records if record.evaluation is not None] == [3, 6, 7]
    assert json.loads(json.dumps(asdict(records[-1]), allow_nan=False))["evaluation"]["samples"][0].keys() == {
        "source", "target", "written",
    }  # fmt: skip
    assert [record.loss for record in records] == [
        record.loss for record in run_of(steps=7)
    ]  # nothing else changes


def test_patience_ends_a_run_that_gets_no_better(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(steps=12, evaluate_every=2, evaluate_count=4, patience=2)
    held_out_losses = iter([3.0, 2.0, 2.5, 2.0])  # the last only equals the best

    def with_loss(*given: Any) -> Evaluation:
        return replace(evaluate(*given), loss=next(held_out_losses))

    monkeypatch.setattr("engine.training.loop.evaluate", with_loss)
    evaluations = [record.evaluation for record in run if record.evaluation]
    assert [found.best for found in evaluations] == [True, True, False, False]
    assert (run.step, run.finished, run.lowest) == (8, True, 2.0)
    later = run_of(steps=12, evaluate_every=2, evaluate_count=4, patience=2)
    later.resume(run.state())
    assert later.finished
    assert next(later, None) is None


def test_patience_needs_evaluations() -> None:
    with pytest.raises(AtlasError, match="patience counts evaluations"):
        run_of(patience=2)


# ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────


class OneIdForBoth(CharacterTokenizer):
    """The end has the id that filling has, as in GPT-2 and many others."""

    pad_id = eos_id = 0


class CopyingWithOneId(Copying):
    @cached_property
    def tokenizer(self) -> Tokenizer:
        return OneIdForBoth("abcdef")


def test_the_end_is_learned_where_it_looks_like_filling() -> None:
    """Leaving out labels by that id would leave out every end: nothing would stop."""
    task = CopyingWithOneId()
    settings = TrainingSettings(steps=300, batch_size=32, learning_rate=5e-3, warmup=30, device="cpu")
    run = train(small(task), task, settings)
    for _ in run:
        pass
    examples = task.suites(100)["held_out"]
    assert exact(examples, write(run.model, task, examples)) >= 0.97
