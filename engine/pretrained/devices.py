"""Where a model computes, and in which numbers: cpu, cuda or mps; float32, float16 or bfloat16."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine import room
from engine.config import AtlasError
from engine.errors import need_kind

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
WIDEST = 4  # bytes of a float32, as which a number passes on its way


@dataclass(frozen=True)
class Target:
    """A device that is here, and the type of number that the weights become there."""

    device: torch.device
    dtype: torch.dtype

    @property
    def usual(self) -> bool:
        return self.device.type == "cpu" and self.dtype == torch.float32

    def move(self, value: Tensor) -> Tensor:
        """A tensor of our own there: itself where it is one already."""
        return value.to(self.device, self.dtype)

    def copy(self, value: Tensor) -> Tensor:
        """A copy there: what is mapped may be written anew by whoever owns the file."""
        return value.to(self.device, self.dtype, copy=True, memory_format=torch.contiguous_format)

    def need(self, numbers: int, largest: int, what: str) -> None:
        """Raises AtlasError when so many numbers do not fit into the memory that is free.

        largest: how many the largest tensor has; on its way it is copied twice.
        """
        kept, passing = self.dtype.itemsize * numbers, 2 * WIDEST * largest
        if self.device.type == "cpu":
            room.need_memory(kept + passing, what)
            return
        room.need_memory(passing, what)
        if (free := _free(self.device)) < kept:
            raise AtlasError(
                "{what} needs {needed} of the memory of {device}, where {free} are free: choose another "
                "device, a shorter type of number or a smaller model.",
                what=what, needed=room.readable(kept), device=str(self.device), free=room.readable(free),
            )  # fmt: skip


def target(device: str | torch.device = "cpu", dtype: str | torch.dtype = "float32") -> Target:
    """The device and type of number of those names; raises AtlasError for one that is not there."""
    need_kind("device", device, str, torch.device)
    need_kind("dtype", dtype, str, torch.dtype)
    device, dtype = str(device), str(dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise AtlasError("A model computes in {known}, not in {dtype}.", known=", ".join(DTYPES), dtype=dtype)
    if device not in (here := available()):
        raise AtlasError(
            "There is no device {device} on this machine; it has {known}.",
            device=device, known=", ".join(here),
        )  # fmt: skip
    return Target(torch.device(device), DTYPES[dtype])


def available() -> list[str]:
    """The devices of this machine by name; "cuda" is the first of several."""
    cards = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return ["cpu", *["cuda"] * bool(cards), *cards, *["mps"] * torch.backends.mps.is_available()]


def _free(device: torch.device) -> int:
    """Bytes that can still be had on a device of its own memory."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
