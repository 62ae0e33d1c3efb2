"""Where a run computes, and in which precision.

Weights, moments and losses are fp32 always. bf16 and fp16 are for what autocast gives them: the matrix products. fp16
ends at 65,504 and loses gradients below 6e-8, so there the loss is multiplied by a scale on the way back, and a step
whose gradients overflow is made again at half the scale (Micikevicius et al. 2018).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from engine.config import AtlasError
from engine.training.settings import DeviceName, Precision

FIRST_SCALE = 2.0**16
DOUBLE_AFTER = 2000  # steps without overflow
HALVES: dict[Precision, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}


def device_named(name: DeviceName) -> torch.device:
    """auto is the fastest there is. Raises AtlasError for one that this machine does not have."""
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    known = [device for device, there in here.items() if there]
    if name != "auto" and name not in known:
        raise AtlasError(
            "this machine cannot compute on {device}, only on {known}", device=name, known=", ".join(known)
        )
    return torch.device(known[0] if name == "auto" else name)


class Arithmetic:
    """How products are computed, and by what the loss is multiplied; `scale` is 1 but for fp16."""

    def __init__(self, precision: Precision, device: torch.device) -> None:
        if precision == "fp16" and device.type != "cuda":
            raise AtlasError(
                "fp16 needs a cuda device; on {device} there are fp32 and bf16", device=device.type
            )
        self.half, self.device = HALVES.get(precision), device.type
        self.scaled = precision == "fp16"
        self.scale = FIRST_SCALE if self.scaled else 1.0
        self.good = 0  # steps since the scale was last changed

    def autocast(self) -> AbstractContextManager[object]:
        return nullcontext() if self.half is None else torch.autocast(self.device, self.half)

    def unscale(self, gradients: list[Tensor]) -> None:
        if self.scaled:
            for gradient in gradients:
                gradient /= self.scale

    def halve(self) -> bool:
        """After an overflow: whether there was anything left to halve."""
        if self.scale <= 1:
            return False
        self.scale, self.good = self.scale / 2, 0
        return True

    def went_well(self) -> None:
        self.good += 1
        if self.scaled and self.good == DOUBLE_AFTER:
            self.scale, self.good = self.scale * 2, 0
