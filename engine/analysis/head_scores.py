"""What a head does, in one number: for a text, each head of a layer's attention. Axes: head, query, key.

true_place  share of the queries with a known answer whose greatest weight lies where it stands
repeats     prefix matching (Olsson et al. 2022): mean weight on all keys that follow an earlier copy of the query
previous    mean weight on the key just before the query
first       mean weight on the first key, where a head rests that has nothing to do (Xiao et al. 2023)
entropy     mean entropy of a row of weights, in nats
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

RISING = ("true_place", "repeats", "previous", "first")  # scores of which more is more of it


@dataclass(frozen=True, eq=False)
class Looked:
    """weights: (head, query, key); own: whether queries and keys are the same tokens; places: true keys of a query."""

    weights: np.ndarray
    ids: Sequence[int]  # of the queries
    own: bool
    places: Mapping[int, frozenset[int]]

    def __post_init__(self) -> None:
        assert self.weights.ndim == 3
        assert self.weights.shape[1] == len(self.ids)


def true_place(looked: Looked) -> np.ndarray | None:
    """(head,)"""
    asked = {query: keys for query, keys in looked.places.items() if query < len(looked.ids)}
    if not asked:
        return None
    found = [np.isin(looked.weights[:, query].argmax(-1), [*keys]) for query, keys in asked.items()]
    return np.mean(found, axis=0)


def repeats(looked: Looked) -> np.ndarray | None:
    """(head,) of the queries that stood earlier in the text; the key after the query itself is not one."""
    after = {q: [k + 1 for k in range(q) if looked.ids[k] == looked.ids[q]] for q in range(len(looked.ids))}
    after = {query: keys for query, keys in after.items() if keys}
    if not looked.own or not after:
        return None
    return np.mean([looked.weights[:, query, keys].sum(-1) for query, keys in after.items()], axis=0)


def previous(looked: Looked) -> np.ndarray | None:
    """(head,) of all queries but the first."""
    if not looked.own or len(looked.ids) < 2:
        return None
    return np.diagonal(looked.weights, offset=-1, axis1=1, axis2=2).mean(-1)


def first(looked: Looked) -> np.ndarray | None:
    """(head,) of all queries but the first, which may have nothing else to look at."""
    if not looked.own or len(looked.ids) < 2:
        return None
    return looked.weights[:, 1:, 0].mean(-1)


def entropy(looked: Looked) -> np.ndarray | None:
    """(head,) rows of zeros, of queries that may look nowhere, count as 0."""
    weights = looked.weights.astype(np.float64)
    totals = weights.sum(-1, keepdims=True)
    shares = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(-1).mean(-1)


SCORES: dict[str, Callable[[Looked], np.ndarray | None]] = {
    "true_place": true_place, "repeats": repeats, "previous": previous, "first": first, "entropy": entropy,
}  # fmt: skip


def scores(looked: Looked) -> dict[str, np.ndarray]:
    """Each score that this attention has, (head,)."""
    found = {name: score(looked) for name, score in SCORES.items()}
    return {name: values for name, values in found.items() if values is not None}
