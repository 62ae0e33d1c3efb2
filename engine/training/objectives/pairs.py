"""Translate: read a source in both directions, write its target (Vaswani et al. 2017).

The decoder reads begin and the target, and is asked for the target and its end: at each place for the next token.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from engine.config import TransformerConfig
from engine.decoding import greedy, target_reader, texts
from engine.model.transformer import EncoderDecoder
from engine.training.batches import Batch, padded, within
from engine.training.examples import Example
from engine.training.objectives.objective import check_fits, device_of, framed
from engine.training.tasks import Task


class Translate:
    sites = "decoder.layers.*.cross_attention"

    def check(self, config: TransformerConfig, task: Task) -> None:
        # begin goes in, end only comes out
        check_fits(config, task, ["encoder-decoder"], max(task.max_source, task.max_target + 1))

    def classes(self, config: TransformerConfig) -> int:
        return config.vocab_size

    def batch(self, task: Task, examples: Sequence[Example], chance: random.Random) -> Batch:
        tokenizer = task.tokenizer
        source_ids, source_lengths = padded([tokenizer.ids(example.text) for example in examples])
        ids, lengths = padded([framed(task, tokenizer.ids(example.target)) for example in examples])
        inputs = {"source_ids": source_ids, "target_ids": ids[:, :-1], "source_lengths": source_lengths}
        labels = ids[:, 1:]
        return Batch(inputs, labels, within(lengths - 1, labels.shape[1]))

    def real(self, batch: Batch) -> dict[str, Bool[Tensor, "batch query"]]:
        source = within(batch.inputs["source_lengths"], batch.inputs["source_ids"].shape[1])
        return {"encoder": source, "decoder": batch.scored}

    def places(self, task: Task, example: Example) -> dict[int, frozenset[int]]:
        """Query t, which has read the target up to t, writes its token t."""
        return {t: places for t, places in enumerate(example.alignment) if places}

    def given(self, task: Task, example: Example) -> str:
        return example.text

    def write(self, model: nn.Module, task: Task, examples: Sequence[Example]) -> list[str]:
        assert isinstance(model, EncoderDecoder)
        tokenizer, longest = task.tokenizer, task.max_target + 1
        ids, lengths = padded([tokenizer.ids(example.text) for example in examples])
        begin, end = framed(task, [])
        reader = target_reader(model, ids.to(device_of(model)), lengths.to(device_of(model)))
        steps = greedy(
            reader, torch.full((len(ids), 1), begin, device=device_of(model)),
            max_new_tokens=longest, max_len=longest + 1, eos_id=end,
        )  # fmt: skip
        return [tokenizer.decode(row) for row in texts(steps, len(ids))]
