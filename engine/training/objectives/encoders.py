"""What an encoder alone learns, which reads in both directions: to answer token by token, and to tell apart."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from engine.config import AtlasError, ClassHead, TransformerConfig
from engine.training.batches import Batch, padded, within
from engine.training.examples import Example, Image
from engine.training.objectives.objective import check_fits, check_head, device_of
from engine.training.tasks import Classification, Task


class Tag:
    """Each token of the source is answered where it stands; only what has a true place is asked for.

    A decoder alone can do that too, with what it has read so far.
    """

    sites = "*.layers.*.self_attention"

    def check(self, config: TransformerConfig, task: Task) -> None:
        check_fits(config, task, ["decoder-only", "encoder-only"], task.max_source)
        if config.assembly == "encoder-only":
            check_head(config, task, "tokens")

    def classes(self, config: TransformerConfig) -> int:
        return config.vocab_size

    def batch(self, task: Task, examples: Sequence[Example], chance: random.Random) -> Batch:
        ids, lengths = padded([task.tokenizer.ids(example.text) for example in examples])
        labels, _ = padded([task.tokenizer.ids(example.target) for example in examples])
        asked, _ = padded([[int(bool(places)) for places in example.alignment] for example in examples])
        return Batch({"ids": ids, "lengths": lengths}, labels, asked.bool())

    def real(self, batch: Batch) -> dict[str, Bool[Tensor, "batch query"]]:
        return {"encoder": batch.scored, "decoder": batch.scored}

    def places(self, task: Task, example: Example) -> dict[int, frozenset[int]]:
        return {at: places for at, places in enumerate(example.alignment) if places}

    def given(self, task: Task, example: Example) -> str:
        return example.text

    def write(self, model: nn.Module, task: Task, examples: Sequence[Example]) -> list[str]:
        """The target with what is asked for as the model answers it."""
        batch = self.batch(task, examples, random.Random(0)).to(device_of(model))
        found = torch.where(batch.scored, model(**batch.inputs).argmax(-1), batch.labels)
        lengths = batch.inputs["lengths"].tolist()
        return [task.tokenizer.decode(row[:n]) for row, n in zip(found.tolist(), lengths, strict=True)]


class Classify:
    """A text or an image is one of several kinds."""

    sites = ""

    def check(self, config: TransformerConfig, task: Task) -> None:
        check_fits(config, task, ["encoder-only"], task.max_source)
        check_head(config, task, "classes")
        labels = labels_of(task)
        if (classes := self.classes(config)) != len(labels):
            raise AtlasError(
                "the task {task} has {expected} labels, but n_classes is {n_classes}",
                task=task.name, expected=len(labels), n_classes=classes,
            )  # fmt: skip
        text = isinstance(task.draw(1, random.Random(0))[0].source, str)
        if not text and config.patches is None:
            raise AtlasError(
                "the task {task} reads images, which takes a model that cuts them into patches",
                task=task.name,
            )
        if text and config.patches is not None:
            raise AtlasError("the task {task} reads texts, and this model reads images", task=task.name)

    def classes(self, config: TransformerConfig) -> int:
        assert isinstance(config.encoder_head, ClassHead)
        return config.encoder_head.n_classes

    def batch(self, task: Task, examples: Sequence[Example], chance: random.Random) -> Batch:
        labels = torch.tensor([labels_of(task).index(example.target) for example in examples])
        return Batch(self._inputs(task, examples), labels, torch.ones_like(labels, dtype=torch.bool))

    def _inputs(self, task: Task, examples: Sequence[Example]) -> dict[str, Tensor]:
        if not isinstance(examples[0].source, str):
            # rows (height, width) -> (batch, height, width, channels)
            return {"ids": torch.tensor([example.source for example in examples])[..., None]}
        ids, lengths = padded([task.tokenizer.ids(example.text) for example in examples])
        return {"ids": ids, "lengths": lengths}

    def real(self, batch: Batch) -> dict[str, Bool[Tensor, "batch query"]]:
        lengths = batch.inputs.get("lengths")
        return {} if lengths is None else {"encoder": within(lengths, batch.inputs["ids"].shape[1])}

    def places(self, task: Task, example: Example) -> dict[int, frozenset[int]]:
        return {}

    def given(self, task: Task, example: Example) -> str | Image:
        return example.source

    def write(self, model: nn.Module, task: Task, examples: Sequence[Example]) -> list[str]:
        """The likeliest label of each."""
        inputs = {name: value.to(device_of(model)) for name, value in self._inputs(task, examples).items()}
        return [labels_of(task)[label] for label in model(**inputs).argmax(-1).tolist()]


def labels_of(task: Task) -> tuple[str, ...]:
    assert isinstance(task, Classification)
    return task.labels
