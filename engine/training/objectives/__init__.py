"""What is learned from an example, and how a model shows that it has learned it: one class for each kind of task.

pairs       translate: an encoder-decoder reads the source and writes the target
decoders    continue, language: a decoder goes on from what it has read
encoders    tag, classify: an encoder answers token by token, or tells texts and images apart
filling     fill: an encoder finds hidden tokens
"""

from __future__ import annotations

from engine.training.objectives.decoders import Continue, Language
from engine.training.objectives.encoders import Classify, Tag
from engine.training.objectives.filling import Fill
from engine.training.objectives.objective import Objective
from engine.training.objectives.pairs import Translate
from engine.training.tasks import Kind, Task

OBJECTIVES: dict[Kind, Objective] = {
    "translate": Translate(),
    "continue": Continue(),
    "language": Language(),
    "tag": Tag(),
    "fill": Fill(),
    "classify": Classify(),
}


def objective_of(task: Task) -> Objective:
    return OBJECTIVES[task.kind]


__all__ = ["OBJECTIVES", "Objective", "objective_of"]
