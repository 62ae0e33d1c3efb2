"""Each rule on curves made up by hand: what it says, where it draws its line, and what it lets pass."""

from __future__ import annotations

import ast
import inspect
import math

import pytest

from engine.clinic.cases import NAMES
from engine.clinic.rules import (
    RULES,
    Finding,
    Guessing,
    Told,
    attention,
    diagnose,
    guessing,
    held_out,
    loss,
    notes,
    steps,
)
from engine.clinic.rules.attention import decided_early, in_share, prefers_nothing
from engine.clinic.rules.held_out import overfits, writes_badly
from engine.clinic.rules.loss import diverged, leaps, smoothed_floor, stays_at_chance, stopped_early
from engine.clinic.rules.notes import dropout, smoothing
from engine.clinic.rules.steps import (
    always_clipped,
    gradient_leaps,
    no_warmup,
    rate_is_zero,
    steps_out_of_scale,
)
from engine.config import AtlasError
from engine.training.runs.metrics import Metrics
from engine.training.runs.status import Sentence, Status
from engine.training.tasks import task_named
from tests.engine.clinic.telling import config, recorded, told

CROSS, OWN = "decoder.layers.0.cross_attention", "decoder.layers.0.self_attention"


def the(finding: Finding | None) -> Finding:
    assert finding is not None
    return finding


def test_a_loss_that_never_falls_below_guessing() -> None:
    found = the(stays_at_chance(told([3.1] * 500)))
    assert str(found.said) == (
        "At step 500 the loss is 3.100; guessing by frequency costs 3.000 nats a token."
    )
    assert (found.curve, found.step) == ("loss", 500)
    assert stays_at_chance(told([3.1] * 499)) is None  # half of its steps may pass first
    assert stays_at_chance(told([3.1] * 500 + [2.9] * 20)) is None  # 2.9 < 0.97 * 3.0
    assert stays_at_chance(told([3.1] * 500 + [2.92] * 20)) is not None
    assert stays_at_chance(told([3.1] * 500, guessing=Guessing())) is None
    done = Status(state="finished")
    assert stays_at_chance(told([3.1] * 500 + [2.72] * 20, status=done)) is not None  # 2.72 > 0.9 * 3.0
    assert stays_at_chance(told([3.1] * 500 + [2.68] * 20, status=done)) is None
    assert stays_at_chance(told([3.1] * 500, [(100, {"loss": 2.0})])) is None


def test_a_high_rate_is_named_first_where_the_loss_stays() -> None:
    run = config(learning_rate=0.3, steps=200)
    assert the(stays_at_chance(told([3.1] * 150, run=run))).cases[0] == "learning_rate_too_high"
    assert "learning_rate_too_high" not in the(stays_at_chance(told([3.1] * 500))).cases


def test_a_run_that_diverged_says_so_whether_refused_or_recorded() -> None:
    refused = AtlasError("step {step} is not made at {rate}", step=41, rate="0.003")
    failed = Status(state="failed", error=Sentence.of(refused))
    assert the(diverged(told([3.0] * 40, status=failed))).step == 41
    assert the(diverged(told([3.0, 2.0, math.nan]))).step == 3
    full = Status(state="failed", error=Sentence(template="The disk is full."))
    assert diverged(told([3.0] * 40, status=full)) is None


def test_what_was_learned_and_lost_again() -> None:
    found = the(leaps(told([1.0] * 30 + [3.0] * 30)))
    assert found.step == 48  # the mean of steps 29 to 48 is (2 * 1 + 18 * 3) / 20 = 2.8, and 2.7 before
    assert "fallen to 1.000 and came back to 2.800 by step 48" in str(found.said)
    assert leaps(told([1.0] * 30 + [2.6] * 30)) is None
    assert leaps(told([1.6] * 30 + [3.0] * 30)) is None


def test_a_run_that_ended_while_its_loss_still_fell() -> None:
    falling = [3.0 - step / 200 for step in range(400)]  # 0.2 a tenth
    done = Status(state="finished")
    found = the(stopped_early(told(falling, status=done)))
    assert "1.302 in the last tenth but one, 1.103 in the last" in str(found.said)
    assert stopped_early(told(falling)) is None  # still at work
    assert stopped_early(told(falling, [(400, {"exact": 0.99})], status=done)) is None
    assert stopped_early(told([1.0] * 400, status=done)) is None


def test_what_smoothed_labels_cannot_fall_below() -> None:
    run = config(label_smoothing=0.1)  # 24 classes: 0.904167 for the right one, 0.0041667 for each other
    expected = -0.904167 * math.log(0.904167) - 23 * 0.0041667 * math.log(0.0041667)
    assert smoothed_floor(told(run=run)) == pytest.approx(expected, abs=1e-4)
    assert smoothed_floor(told()) == 0.0
    found = the(smoothing(told([0.7] * 30, run=run)))
    assert "cannot fall below 0.616; it is 0.700 at step 30" in str(found.said)
    assert found.kind == "note"
    assert smoothing(told([0.7] * 30)) is None
    done = Status(state="finished")
    near = [0.70] * 20 + [0.67] * 20  # a third of what is left above the floor
    assert stopped_early(told(near, run=run, status=done)) is not None
    assert stopped_early(told(near, status=done)) is None


def test_a_rate_of_zero() -> None:
    assert "0 in 4 of 4 steps" in str(the(rate_is_zero(told([3.0] * 4, learning_rate=[0.0] * 4))).said)
    assert rate_is_zero(told([3.0] * 4, learning_rate=[1e-3, 1e-3, 1e-3, 0.0])) is None
    assert rate_is_zero(told()) is None


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"layers": 3, "placement": "post", "learning_rate": 2e-3}, True),  # 6 layers in both stacks
        ({"layers": 3, "placement": "post", "learning_rate": 1e-3}, False),
        ({"layers": 3, "placement": "post", "learning_rate": 2e-3, "warmup": 20}, False),
        ({"layers": 3, "placement": "pre", "learning_rate": 2e-3}, False),
        ({"layers": 1, "placement": "post", "learning_rate": 8e-3}, False),
    ],
)
def test_deep_post_norm_without_warm_up(settings: dict, found: bool) -> None:
    assert (no_warmup(told([3.1] * 5, run=config(**settings))) is not None) is found


def test_deep_post_norm_that_learns_is_left_in_peace() -> None:
    run = config(layers=3, placement="post", learning_rate=2e-3)
    assert no_warmup(told([2.0] * 20, run=run)) is None


def test_a_gradient_that_leaps() -> None:
    norms = [0.5] * 40 + [60.0] + [0.5] * 9
    found = the(gradient_leaps(told([1.0] * 50, gradient_norm=norms)))
    assert str(found.said) == "At step 41 the gradient has a norm of 60, 120 times the usual 0.5."
    assert found.kind == "note"  # the run is clipped
    assert the(gradient_leaps(told([1.0] * 50, run=config(clip=None), gradient_norm=norms))).kind == "wrong"
    assert gradient_leaps(told([1.0] * 50, gradient_norm=[60.0] + [0.5] * 49)) is None  # one of the first
    assert gradient_leaps(told([1.0] * 50, gradient_norm=[0.5] * 40 + [40.0] * 10)) is None


def test_clipping_that_never_rests() -> None:
    found = the(always_clipped(told([1.0] * 120, gradient_norm=[12.0] * 120)))
    assert str(found.said) == (
        "100% of the latest 100 steps are clipped: their gradients have a norm of 12 by the median, and 1 is left of "
        "it."
    )
    assert always_clipped(told([1.0] * 120, gradient_norm=[9.0] * 120)) is None  # a ninth is left
    assert always_clipped(told([1.0] * 119, gradient_norm=[12.0] * 119)) is None
    assert always_clipped(told([1.0] * 120, gradient_norm=[12.0] * 113 + [0.5] * 7)) is None
    assert always_clipped(told([1.0] * 120, run=config(clip=None), gradient_norm=[12.0] * 120)) is None


def test_steps_that_replace_the_weights_or_leave_them() -> None:
    def ratios(first: float) -> list[dict[str, float]]:
        return [{"embedding": 1e-3, "decoder.layers.0": first}] * 3

    found = the(steps_out_of_scale(told([1.0] * 3, update_ratios=ratios(0.2))))
    assert "moves decoder.layers.0 by 0.2 of the length" in str(found.said)
    assert found.cases == ("learning_rate_too_high",)
    assert the(steps_out_of_scale(told([1.0] * 3, update_ratios=ratios(0.0)))).cases == (
        "rate_never_assigned",
    )
    assert steps_out_of_scale(told([1.0] * 3, update_ratios=ratios(0.04))) is None
    assert steps_out_of_scale(told([1.0] * 2, update_ratios=ratios(0.2))) is None


def test_learned_by_heart() -> None:
    batches = [2.0] * 100 + [0.5] * 300
    held_out = [(100, {"loss": 1.0}), (200, {"loss": 1.06}), (300, {"loss": 1.2}), (400, {"loss": 1.4})]
    found = the(overfits(told(batches, held_out)))
    assert found.step == 100
    assert "step 100, with a loss of 1.000; it is 1.400 by now" in str(found.said)
    assert "fell from 2.000 to 0.500" in str(found.said)
    assert overfits(told(batches, held_out[:3])) is None
    assert overfits(told(batches, [*held_out[:3], (400, {"loss": 1.04})])) is None
    assert overfits(told([0.5] * 400, held_out)) is None  # the batches became no easier
    tiny = [(step, {"loss": loss}) for step, loss in ((100, 0.01), (200, 0.05), (300, 0.05), (400, 0.05))]
    assert overfits(told(batches, tiny)) is None


def test_right_only_as_long_as_the_right_tokens_are_given() -> None:
    def at(accuracy: float, exact: float, longest: int = 10) -> Finding | None:
        latest = [(50, {"accuracy": accuracy, "exact": exact})]
        return writes_badly(told([1.0] * 50, latest, guessing=Guessing(longest=longest)))

    found = the(at(0.95, 0.1))  # 0.95 ** 10 = 0.599
    assert "95.0% of the tokens" in str(found.said)
    assert "would leave 60%" in str(found.said)
    assert at(0.95, 0.15) is None  # a quarter of 0.599
    assert at(0.89, 0.0) is None
    assert at(0.95, 0.1, longest=0) is None  # nothing is written
    assert at(1.0, 0.003) is not None


def test_attention_that_decides_before_anything_is_learned() -> None:
    def at(losses: list[float], cross: float, own: float) -> Finding | None:
        entropy = {CROSS: [cross, cross], OWN: [own]}
        latest = [(len(losses), {"loss": losses[-1], "entropy": entropy})]
        return decided_early(told(losses, latest)) or prefers_nothing(told(losses, latest))

    once = told([3.0], [(1, {"entropy": {CROSS: [1.0, 2.0], OWN: [0.75]}})])
    assert in_share(once, 0) == {CROSS: 0.75, OWN: 0.5}
    found = the(at([3.1] * 50, 0.2, 1.5))
    assert found.rule == "decided_early"
    assert f"the heads of {CROSS} looked at hardly more than one key each, with 10%" in str(found.said)
    assert at([3.1] * 50, 0.4, 1.5) is None
    assert at([1.0] * 50, 0.2, 1.5) is None  # what has learned may well look at one key
    assert the(at([3.1] * 200, 1.99, 1.49)).rule == "prefers_nothing"
    assert at([3.1] * 199, 1.99, 1.49) is None
    assert at([3.1] * 200, 1.99, 1.4) is None


def test_dropout_on_data_that_never_repeat() -> None:
    assert the(dropout(told(run=config(dropout=0.1)))).kind == "note"
    assert dropout(told(run=config("digits", dropout=0.1))) is None
    assert dropout(told()) is None


def test_a_diagnosis_says_what_it_looked_at_and_what_it_waits_for() -> None:
    empty = diagnose(told())
    assert empty.findings == ()
    assert empty.looked == ("deep Post-Norm without warm-up", "dropout on data that never repeat")
    assert len(empty.waiting) == len(RULES) - 2
    run = config(label_smoothing=0.1, steps=300)
    found = diagnose(told([3.1] * 150, [(150, {"loss": 3.0})], run=run, update_ratios=[{"head": 1e-3}] * 150))
    assert [finding.rule for finding in found.findings] == [
        "stays_at_chance",
        "smoothing",
    ]  # what is wrong first
    assert [finding.rule for finding in found.wrong] == ["stays_at_chance"]
    assert found.waiting == ()


def test_every_case_that_a_rule_leads_to_is_there() -> None:
    named = set()
    for module in (attention, held_out, loss, notes, steps):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Finding", "_found") and node.args:
                named |= {one.value for one in ast.walk(node.args[-1]) if isinstance(one, ast.Constant)}
    assert {one for one in named if isinstance(one, str) and one.isidentifier()} <= set(NAMES)


@pytest.mark.parametrize("name", ["reverse", "recall", "digits", "addition", "sentiment"])
def test_runs_of_the_presets_give_no_alarm_at_any_time(name: str) -> None:
    settings, metrics = recorded(name)
    task = task_named(**settings.task)
    chance = guessing(task, settings.model)
    for until in (20, 60, 100, 150, 200, 300, 400, 500, 700, 900, 1200):
        early = Metrics(metrics.path)
        early.steps = [one for one in metrics.steps if one["step"] <= until]
        early.evaluations = [one for one in metrics.evaluations if one["step"] <= until]
        found = diagnose(Told(settings, Status(state="running"), early, chance))
        assert [str(finding.said) for finding in found.wrong] == []
    done = diagnose(Told(settings, Status(state="finished"), metrics, chance))
    assert [str(finding.said) for finding in done.wrong] == []
    assert done.waiting == ()


def test_a_preset_that_had_learned_nothing_by_then_is_told_so() -> None:
    settings, metrics = recorded("induction")
    chance = guessing(task_named(**settings.task), settings.model)
    metrics.steps = [one for one in metrics.steps if one["step"] <= 300]
    metrics.evaluations = [one for one in metrics.evaluations if one["step"] <= 300]
    found = diagnose(Told(settings, Status(state="running"), metrics, chance))
    assert [finding.rule for finding in found.wrong] == ["stays_at_chance"]


def test_what_guessing_costs_is_the_entropy_of_the_labels() -> None:
    settings, _ = recorded("digits")
    ten = guessing(task_named("digits"), settings.model)
    assert ten.cost == pytest.approx(math.log(10), abs=0.05)  # ten digits, about as often
    assert ten.uniform == {"encoder": pytest.approx(math.log(17))}  # 16 patches and the one for all
    assert ten.longest == 0
    settings, _ = recorded("reverse")
    letters = guessing(task_named("reverse"), settings.model)
    # one token of nine is the end, on average; the others are 20 letters, as often
    assert letters.cost == pytest.approx(math.log(9) / 9 + 8 / 9 * math.log(20 * 9 / 8), abs=0.03)
    assert letters.longest == 13
    lengths = range(4, 13)  # of sources, evenly drawn: a longer one counts more often
    expected = sum(n * math.log(n) for n in lengths) / sum(lengths)
    assert letters.uniform["encoder"] == pytest.approx(expected, abs=0.05)
