"""The knowledge of the Clinic held against the metrics of a run: what may be wrong with it, by its own numbers.

finding    what a rule is given, and what it finds
guessing   what guessing costs, and how spread attention is that prefers nothing
loss       did it fall, did it leap, was it still falling
steps      learning rate, warm-up, gradients, clipping, the length of steps
held_out   learned by heart, or only with the right tokens given
attention  decided too early, or never
notes      what is no fault, and yet explains a curve

    told = Told(run.config, run.status, metrics, guessing(task, run.config.model))
    diagnose(told).findings

Thresholds stand beside their rules, each with where it is from. No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.clinic.rules import attention, held_out, loss, notes, steps
from engine.clinic.rules.finding import Finding, Rule, Told
from engine.clinic.rules.guessing import Guessing, guessing
from engine.config import N_

__all__ = ["RULES", "Diagnosis", "Finding", "Guessing", "Rule", "Told", "diagnose", "guessing"]

RULES = (
    Rule("diverged", N_("whether it diverged"), "steps", loss.diverged),
    Rule("rate_is_zero", N_("a learning rate of 0"), "steps", steps.rate_is_zero),
    Rule("no_warmup", N_("deep Post-Norm without warm-up"), "settings", steps.no_warmup),
    Rule("stays_at_chance", N_("the loss against guessing"), "steps", loss.stays_at_chance),
    Rule("leaps", N_("leaps of the loss"), "steps", loss.leaps),
    Rule("steps_out_of_scale", N_("the length of each layer's steps"), "layers", steps.steps_out_of_scale),
    Rule("gradient_leaps", N_("leaps of the gradient"), "steps", steps.gradient_leaps),
    Rule("always_clipped", N_("how often gradients are clipped"), "steps", steps.always_clipped),
    Rule("overfits", N_("held-out loss against that of the batches"), "evaluations", held_out.overfits),
    Rule("writes_badly", N_("what it writes by itself"), "evaluations", held_out.writes_badly),
    Rule("decided_early", N_("attention that decides too early"), "evaluations", attention.decided_early),
    Rule("prefers_nothing", N_("attention that prefers nothing"), "evaluations", attention.prefers_nothing),
    Rule("stopped_early", N_("whether it was still falling at the end"), "steps", loss.stopped_early),
    Rule("smoothing", N_("the floor of smoothed labels"), "steps", notes.smoothing),
    Rule("dropout", N_("dropout on data that never repeat"), "settings", notes.dropout),
)


@dataclass(frozen=True)
class Diagnosis:
    """findings: what is wrong first, then notes; looked: at what; waiting: what the run has no numbers for."""

    findings: tuple[Finding, ...]
    looked: tuple[str, ...]
    waiting: tuple[str, ...]

    @property
    def wrong(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.kind == "wrong")


def diagnose(told: Told) -> Diagnosis:
    """All rules that the run has numbers for."""
    ready = [rule for rule in RULES if rule.can_look(told)]
    found = [finding for rule in ready if (finding := rule.look(told)) is not None]
    return Diagnosis(
        tuple(sorted(found, key=lambda finding: finding.kind == "note")),
        tuple(rule.about for rule in ready),
        tuple(rule.about for rule in RULES if rule not in ready),
    )
