"""The loss of a run: whether it fell at all, whether it leapt, and whether it was still falling at the end."""

from __future__ import annotations

import numpy as np

from engine.clinic.rules.finding import CLEARLY, NEAR, Finding, Told
from engine.config import AtlasError

# Steps after the warm-up: half of the run, but no fewer and no more. Induction leaps down at half of its steps.
SOON, LATE = 100, 500
HARDLY = 0.9  # of what guessing costs: a run that ended above it has learned next to nothing
OVER = ("finished", "stopped")
HIGH_RATE = 0.02  # Adam's; small models learned at up to 0.005, and stayed at chance from 0.03 on
HALF, BACK = 0.5, 0.9  # of what guessing costs: once below the one, no honest run came back above the other
STILL, NATS = 0.05, 0.02  # share, above the floor, and nats: how far one tenth lies below the one before
ENOUGH = 0.98  # of examples right: what goes on falling then is not missed


def stays_at_chance(told: Told) -> Finding | None:
    """No mean loss of NEAR steps in a row, nor a held-out one, lies clearly below what guessing costs."""
    training = told.config.training
    wait = training.warmup + min(max(SOON, training.steps // 2), LATE)
    share = HARDLY if told.status.state in OVER else CLEARLY
    if not told.guessing.known or told.last < wait or told.below(share):
        return None
    high = training.learning_rate >= HIGH_RATE
    return Finding(
        "stays_at_chance", "wrong",
        AtlasError(
            "At step {step} the loss is {loss}; guessing by frequency costs {cost} nats a token.",
            step=told.last, loss=f"{told.around(told.last):.3f}", cost=f"{told.guessing.cost:.3f}",
        ),
        "loss", told.last,
        AtlasError(
            "Looked for: a mean of {count} steps below {share} of what guessing costs, by step {late}. What guessing "
            "costs is counted over examples of the task.",
            count=NEAR, share=share, late=wait,
        ),
        ("learning_rate_too_high", "rate_never_assigned") if high else ("rate_never_assigned", "scores_not_scaled"),
    )  # fmt: skip


def diverged(told: Told) -> Finding | None:
    """The process refused a step, or a loss that is no number stands in the curves."""
    error = told.status.error
    refused = error is not None and {"step", "rate"} <= set(
        error.values
    )  # as engine.training.divergence says it
    lost = ~np.isfinite(told.losses)
    if not refused and not lost.any():
        return None
    step = int(error.values["step"]) if refused and error else int(told.steps[lost.argmax()])
    rate = f"{told.config.training.learning_rate:.2g}"
    return Finding(
        "diverged", "wrong",
        AtlasError("The run diverged at step {step}, at a learning rate of up to {rate}.", step=step, rate=rate),
        "loss", step,
        AtlasError("A run ends by itself where the loss is not a number, or ten times that of the first step."),
        ("learning_rate_too_high", "gradients_explode"),
    )  # fmt: skip


def leaps(told: Told) -> Finding | None:
    """What was learned was lost again: a mean loss far below chance, and later one near it."""
    if not told.guessing.known or len(told.losses) < 2 * NEAR:
        return None
    means = np.convolve(told.losses, np.full(NEAR, 1 / NEAR), mode="valid")
    low = np.minimum.accumulate(means)
    back = (low < HALF * told.guessing.cost) & (means > BACK * told.guessing.cost)
    if not back.any():
        return None
    at = int(back.argmax())
    return Finding(
        "leaps", "wrong",
        AtlasError(
            "The loss had fallen to {low} and came back to {loss} by step {step}: what was learned was lost again.",
            low=f"{low[at]:.3f}", loss=f"{means[at]:.3f}", step=int(told.steps[at + NEAR - 1]),
        ),
        "loss", int(told.steps[at + NEAR - 1]),
        AtlasError(
            "Looked for: means of {count} steps below {half} and then above {back} of what guessing costs.",
            count=NEAR, half=HALF, back=BACK,
        ),
        ("learning_rate_too_high", "gradients_explode"),
    )  # fmt: skip


def stopped_early(told: Told) -> Finding | None:
    """The run is over, and its last tenth was clearly better than the one before."""
    if told.status.state not in OVER or len(told.losses) < 2 * NEAR:
        return None
    tenth = max(NEAR, len(told.losses) // 10)
    before, at_last = (float(told.losses[-2 * tenth : -tenth].mean()), float(told.losses[-tenth:].mean()))
    exact = told.latest.get("exact")
    floor = smoothed_floor(told)
    fall = before - at_last
    if (exact is not None and exact >= ENOUGH) or fall < NATS or fall < STILL * (before - floor):
        return None
    return Finding(
        "stopped_early", "wrong",
        AtlasError(
            "The loss was still falling when the run ended at step {step}: {before} in the last tenth but one, "
            "{last} in the last.",
            step=told.last, before=f"{before:.3f}", last=f"{at_last:.3f}",
        ),
        "loss", told.last,
        AtlasError(
            "Looked for: a fall of more than {share} and {nats} nats from one tenth to the next; recipes that come "
            "along, at their ends, fall by less.",
            share=f"{STILL:.0%}", nats=NATS,
        ),
        ("five_epochs",),
    )  # fmt: skip


def smoothed_floor(told: Told) -> float:
    """The lowest loss there can be, in nats: the entropy of the smoothed labels (Szegedy et al. 2016)."""
    smoothing, classes = told.config.training.label_smoothing, classes_of(told)
    if not smoothing:
        return 0.0
    other = smoothing / classes
    right = 1 - smoothing + other
    return float(-right * np.log(right) - (classes - 1) * other * np.log(other))


def classes_of(told: Told) -> int:
    model = told.config.model
    head = model.encoder_head
    return head.n_classes if head.kind == "classes" else model.vocab_size
