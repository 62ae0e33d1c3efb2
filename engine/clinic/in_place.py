"""A listing in the place of a model's own softmax, so that the whole model runs on its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch

from jaxtyping import Float
from torch import Tensor, nn

from engine.capture import Edit, Trace, capture, taps

Weigh = Callable[[Float[Tensor, "batch head query key"]], Float[Tensor, "batch head query key"]]


@contextmanager
def weighed_by(model: nn.Module, attention: str, weigh: Weigh) -> Iterator[Trace]:
    """Attention whose path fits the glob takes its weights from `weigh`, which gets the scores, scaled, none hidden.

    The trace holds both of the last run, with their gradients' graph: a model can be trained in here.
    """
    paths = [name.removesuffix(".weights") for name in taps(model) if fnmatch(name, f"{attention}.weights")]
    kept = [f"{path}.{step}" for path in paths for step in ("biased", "weights")]
    with capture(kept, {f"{path}.weights": weighing(path, weigh) for path in paths}, grad=True) as trace:
        yield trace


def weighing(path: str, weigh: Weigh) -> Edit:
    return lambda own, trace: weigh(trace[f"{path}.biased"])
