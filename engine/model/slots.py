"""What stands in a slot that is empty: a function, since calling a module that does nothing takes a microsecond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from torch import Tensor, nn
from torch.compiler import is_compiling

Slot = Callable[[Tensor], Tensor]

_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


def unchanged(x: Tensor) -> Tensor:
    return x


def dropout(p: float) -> Slot:
    """What drops a share p of the numbers in training, if p is not 0."""
    return Dropout(p) if p else unchanged


class Dropout(nn.Module):
    """Zeros a share p of the numbers in training and scales the others up (Srivastava et al. 2014).

    nn.Dropout draws from the one generator that all threads share; this draws from that of `drawn_by`, where one is
    given.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        generator = None if is_compiling() else _generator.get()
        if generator is None or not self.training:
            return F.dropout(x, self.p, self.training)
        kept = torch.empty_like(x).bernoulli_(1 - self.p, generator=generator)
        return x * (kept / (1 - self.p) if self.p < 1 else kept)


@contextmanager
def drawn_by(generator: torch.Generator) -> Iterator[None]:
    """In this block, and in this thread, dropout draws from the generator."""
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)
