"""Walks to draw: real ones of small models, with labels of the test's choosing."""

from __future__ import annotations

from dataclasses import replace

from engine.analysis.head_walk import HeadWalk, walk_head
from tests.engine import recipes

WIDE_LLAMA = recipes.llama().model_copy(update={"max_len": 128})


def walk(labels: list[str], query: int = -1, focus: int = 0) -> HeadWalk:
    """A causal head over `labels`; the numbers are those of a small model over as many letters."""
    lm = recipes.language_model(WIDE_LLAMA)
    trace = lm.trace(("abcdefghijklmnop" * 8)[: len(labels)])
    made = walk_head(lm, trace, kind="masked", layer=1, head=0, query=query % len(labels), focus=focus)
    tokens = tuple(replace(token, label=label) for token, label in zip(made.key_tokens, labels, strict=True))
    return replace(made, key_tokens=tokens, query_tokens=tokens)
