"""What is learned from an example, and how a model shows that it has learned it: one class for each kind of task.

pairs      translate: an encoder-decoder reads the source and writes the target
"""

from __future__ import annotations

from engine.training.objectives.objective import Objective
from engine.training.objectives.pairs import Translate
from engine.training.tasks import Task

OBJECTIVES: dict[str, Objective] = {"translate": Translate()}


def objective_of(task: Task) -> Objective:
    return OBJECTIVES[task.kind]


__all__ = ["OBJECTIVES", "Objective", "objective_of"]
