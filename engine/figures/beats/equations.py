"""What equations are made of: names of tokens, vectors and sums in real numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.analysis.head_walk import HeadWalk
from engine.figures.beats.step import Part
from engine.figures.theme import number


def query_name(walk: HeadWalk) -> str:
    return walk.query_tokens[walk.query].label


def key_name(walk: HeadWalk) -> str:
    return walk.key_tokens[walk.focus].label


def score_name(walk: HeadWalk) -> tuple[Part, ...]:
    return (("score(", ""), (query_name(walk), "query"), (" → ", ""), (key_name(walk), "key"), (")", ""))


def of(name: str, role: str) -> tuple[Part, ...]:
    return (("(", ""), (name, role), (")", ""))


def products(pairs: Iterable[tuple[float, float]], roles: tuple[str, str]) -> list[Part]:
    """Products with a plus between them: "0.5 × 2 + 0.1 × 3"."""
    parts: list[Part] = []
    for one, other in pairs:
        parts += [(" + ", ""), (number(one), roles[0]), (" × ", ""), (number(other), roles[1])]
    return parts[1:]


def vector(values: np.ndarray, count: int = 4) -> str:
    """The first numbers of a vector, `[0.12 −0.30 …]`, all of them when there are few."""
    head = " ".join(number(float(value)) for value in values[:count])
    return f"[{head}{' …' if len(values) > count else ''}]"


def pair_of(values: np.ndarray, pair: int, half: int) -> str:
    return f"({number(values[pair])}, {number(values[pair + half])})"


def share(weight: float) -> str:
    """A weight with four decimals; one that they would round to nothing keeps two digits."""
    return f"{weight:.4f}" if weight == 0 or weight >= 5e-5 else number(weight, 2)


def extent(span: tuple[float, float]) -> dict[str, str]:
    return {"low": number(span[0]), "high": number(span[1])}
