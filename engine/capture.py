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
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import translate
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from engine.config import AtlasError
from engine.errors import is_whole, need_kind, shown

if TYPE_CHECKING:
    import numpy as np
    import pandas

_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)
GLOB = frozenset("*?[")  # what makes a glob of a name
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


class UnheardError(AtlasError, KeyError):
    """A tap that a trace holds nothing of: a KeyError too, as of any mapping."""

    __str__ = AtlasError.__str__


class Trace(Mapping[str, Tensor]):
    """What was heard: tap name -> tensor, in the order in which the model computed them."""

    def __init__(self, heard: Trace | None = None) -> None:
        self._values: dict[str, Tensor] = dict(heard._values) if heard else {}
        self._dims: dict[str, tuple[str, ...]] = dict(heard._dims) if heard else {}

    def __getitem__(self, name: str) -> Tensor:
        try:
            return self._values[name]
        except (KeyError, TypeError):  # no name, or what none can be
            raise UnheardError(
                "this trace holds no {name}; near it are {near}", name=name, near=_near(str(name), list(self))
            ) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        return self._values[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def dims(self, name: str) -> tuple[str, ...]:
        """The names of a value's axes, such as ("batch", "head", "query", "key"). Raises AtlasError as a value does."""
        self[name]
        return self._dims[name]

    def array(self, name: str, *index: int | slice | list[int]) -> np.ndarray:
        """A value for numpy, or the part of it at `index`; see `as_numpy`. Raises AtlasError for an unknown name."""
        value = self[name]
        try:
            return as_numpy(value[index])
        except (
            IndexError,
            TypeError,
            ValueError,
            RuntimeError,
        ):  # as many as torch has for one that cannot be
            raise AtlasError(
                "{name} is of shape {shape} and has no part {index}",
                name=name, shape=tuple(value.shape), index=", ".join(map(shown, index)),
            ) from None  # fmt: skip

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
        need_kind("path", path, str)
        part = Trace()
        part._values = {name: value for name, value in self._values.items() if name.startswith(path)}
        part._dims = {name: self._dims[name] for name in part._values}
        return part

    def record(self, tap: Tap, value: Tensor) -> None:
        self._values[tap.name] = value
        self._dims[tap.name] = tap.dims


Edit = Callable[[Tensor, Trace], Tensor]


def as_numpy(value: Tensor) -> np.ndarray:
    """A copy of a tensor of any device as an array on the CPU; half precision as float32, since numpy has no bfloat16.

    Whoever writes into it changes neither the tensor nor the model that it may be part of.
    """
    dtype = torch.float32 if value.dtype in (torch.float16, torch.bfloat16) else value.dtype
    return value.detach().cpu().to(dtype, copy=True).numpy()


class _Listener:
    """One open capture: what it wants to hear, what it changes, and the trace it fills."""

    def __init__(self, names: list[str], edits: dict[str, Edit], grad: bool) -> None:
        self.names = names
        self.globs = [re.compile(translate(name)) for name in self.names if set(name) & GLOB]
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
        edit = self.edits[tap.name]
        if isinstance(edit, HeadEdit):
            edit.check(tap, value)
        new = edit(value.clone(), self.trace)
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
        if new.is_complex() or new.is_meta or new.layout != torch.strided:
            raise AtlasError(
                "the edit of {name} returned {got}, but a tensor that holds a real number for each place belongs there",
                name=tap.name, got=f"{new.layout} {new.dtype} {new.device}".replace("torch.", ""),
            )  # fmt: skip
        return new.to(value)

    def check_names(self) -> None:
        for name in [*self.names, *self.edits]:
            if name not in self.heard and not any(map(re.compile(translate(name)).match, self.heard)):
                raise _unheard(name, list(self.heard))


def _names(given: Any) -> list[str]:
    """Names or globs as a list. Raises AtlasError for what is neither a text nor texts."""
    try:
        names = [given] if isinstance(given, str) else list(given)
    except TypeError:
        names = [given]
    for name in names:
        if not isinstance(name, str):
            raise AtlasError("names are the names of taps or globs, not {kind}", kind=type(name).__name__)
    return names


def _edits(given: Any) -> dict[str, Edit]:
    """Edits by the exact name of their tap. Raises AtlasError for a glob, and for what cannot be called."""
    if given is not None and not isinstance(given, Mapping):
        raise AtlasError("edits are given by the name of their tap, not as {kind}", kind=type(given).__name__)
    edits = dict(given or {})
    for name, edit in edits.items():
        if not isinstance(name, str) or set(name) & GLOB:
            raise AtlasError("an edit is for one tap and takes its exact name, not {name}", name=name)
        if not _takes_two(edit):
            raise AtlasError(
                "the edit of {name} must be a function of a value and the trace so far, not {given}",
                name=name, given=getattr(edit, "__name__", type(edit).__name__),
            )  # fmt: skip
    return edits


def _takes_two(edit: Any) -> bool:
    try:
        inspect.signature(edit).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # written in C, which may not tell what it takes
        pass
    return True


def _unheard(name: str, heard: list[str]) -> AtlasError:
    if not heard:
        return AtlasError("nothing to capture for {name}: no model ran, or only a compiled one", name=name)
    return AtlasError("no tap is called {name}; near it are {near}", name=name, near=_near(name, heard))


def _near(name: str, known: list[str]) -> str:
    return ", ".join(difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known[:3])


@contextmanager
def capture(
    names: str | Iterable[str] = "*", edits: Mapping[str, Edit] | None = None, grad: bool = False
) -> Iterator[Trace]:
    """Listen to every model that runs in this block, in this thread; an inner capture silences an outer one.

    names: taps to keep, as a glob or a list of globs; an empty list keeps nothing, yet lets edits work.
    edits: {exact tap name: edit(value, trace_so_far) -> its replacement}; the tap records the replacement.
    grad: keep the autograd graph; otherwise what is kept is detached.
    If a model runs twice, the last run is kept. Raises AtlasError at the end if a name matched no tap, and at the
    beginning for a glob among the edits.
    """
    need_kind("grad", grad, bool)
    listener = _Listener(_names(names), _edits(edits), grad)
    token = _listener.set(listener)
    _open.append(listener)
    try:
        yield listener.trace
    finally:
        _open.remove(listener)
        _listener.reset(token)
    listener.check_names()


HEADS = {"head", "kv_head"}


@dataclass(frozen=True)
class HeadEdit:
    """An edit of one head: for a tap whose second axis counts heads, which the listener asks it to check."""

    head: int

    def __call__(self, value: Tensor, trace_so_far: Trace) -> Tensor:
        value[:, self.head] = 0
        return value

    def check(self, tap: Tap, value: Tensor) -> None:
        """Raises AtlasError for a tap without heads, and for one that has fewer."""
        if HEADS.isdisjoint(tap.dims[1:2]):
            raise AtlasError(
                "{name} has the axes {axes}, none of which counts heads",
                name=tap.name,
                axes=", ".join(tap.dims),
            )
        if not 0 <= self.head < value.shape[1]:
            raise AtlasError(
                "{name} has no head {head}; the last one is {last}",
                name=tap.name, head=self.head, last=value.shape[1] - 1,
            )  # fmt: skip


def zero_head(head: int) -> Edit:
    """An edit that silences one head: for any tap whose second axis is head or kv_head, most often `z`.

    Raises AtlasError for what is no whole number; and where it is used, for a tap without that head.
    """
    if not is_whole(head):
        raise AtlasError("a head is told by its number, not by {head}", head=shown(head))
    return HeadEdit(int(head))
