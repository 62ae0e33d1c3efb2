"""Trace: what was heard, by the names of the taps."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.capture.tap import Tap
from engine.errors import AtlasError, need_kind, shown

if TYPE_CHECKING:
    import numpy as np
    import pandas


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
                "this trace holds no {name}; near it are {near}", name=name, near=near(str(name), list(self))
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


def near(name: str, known: list[str]) -> str:
    """Up to three names that may have been meant."""
    return ", ".join(difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known[:3])
