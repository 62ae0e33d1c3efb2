"""Taps: how intermediate values get out of a model, and edits: how others get in.

A module owns a `Tap` for each value worth seeing and passes the value through it. A ContextVar says whether
anybody listens, so a model shared by threads has nothing to mix up, and a tap without a listener costs
less than a tenth of a microsecond. A tap is a plain object, not a module: it adds nothing to state dict or call stack.

    with capture("*.weights", edits={"decoder.layers.0.self_attention.z": zero_head(1)}) as trace:
        model(ids)
    trace["decoder.layers.0.self_attention.weights"]
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import translate
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from engine.config import AtlasError

if TYPE_CHECKING:
    import numpy as np
    import pandas

_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)
_open: list[_Listener] = []  # of all threads: while it is empty, a tap need not ask whose


class Tap:
    """A point of interest. `dims` names the axes of what passes, such as "batch head query key"."""

    def __init__(self, dims: str) -> None:
        self.dims = tuple(dims.split())
        self.name = ""  # its path in the model, given by name_taps

    def __call__(self, value: Tensor) -> Tensor:
        if not _open or is_compiling():
            return value
        listener = _listener.get()
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
    return bool(_open) and not is_compiling() and _listener.get() is not None


class Trace(Mapping[str, Tensor]):
    """What was heard: tap name -> tensor, in the order in which the model computed them."""

    def __init__(self, heard: Trace | None = None) -> None:
        self._values: dict[str, Tensor] = dict(heard._values) if heard else {}
        self._dims: dict[str, tuple[str, ...]] = dict(heard._dims) if heard else {}

    def __getitem__(self, name: str) -> Tensor:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def dims(self, name: str) -> tuple[str, ...]:
        """The names of a value's axes, such as ("batch", "head", "query", "key")."""
        return self._dims[name]

    def array(self, name: str, *index: int | slice | list[int]) -> np.ndarray:
        """A value for numpy, or the part of it at `index`; see `as_numpy`."""
        return as_numpy(self[name][index])

    def frame(self, name: str) -> pandas.DataFrame:
        """A tidy table: one row a number, one column an axis, and the number under "value"."""
        import pandas  # a notebook's need, not the forward's

        values = self.array(name)
        index = pandas.MultiIndex.from_product([range(size) for size in values.shape], names=self.dims(name))
        return pandas.DataFrame({"value": values.reshape(-1)}, index=index).reset_index()

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes. Steps that had nothing to do share one tensor, counted once."""
        storages = [value.untyped_storage() for value in self._values.values()]
        return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())

    def under(self, path: str) -> Trace:
        """The part of this trace whose names begin with a path, such as "decoder.layers.3."."""
        part = Trace()
        part._values = {name: value for name, value in self._values.items() if name.startswith(path)}
        part._dims = {name: self._dims[name] for name in part._values}
        return part

    def record(self, tap: Tap, value: Tensor) -> None:
        self._values[tap.name] = value
        self._dims[tap.name] = tap.dims


Edit = Callable[[Tensor, Trace], Tensor]


def as_numpy(value: Tensor) -> np.ndarray:
    """A tensor of any device as an array on the CPU; half precision as float32, since numpy has no bfloat16."""
    value = value.detach().cpu()
    return (value.float() if value.dtype in (torch.float16, torch.bfloat16) else value).numpy()


class _Listener:
    """One open capture: what it wants to hear, what it changes, and the trace it fills."""

    def __init__(self, names: str | Iterable[str], edits: Mapping[str, Edit], grad: bool) -> None:
        self.names = [names] if isinstance(names, str) else list(names)
        self.globs = [re.compile(translate(name)) for name in self.names if set(name) & set("*?[")]
        self.exact = set(self.names)
        self.edits = edits
        self.grad = grad
        self.heard: dict[str, None] = {}
        self.trace = Trace()

    def hear(self, tap: Tap, value: Tensor) -> Tensor:
        self.heard[tap.name] = None
        if tap.name in self.edits:
            value = self.edit(tap, value)
        if tap.name in self.exact or any(glob.match(tap.name) for glob in self.globs):
            self.trace.record(tap, value if self.grad else value.detach())
        return value

    def edit(self, tap: Tap, value: Tensor) -> Tensor:
        # a clone: an edit may write into what it gets, and a neighbouring tap may hold the same tensor
        new = self.edits[tap.name](value.clone(), self.trace)
        if not isinstance(new, Tensor) or new.shape != value.shape:
            raise AtlasError(
                "the edit of {name} returned {got}, but a tensor of shape {expected} belongs there",
                name=tap.name,
                got=f"shape {tuple(new.shape)}" if isinstance(new, Tensor) else type(new).__name__,
                expected=tuple(value.shape),
            )
        if (new.dtype == torch.bool) != (value.dtype == torch.bool):
            raise AtlasError(
                "the edit of {name} returned {got}, but {expected} belongs there: True means may attend",
                name=tap.name,
                got=str(new.dtype).removeprefix("torch."),
                expected=str(value.dtype).removeprefix("torch."),
            )
        return new.to(value)

    def check_names(self) -> None:
        for name in [*self.names, *self.edits]:
            if name not in self.heard and not any(map(re.compile(translate(name)).match, self.heard)):
                raise _unheard(name, list(self.heard))


def _unheard(name: str, heard: list[str]) -> AtlasError:
    if not heard:
        return AtlasError("nothing to capture for {name}: no model ran, or only a compiled one", name=name)
    near = difflib.get_close_matches(name, heard, n=3, cutoff=0.5) or heard[:3]
    return AtlasError("no tap is called {name}; near it are {near}", name=name, near=", ".join(near))


@contextmanager
def capture(
    names: str | Iterable[str] = "*", edits: Mapping[str, Edit] | None = None, grad: bool = False
) -> Iterator[Trace]:
    """Listen to every model that runs in this block, in this thread; an inner capture silences an outer one.

    names: taps to keep, as a glob or a list of globs; an empty list keeps nothing, yet lets edits work.
    edits: {tap name: edit(value, trace_so_far) -> its replacement}; the tap records the replacement.
    grad: keep the autograd graph; otherwise what is kept is detached.
    If a model runs twice, the last run is kept. Raises AtlasError at the end if a name matched no tap.
    """
    listener = _Listener(names, dict(edits or {}), grad)
    token = _listener.set(listener)
    _open.append(listener)
    try:
        yield listener.trace
    finally:
        _open.remove(listener)
        _listener.reset(token)
    listener.check_names()


def zero_head(head: int) -> Edit:
    """An edit that silences one head: for any tap whose second axis is head, most often `z`."""

    def edit(value: Tensor, trace_so_far: Trace) -> Tensor:
        value[:, head] = 0
        return value

    return edit
