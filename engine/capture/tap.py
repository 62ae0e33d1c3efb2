"""Tap: a point of interest, which asks whether anybody listens."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.compiler import is_compiling

if TYPE_CHECKING:
    from engine.capture.listener import Listener

current: ContextVar[Listener | None] = ContextVar("listener", default=None)  # who listens in this thread
listeners: list[Listener] = []  # of all threads: while it is empty, a tap need not ask whose


class Tap:
    """A point of interest. `dims` names the axes of what passes, such as "batch head query key"."""

    def __init__(self, dims: str) -> None:
        self.dims = tuple(dims.split())
        self.name = ""  # its path in the model, given by name_taps

    def __call__(self, value: Tensor) -> Tensor:
        if not listeners or is_compiling():
            return value
        listener = current.get()
        return value if listener is None else listener.hear(self, value)


def name_taps(model: nn.Module) -> None:
    """Tell every tap of a model its path, `encoder.layers.0.self_attention.weights`. Once, after building."""
    for name, tap in taps(model).items():
        tap.name = name


def taps(model: nn.Module) -> dict[str, Tap]:
    """Every tap of a model by its path."""
    return {
        f"{path}.{attribute}".lstrip("."): value
        for path, module in model.named_modules()
        for attribute, value in vars(module).items()
        if isinstance(value, Tap)
    }


def listening() -> bool:
    """Whether a capture is open in this thread: then attention spells its chain out."""
    return bool(listeners) and not is_compiling() and current.get() is not None
