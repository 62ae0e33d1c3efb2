"""Bounded: values kept for everybody, up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Bounded(Generic[T]):
    """The values used last, as many as fit in `limit` bytes; each is made once, however many ask for it at a
    time.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """The value under `key`, made now when it is not kept; what `make` raises is raised and not kept."""
        with self._guard:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._guard:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key][0]
            try:
                value = make()
                self._keep(key, value, size(value))
            finally:
                with self._guard:
                    self._making.pop(key, None)
        return value

    def _keep(self, key: Hashable, value: T, size: int) -> None:
        with self._guard:
            self._kept[key] = (value, size)
            self.bytes += size
            while self.bytes > self.limit and len(self._kept) > 1:  # the newest stays, whatever its size
                self.bytes -= self._kept.popitem(last=False)[1][1]
