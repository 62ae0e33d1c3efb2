"""What a decoder alone learns: at each token to expect the next one. It reads no begin, as it reads none on screen."""

from __future__ import annotations

import random
from collections.abc import Sequence

from jaxtyping import Bool
from torch import Tensor, nn

from engine.config import TransformerConfig
from engine.decoding import text_reader, texts, write
from engine.model.transformer import DecoderOnly
from engine.training.batches import Batch, padded, within
from engine.training.examples import Example
from engine.training.objectives.objective import check_fits, device_of, framed
from engine.training.tasks import Task

SITES = "decoder.layers.*.self_attention"


class Continue:
    """Go on from the source with the target and its end; what the source says is not asked for."""

    sites = SITES

    def check(self, config: TransformerConfig, task: Task) -> None:
        check_fits(config, task, ["decoder-only"], task.max_source + task.max_target)

    def classes(self, config: TransformerConfig) -> int:
        return config.vocab_size

    def batch(self, task: Task, examples: Sequence[Example], chance: random.Random) -> Batch:
        ids = task.tokenizer.ids
        sources = [ids(example.text) for example in examples]
        rows = [
            [*source, *framed(task, ids(example.target))[1:]]
            for source, example in zip(sources, examples, strict=True)
        ]
        batch = next_tokens(rows)
        for scored, source in zip(batch.scored, sources, strict=True):
            scored[: len(source) - 1] = False
        return batch

    def real(self, batch: Batch) -> dict[str, Bool[Tensor, "batch query"]]:
        return {"decoder": batch.scored}

    def places(self, task: Task, example: Example) -> dict[int, frozenset[int]]:
        """The source's last token writes token 0 of the target."""
        first = len(task.tokenizer.ids(example.text)) - 1
        return {first + t: places for t, places in enumerate(example.alignment) if places}

    def given(self, task: Task, example: Example) -> str:
        return example.text

    def write(self, model: nn.Module, task: Task, examples: Sequence[Example]) -> list[str]:
        prompts = [task.tokenizer.ids(example.text) for example in examples]
        written = gone_on(model, prompts, task.max_target + 1, eos_id=task.tokenizer.eos_id)
        return [task.tokenizer.decode(row) for row in written]


class Language:
    """Every token of a stretch of text from those before it, but for the first. A stretch has no end to be learned."""

    sites = SITES

    def check(self, config: TransformerConfig, task: Task) -> None:
        check_fits(config, task, ["decoder-only"], task.max_target)

    def classes(self, config: TransformerConfig) -> int:
        return config.vocab_size

    def batch(self, task: Task, examples: Sequence[Example], chance: random.Random) -> Batch:
        return next_tokens([task.tokenizer.ids(example.target) for example in examples])

    def real(self, batch: Batch) -> dict[str, Bool[Tensor, "batch query"]]:
        return {"decoder": batch.scored}

    def places(self, task: Task, example: Example) -> dict[int, frozenset[int]]:
        """Token t is written by the one before it, and stands where the alignment says in the stretch itself."""
        return {t - 1: places for t, places in enumerate(example.alignment) if places}

    def given(self, task: Task, example: Example) -> str:
        return task.tokenizer.decode(self._half(task, example)[0])

    def write(self, model: nn.Module, task: Task, examples: Sequence[Example]) -> list[str]:
        """The first half of each stretch as it is, then as many tokens as the second has."""
        halves = [self._half(task, example) for example in examples]
        written = gone_on(model, [first for first, _ in halves], max(len(second) for _, second in halves))
        return [
            task.tokenizer.decode([*first, *more[: len(second)]])
            for (first, second), more in zip(halves, written, strict=True)
        ]

    def _half(self, task: Task, example: Example) -> tuple[list[int], list[int]]:
        ids = task.tokenizer.ids(example.target)
        middle = (len(ids) + 1) // 2
        return ids[:middle], ids[middle:]


def next_tokens(rows: Sequence[Sequence[int]]) -> Batch:
    """What a causal model reads, and one place on what it is asked for; filling it cannot see, since it comes last."""
    ids, lengths = padded(rows)
    return Batch({"ids": ids[:, :-1]}, ids[:, 1:], within(lengths - 1, ids.shape[1] - 1))


def gone_on(
    model: nn.Module, prompts: Sequence[Sequence[int]], count: int, eos_id: int | None = None
) -> list[list[int]]:
    """Up to `count` more tokens after each prompt, always the likeliest."""
    assert isinstance(model, DecoderOnly)
    ids, lengths = (each.to(device_of(model)) for each in padded(prompts))
    longest = ids.shape[1] + count
    steps = write(text_reader(model), ids, lengths, max_new_tokens=count, max_len=longest, eos_id=eos_id)
    return texts(steps, len(prompts))
