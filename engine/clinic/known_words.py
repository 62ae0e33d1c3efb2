"""Words for the model "text", which learned to write Python's help letter by letter: it has read each of them often."""

from __future__ import annotations

WORDS = (
    "statement", "parameter", "attribute", "arguments", "exception", "functions", "operators", "container",
)  # fmt: skip
LETTERS = 9  # of each


def known_word(seed: int, after: int = 0) -> str:
    """Which word a seed means, or one that comes so many after it."""
    return WORDS[(seed + after) % len(WORDS)]
