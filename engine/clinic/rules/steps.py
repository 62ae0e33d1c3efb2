"""The steps that a run makes: how long they are, whether they begin too long, and what clipping does to them."""

from __future__ import annotations

import numpy as np

from engine.clinic.rules.finding import Finding, Told
from engine.config import AtlasError

FIRST = 20  # steps that are left out, since the first ones differ from all others
RISKY = 0.012  # layers times the rate: six at 0.002 were late, at 0.003 stuck; at 0.001 they learned
SHORT = 20  # steps of warm-up that are as good as none: a hundred were needed
LAYERS = 4  # from so many on: one layer learned at any rate without warm-up
OFTEN = 0.95  # of the latest steps
SAMPLE = 100  # steps, the latest
CLIPPED = 0.1  # to less than that share of itself, by the median; Digits learns well with a sixth
LEAP = 100.0  # times the median
FAR = 0.05  # of a layer's length in one step; recipes that come along: medians up to 0.007, single steps to 0.014
NEARLY_NONE = 1e-5  # medians of recipes: 0.0004 and more
USUAL = 1e-3  # a rule of thumb for one step's length over the weights', of large models


def rate_is_zero(told: Told) -> Finding | None:
    """Steps whose learning rate is exactly 0, and not only the last ones of a schedule that ends there."""
    rates = told.over_steps("learning_rate")
    zero = int((rates == 0).sum())
    if not zero or zero < len(rates) / 2:
        return None
    return Finding(
        "rate_is_zero", "wrong",
        AtlasError(
            "The learning rate is 0 in {count} of {all} steps: nothing is learned in them.",
            count=zero, all=len(rates),
        ),
        "learning_rate", int(told.steps[(rates == 0).argmax()]),
        AtlasError("Looked for: a rate of exactly 0 in half of the steps."),
        ("rate_never_assigned",),
    )  # fmt: skip


def no_warmup(told: Told) -> Finding | None:
    """A deep Post-Norm stack at a high rate from the start, as long as its loss is not clearly below chance."""
    training, stacks = told.config.training, told.config.model.stacks.values()
    depth = sum(stack.n_layers for stack in stacks if stack.placement == "post")
    risk = depth * training.learning_rate
    if depth < LAYERS or training.warmup >= SHORT or risk < RISKY or told.below_chance:
        return None
    return Finding(
        "no_warmup", "wrong",
        AtlasError(
            "{depth} Post-Norm layers begin at a learning rate of {rate} after {warmup} steps of warm-up; such "
            "stacks stay at chance.",
            depth=depth, rate=f"{training.learning_rate:.2g}", warmup=training.warmup,
        ),
        "learning_rate", 1,
        AtlasError(
            "Looked for: layers times the rate of {risk} or more and a warm-up under {short} steps, as measured on "
            "stacks of six and twelve layers.",
            risk=RISKY, short=SHORT,
        ),
        ("no_warmup",),
    )  # fmt: skip


def gradient_leaps(told: Told) -> Finding | None:
    """A gradient many times as large as is usual in this very run."""
    norms = told.over_steps("gradient_norm")[FIRST:]
    if len(norms) < FIRST or not np.isfinite(norms).any():
        return None
    usual, at = float(np.nanmedian(norms)), int(np.nanargmax(norms))
    if usual <= 0 or norms[at] < LEAP * usual:
        return None
    step = int(told.steps[FIRST + at])
    clip = told.config.training.clip
    return Finding(
        "gradient_leaps", "note" if clip else "wrong",
        AtlasError(
            "At step {step} the gradient has a norm of {norm}, {times} times the usual {usual}.",
            step=step, norm=f"{norms[at]:.3g}", times=f"{norms[at] / usual:.0f}", usual=f"{usual:.3g}",
        ),
        "gradient_norm", step,
        AtlasError(
            "Looked for: {times} times the median of the run, the first {first} steps left out. With clipping such a "
            "step is no longer than others.",
            times=f"{LEAP:.0f}", first=FIRST,
        ),
        ("gradients_explode",),
    )  # fmt: skip


def always_clipped(told: Told) -> Finding | None:
    """Nearly all of the latest steps are clipped, and to a small part of themselves."""
    clip = told.config.training.clip
    norms = told.over_steps("gradient_norm")[FIRST:][-SAMPLE:]
    if clip is None or len(norms) < SAMPLE or not np.isfinite(norms).all():
        return None
    share, usual = float((norms > clip).mean()), float(np.median(norms))
    if share < OFTEN or clip > CLIPPED * usual:
        return None
    return Finding(
        "always_clipped", "wrong",
        AtlasError(
            "{share} of the latest {count} steps are clipped: their gradients have a norm of {usual} by the median, "
            "and {clip} is left of it.",
            share=f"{share:.0%}", count=SAMPLE, usual=f"{usual:.3g}", clip=f"{clip:.3g}",
        ),
        "gradient_norm", told.last,
        AtlasError(
            "Looked for: {often} of the latest steps beyond the bound, and the bound below {part} of the median. "
            "Clipping is meant for rare steps.",
            often=f"{OFTEN:.0%}", part=CLIPPED,
        ),
        ("gradients_explode",),
    )  # fmt: skip


def steps_out_of_scale(told: Told) -> Finding | None:
    """One layer's weights are replaced, or do not move: how long a step is beside the weights, by the median."""
    looked = [record["update_ratios"] for record in told.metrics.steps if record.get("update_ratios")]
    layers = {
        layer: float(np.median([each[layer] for each in looked if layer in each])) for layer in looked[-1]
    }
    odd = {layer: ratio for layer, ratio in layers.items() if ratio > FAR or ratio < NEARLY_NONE}
    if not odd or len(looked) < 3:
        return None
    layer, ratio = max(odd.items(), key=lambda one: abs(np.log(max(one[1], 1e-12) / USUAL)))
    return Finding(
        "steps_out_of_scale", "wrong",
        AtlasError(
            "A step moves {layer} by {ratio} of the length of its weights, by the median of {count} steps; {usual} "
            "is usual.",
            layer=layer, ratio=f"{ratio:.2g}", count=len(looked), usual=USUAL,
        ),
        "update_ratios", told.last,
        AtlasError(
            "Looked for: more than {far}, or less than {none}. The usual is a rule of thumb; recipes that come along "
            "have medians from 0.0004 to 0.007.",
            far=FAR, none=f"{NEARLY_NONE:.0e}",
        ),
        ("learning_rate_too_high",) if ratio > FAR else ("rate_never_assigned",),
    )  # fmt: skip
