"""What held-out examples tell: learned by heart, or learned only as long as the right tokens are given."""

from __future__ import annotations

import math

import numpy as np

from engine.clinic.rules.finding import Finding, Told
from engine.config import AtlasError

HIGHER, MORE = 1.05, 0.05  # times the lowest, and nats: evaluations of a hundred examples differ by less
SINCE = 3  # evaluations after the lowest
GOOD = 0.9  # of tokens right
PART = 0.25  # of the whole answers that so many right tokens would make by chance


def overfits(told: Told) -> Finding | None:
    """The held-out loss has risen since its lowest while that of the batches fell."""
    held_out = told.over_evaluations("loss")
    if len(held_out) <= SINCE or not np.isfinite(held_out).all():
        return None
    at = int(held_out.argmin())
    since = held_out[at + 1 :]
    low, now = float(held_out[at]), float(held_out[-1])
    rises = len(since) >= SINCE and bool((since[-SINCE:] > max(HIGHER * low, low + MORE)).all())
    first, last = told.around(int(told.evaluated[at])), told.around(told.last)
    if not rises or not last < first:
        return None
    return Finding(
        "overfits", "wrong",
        AtlasError(
            "Held-out examples were read best at step {step}, with a loss of {low}; it is {now} by now, while that "
            "of the batches fell from {first} to {last}.",
            step=int(told.evaluated[at]), low=f"{low:.3f}", now=f"{now:.3f}", first=f"{first:.3f}", last=f"{last:.3f}",
        ),
        "held_out_loss", int(told.evaluated[at]),
        AtlasError(
            "Looked for: the latest {count} evaluations more than {share} and {nats} nats above the lowest.",
            count=SINCE, share=f"{HIGHER - 1:.0%}", nats=MORE,
        ),
        ("overfits",),
    )  # fmt: skip


def writes_badly(told: Told) -> Finding | None:
    """Given the right tokens it is right, by itself it is wrong: far more often than single mistakes would explain."""
    latest = told.latest
    accuracy, exact = latest.get("accuracy"), latest.get("exact")
    longest = told.guessing.longest
    if accuracy is None or exact is None or accuracy < GOOD or not longest:
        return None
    expected = math.pow(accuracy, longest)
    if exact >= PART * expected:
        return None
    step = int(told.evaluated[-1])
    return Finding(
        "writes_badly", "wrong",
        AtlasError(
            "At step {step}, {accuracy} of the tokens are right when the ones before are given, and {exact} of the "
            "answers when the model writes by itself; mistakes of single tokens would leave {expected}.",
            step=step, accuracy=f"{accuracy:.1%}", exact=f"{exact:.1%}", expected=f"{expected:.0%}",
        ),
        "exact", step,
        AtlasError(
            "Looked for: over {good} of the tokens right, and less than a quarter of what is expected of answers of "
            "{longest} tokens. Then a later token was seen, or the end was not learned.",
            good=f"{GOOD:.0%}", longest=longest,
        ),
        ("mask_compared_with_one", "end_never_scored", "target_not_shifted"),
    )  # fmt: skip
