"""Attention once more, in loops over single numbers: slow, and with nothing in common with the engine."""

from __future__ import annotations

import math

from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> tuple[list, list]:
    """(weights, z) as nested lists [batch][head][query]; neighbouring heads share keys where they must."""
    weights, z = [], []
    for b in range(q.shape[0]):
        rows = [head(q[b], k[b], v[b], visible[min(b, len(visible) - 1)], h) for h in range(q.shape[1])]
        weights.append([row[0] for row in rows])
        z.append([row[1] for row in rows])
    return weights, z


def head(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, h: int) -> tuple[list, list]:
    shared = h // (q.shape[0] // k.shape[0])
    weights, z = [], []
    for i in range(q.shape[1]):
        exponentials = []
        for j in range(k.shape[1]):
            dot = sum(float(a) * float(b) for a, b in zip(q[h, i], k[shared, j], strict=True))
            exponentials.append(math.exp(dot / math.sqrt(q.shape[2])) if visible[i, j] else 0.0)
        total = sum(exponentials)
        row = [e / total if total else 0.0 for e in exponentials]
        weights.append(row)
        z.append([sum(w * float(v[shared, j, d]) for j, w in enumerate(row)) for d in range(v.shape[2])])
    return weights, z
