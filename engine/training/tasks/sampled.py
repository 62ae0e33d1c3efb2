"""Tasks whose examples are drawn anew each time, from more than anybody could list."""

from __future__ import annotations

import random

from engine.config import AtlasError, Settings
from engine.training.examples import Example
from engine.training.tasks.task import is_held_out


class Sampled(Settings):
    """What these tasks share: an item decides whether its example is trained on or held out, never both."""

    name: str

    def one(self, generator: random.Random) -> tuple[str, Example]:
        """Any example, and the item that it is about."""
        raise NotImplementedError

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        return [self._fitting(generator, held_out=False) for _ in range(count)]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        generator = random.Random(f"{self.name} {seed}")
        return {"held_out": [self._fitting(generator, held_out=True) for _ in range(count)]}

    def _fitting(self, generator: random.Random, held_out: bool) -> Example:
        while True:
            item, example = self.one(generator)
            if is_held_out(item) == held_out:
                return example


def refuse_disorder(shortest: int, longest: int) -> None:
    """Raises AtlasError where the shortest is longer than the longest."""
    if shortest > longest:
        raise AtlasError(
            "shortest {shortest} must not exceed longest {longest}", shortest=shortest, longest=longest
        )
