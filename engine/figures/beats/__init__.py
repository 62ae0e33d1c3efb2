"""The words of the Attention screen: ten beats, each with a title, one sentence and its equation in real numbers.

A beat may have two strokes (one product, then the row of scores; nothing negative, then the division), each a Step.
`_` is the translator of the reader's language, as gettext gives it; English is the source.
"""

from __future__ import annotations

from engine.analysis.head_walk import HeadWalk
from engine.figures.beats.reading import position, projections, tokens
from engine.figures.beats.step import Step, Translate
from engine.figures.beats.taking import all_queries, heads_together, weighted_sum
from engine.figures.beats.weighing import bias, divide, first_stroke, mask, one_product, scale, score_row

__all__ = ["Step", "Translate", "steps"]


def steps(walk: HeadWalk, _: Translate) -> tuple[Step, ...]:
    """The walk's steps, in order; a step for the position bias only where the model has one."""
    parts = [tokens, projections, position, one_product, score_row, scale, bias, mask, first_stroke, divide]
    parts += [weighted_sum, all_queries, heads_together]
    return tuple(step for part in parts if (step := part(walk, _)) is not None)
