"""What stands in a slot that is empty: a function, since calling a module that does nothing takes a microsecond."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

Slot = Callable[[Tensor], Tensor]


def unchanged(x: Tensor) -> Tensor:
    return x


def dropout(p: float) -> Slot:
    """Zeros a share p of the numbers in training and scales the others up (Srivastava et al. 2014), if p is not 0."""
    return nn.Dropout(p) if p else unchanged
