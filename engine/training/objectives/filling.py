"""Fill: some of a text's tokens are hidden, to be found from those on both sides (Devlin et al. 2018)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from engine.config import TransformerConfig
from engine.tokenizers import MASK, Tokenizer
from engine.training.batches import Batch, padded
from engine.training.examples import Example
from engine.training.objectives.objective import check_fits, check_head, device_of
from engine.training.tasks import Filling, Task

MASKED, REPLACED = 0.8, 0.1  # of the hidden tokens; the others are shown as they are (appendix A)


class Fill:
    """What is asked for is mostly shown as a mask, sometimes as another token or as it is: so a model that meets no
    masks later still has a use for every token it reads.
    """

    sites = ""

    def check(self, config: TransformerConfig, task: Task) -> None:
        check_fits(config, task, ["encoder-only"], task.max_source)
        check_head(config, task, "tokens")

    def classes(self, config: TransformerConfig) -> int:
        return config.vocab_size

    def batch(self, task: Task, examples: Sequence[Example], chance: random.Random) -> Batch:
        rows = [task.tokenizer.ids(example.text) for example in examples]
        hidden = [hidden_places(task, row, chance) for row in rows]
        shown = [disguised(task.tokenizer, row, at, chance) for row, at in zip(rows, hidden, strict=True)]
        ids, lengths = padded(shown)
        labels, _ = padded(rows)
        scored = torch.zeros_like(labels, dtype=torch.bool)
        for row, at in zip(scored, hidden, strict=True):
            row[at] = True
        return Batch({"ids": ids, "lengths": lengths}, labels, scored)

    def real(self, batch: Batch) -> dict[str, Bool[Tensor, "batch query"]]:
        return {"encoder": batch.scored}

    def places(self, task: Task, example: Example) -> dict[int, frozenset[int]]:
        return {}

    def given(self, task: Task, example: Example) -> str:
        """The text with a mask for each token that `write` finds."""
        tokens = task.tokenizer.encode(example.text).tokens
        hidden = set(self._hidden(task, example))
        return "".join(
            MASK if at in hidden else example.text[token.start : token.end] for at, token in enumerate(tokens)
        )

    def write(self, model: nn.Module, task: Task, examples: Sequence[Example]) -> list[str]:
        """Each text with what the model finds behind its masks, which hide the same places each time."""
        rows = [task.tokenizer.ids(example.text) for example in examples]
        hidden = [self._hidden(task, example) for example in examples]
        shown = [masked(task.tokenizer, row, at) for row, at in zip(rows, hidden, strict=True)]
        ids, lengths = (each.to(device_of(model)) for each in padded(shown))
        found = model(ids, lengths).argmax(-1).tolist()
        for row, at, guesses in zip(rows, hidden, found, strict=True):
            for place in at:
                row[place] = guesses[place]
        return [task.tokenizer.decode(row) for row in rows]

    def _hidden(self, task: Task, example: Example) -> list[int]:
        return hidden_places(task, task.tokenizer.ids(example.text), random.Random(example.text))


def hidden_places(task: Task, ids: Sequence[int], chance: random.Random) -> list[int]:
    """The task's share of all places, at least one."""
    assert isinstance(task, Filling)
    return sorted(chance.sample(range(len(ids)), max(1, round(task.hidden_share * len(ids)))))


def masked(tokenizer: Tokenizer, ids: Sequence[int], hidden: Sequence[int]) -> list[int]:
    assert tokenizer.mask_id is not None
    places = set(hidden)
    return [tokenizer.mask_id if at in places else id for at, id in enumerate(ids)]


def disguised(
    tokenizer: Tokenizer, ids: Sequence[int], hidden: Sequence[int], chance: random.Random
) -> list[int]:
    """The ids with most of the hidden ones masked, some replaced by any other token, some left."""
    shown = masked(tokenizer, ids, hidden)
    for at in hidden:
        drawn = chance.random()
        if drawn >= MASKED + REPLACED:
            shown[at] = ids[at]
        elif drawn >= MASKED:
            shown[at] = any_token(tokenizer, chance)
    return shown


def any_token(tokenizer: Tokenizer, chance: random.Random) -> int:
    while True:
        id = chance.randrange(len(tokenizer))
        if not tokenizer.is_special(id):
            return id
