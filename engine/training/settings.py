"""How to train: settings that travel as JSON. No torch here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from engine.config import AtlasError
from engine.settings import Count, Index, Positive, Settings

ScheduleName = Literal["cosine", "linear", "constant", "inverse_sqrt"]
Precision = Literal["fp32", "bf16", "fp16"]
Tune = Literal["whole", "head", "lora"]
DeviceName = Literal["auto", "cuda", "mps", "cpu"]
Examples = Annotated[int, Field(ge=1, le=1_000_000)]  # as many as are made at once


class TrainingSettings(Settings):
    """How to train. The optimizer is AdamW; dropout is a setting of the model.

    learning_rate: the highest; inverse_sqrt, the paper's schedule, reckons its own from d_model and warmup.
    warmup: steps; final_rate: share of the learning rate left at the end of cosine and linear.
    clip: bound of the norm of the whole gradient, None for none.
    accumulate: in how many parts a batch is read, so that one of them has to fit in memory.
    evaluate_every, details_every: steps between evaluations, and between looks at each layer's gradient; None: never.
    start_from: the folder of a trained model or run, or a snapshot, whose weights a run begins with.
    tune: what of them learns: the whole, the head alone, or low-rank updates of the matrices in lora_targets; beside
        these, whatever the trained model did not have.
    evaluate_count: held-out examples; patience: evaluations without a lower held-out loss after which a run ends.
    """

    steps: Count
    batch_size: Examples = 64
    learning_rate: Positive = 3e-3
    schedule: ScheduleName = "cosine"
    warmup: Index = 100
    final_rate: float = Field(default=0.05, ge=0, le=1)
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    weight_decay: float = Field(default=0.0, ge=0, le=1e30)
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.98, ge=0, lt=1)
    eps: Positive = 1e-9
    clip: Positive | None = 1.0
    accumulate: Count = 1
    precision: Precision = "fp32"
    compile: bool = False
    device: DeviceName = "auto"
    seed: Index = 0
    evaluate_every: Count | None = None
    evaluate_count: Examples = 100
    patience: Count | None = None
    details_every: Count | None = None

    start_from: str | None = None
    tune: Tune = "whole"
    lora_rank: Count = 4
    lora_alpha: Positive = 8.0
    lora_targets: tuple[str, ...] = ("W_q", "W_v")

    @model_validator(mode="after")
    def _fit_together(self) -> TrainingSettings:
        if self.accumulate > self.batch_size:
            raise AtlasError(
                "a batch of {batch_size} cannot be read in {parts} parts",
                batch_size=self.batch_size, parts=self.accumulate,
            )  # fmt: skip
        if self.patience is not None and self.evaluate_every is None:
            raise AtlasError(
                "patience counts evaluations, so evaluate_every must say how often they are made"
            )
        if self.tune != "whole" and self.start_from is None:
            raise AtlasError("tuning a part needs a trained model to go on from: start_from names its folder")
        return self
