"""All cases, in the order in which a symptom lists them. A module is imported when its case is asked for."""

from __future__ import annotations

from importlib import import_module

from engine.clinic.case import Case
from engine.config import AtlasError

NAMES = (
    "mask_compared_with_one",
    "mask_times_infinity",
    "learning_rate_too_high",
    "no_warmup",
    "rate_never_assigned",
    "end_never_scored",
    "target_not_shifted",
    "padding_on_queries",
    "mask_compared_with_zero",
    "batch_taken_for_length",
    "memory_unmasked",
    "rate_without_width",
    "heads_not_transposed",
    "five_epochs",
    "mask_of_a_billion",
    "gradients_explode",
    "overfits",
    "scores_not_scaled",
    "no_final_norm",
    "embeddings_by_xavier",
    "table_left_behind",
    "lengths_asserted_equal",
    "dropout_at_inference",
    "greedy_repeats",
    "optimizer_not_restored",
    "no_cache",
    "quantized",
    "cost_of_length",
    "beyond_trained_length",
)  # fmt: skip


def case_named(name: str) -> Case:
    """Raises AtlasError when there is none of that name."""
    if name not in NAMES:
        raise AtlasError("The Clinic has no case {name}.", name=name)
    return import_module(f"{__name__}.{name}").CASE


def cases() -> list[Case]:
    return [case_named(name) for name in NAMES]
