"""Dropout that depends on its seed alone, whatever else is drawn in this process meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from engine.model.slots import drawn_by


@contextmanager
def dropping(seed: int, device: torch.device, compiled: bool) -> Iterator[None]:
    """Dropout inside draws from a generator of its own.

    A compiled model knows only torch's: that is seeded for a moment, and then put back to where it was.
    """
    if not compiled:
        with drawn_by(torch.Generator(device).manual_seed(seed)):
            yield
        return
    cards = [torch.cuda.current_device()] if device.type == "cuda" else []
    with torch.random.fork_rng(cards):
        torch.manual_seed(seed)
        yield
