"""Attention once more, in loops over single numbers: slow, and with nothing in common with the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

Row = list[float]


@dataclass
class Rules:
    """What differs between kinds of attention; the defaults are those of Vaswani et al. 2017.

    scale: of q.k, by default 1 / sqrt(d_k). bias(head, query, key): added to the scaled score.
    a_k, a_v: Shaw's vectors for distances -reach .. reach, (2 reach + 1, d_k). core: softmax or relu.
    """

    scale: float | None = None
    bias: Callable[[int, int, int], float] = lambda h, i, j: 0.0
    a_k: Tensor | None = None
    a_v: Tensor | None = None
    core: str = "softmax"


def attention(
    q: Tensor, k: Tensor, v: Tensor, visible: Tensor, rules: Rules | None = None
) -> tuple[list, list]:
    """(weights, z) as nested lists [batch][head][query]; neighbouring heads share keys where they must."""
    weights, z = [], []
    for b in range(q.shape[0]):
        seen = visible[min(b, len(visible) - 1)]
        rows = [head(q[b], k[b], v[b], seen, h, rules or Rules()) for h in range(q.shape[1])]
        weights.append([row[0] for row in rows])
        z.append([row[1] for row in rows])
    return weights, z


def head(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, h: int, rules: Rules) -> tuple[list, list]:
    shared = h // (q.shape[0] // k.shape[0])
    scale = 1 / math.sqrt(q.shape[2]) if rules.scale is None else rules.scale
    weights, z = [], []
    for i in range(q.shape[1]):
        scores: dict[int, float] = {}
        for j in range(k.shape[1]):
            if visible[i, j]:
                extra = relative(rules.a_k, i, j, k)
                dot = sum(float(q[h, i, d]) * (float(k[shared, j, d]) + extra[d]) for d in range(q.shape[2]))
                scores[j] = dot * scale + rules.bias(h, i, j)
        row = CORES[rules.core](scores, k.shape[1])
        weights.append(row)
        mixed = [0.0] * v.shape[2]
        for j, weight in enumerate(row):
            extra = relative(rules.a_v, i, j, v)
            for d in range(v.shape[2]):
                mixed[d] += weight * (float(v[shared, j, d]) + extra[d])
        z.append(mixed)
    return weights, z


def relative(table: Tensor | None, i: int, j: int, like: Tensor) -> Row:
    """The vector for key j as seen from query i: of the farthest distance there is where it lies beyond."""
    if table is None:
        return [0.0] * like.shape[2]
    reach = len(table) // 2
    distance = j - i
    if distance > reach:
        distance = reach
    if distance < -reach:
        distance = -reach
    return [float(number) for number in table[reach + distance]]


def softmax(scores: dict[int, float], n: int) -> Row:
    exponentials = {j: math.exp(score) for j, score in scores.items()}
    total = sum(exponentials.values())
    return [exponentials[j] / total if j in exponentials else 0.0 for j in range(n)]


def relu(scores: dict[int, float], n: int) -> Row:
    """Divided by the number of keys that can be seen."""
    return [max(scores[j], 0.0) / len(scores) if j in scores else 0.0 for j in range(n)]


CORES = {"softmax": softmax, "relu": relu}
