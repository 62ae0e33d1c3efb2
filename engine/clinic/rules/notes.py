"""What is no fault, and yet explains a curve: the floor of smoothed labels, and dropout on data that never repeat."""

from __future__ import annotations

from engine.clinic.rules.finding import Finding, Told
from engine.clinic.rules.loss import classes_of, smoothed_floor
from engine.config import AtlasError

ENDLESS = ("copy", "reverse", "sort", "recall", "induction")  # drawn anew each time, and hardly ever twice


def smoothing(told: Told) -> Finding | None:
    """The loss of the batches cannot reach 0."""
    training = told.config.training
    if not training.label_smoothing:
        return None
    return Finding(
        "smoothing", "note",
        AtlasError(
            "With a label smoothing of {smoothing} over {classes} classes the loss of the batches cannot fall below "
            "{floor}; it is {loss} at step {step}. Held-out losses have no such floor.",
            smoothing=f"{training.label_smoothing:g}", classes=classes_of(told), floor=f"{smoothed_floor(told):.3f}",
            loss=f"{told.around(told.last):.3f}", step=told.last,
        ),
        "loss", told.last,
        AtlasError("The floor is the entropy of the smoothed labels."),
    )  # fmt: skip


def dropout(told: Told) -> Finding | None:
    """On data that never repeat there is nothing to learn by heart."""
    rate = max(stack.dropout for stack in told.config.model.stacks.values())
    if not rate or told.config.task["name"] not in ENDLESS:
        return None
    return Finding(
        "dropout", "note",
        AtlasError(
            "A dropout of {rate} only slows this run: its examples are drawn anew at each step, so nothing can be "
            "learned by heart.",
            rate=f"{rate:g}",
        ),
        "loss", told.last,
        AtlasError(
            "Measured on Reverse after 900 steps: all right without dropout, 84 % and 97 % in two runs at 0.1, 17 % "
            "and 18 % at 0.3."
        ),
        ("overfits",),
    )  # fmt: skip
