"""Listener: one open capture, and the block of code that it listens to."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import translate
from typing import Any

import torch
from torch import Tensor

from engine.capture.tap import Tap, current, listeners
from engine.capture.trace import Edit, Trace, near
from engine.edits import HeadEdit
from engine.errors import AtlasError, need_kind

GLOB = frozenset("*?[")  # what makes a glob of a name


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
    listener = Listener(_names(names), _edits(edits), grad)
    token = current.set(listener)
    listeners.append(listener)
    try:
        yield listener.trace
    finally:
        listeners.remove(listener)
        current.reset(token)
    listener.check_names()


class Listener:
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
    return AtlasError("no tap is called {name}; near it are {near}", name=name, near=near(name, heard))
