"""From examples to tensors, and what they cost: told by length, shifted by one, smoothed as torch does."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from engine.training.batches import total_loss, within
from engine.training.objectives import objective_of
from tests.engine.training.copying import Copying, again

LOGITS = torch.tensor([[0.0, 1, 2, 0, -1], [1, 0, 0, 3, 0], [2, 2, 2, 2, 2]])


def mean_loss(logits: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0) -> Tensor:
    scored = within(lengths, labels.shape[1])
    return total_loss(logits[scored], labels[scored], smoothing) / max(1, int(scored.sum()))


def test_a_target_is_read_from_its_begin_and_asked_up_to_its_end() -> None:
    task = Copying()
    batch = objective_of(task).batch(task, [again("abc"), again("f")], random.Random(0))
    a, b, c, f = task.tokenizer.ids("abcf")
    begin, end = task.tokenizer.bos_id, task.tokenizer.eos_id
    assert batch.inputs["source_ids"][0].tolist() == [a, b, c]
    assert batch.inputs["source_lengths"].tolist() == [3, 1]
    assert batch.inputs["target_ids"][0].tolist() == [begin, a, b, c]
    assert batch.labels[0].tolist() == [a, b, c, end]
    assert batch.inputs["target_ids"][1, :2].tolist() == [begin, f]
    assert batch.labels[1, :2].tolist() == [f, end]
    assert batch.scored.tolist() == [[True] * 4, [True, True, False, False]]


def test_filling_is_told_by_length_even_if_it_looks_like_the_end() -> None:
    logits = torch.randn(1, 5, 7, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([[5, 6, 2, 2, 2]])  # the first 2 is the end, the others are filling
    chances = logits[0].log_softmax(-1)
    by_hand = -(chances[0, 5] + chances[1, 6] + chances[2, 2]) / 3
    torch.testing.assert_close(mean_loss(logits, labels, torch.tensor([3])), by_hand)


@pytest.mark.parametrize(("smoothing", "loss"), [(0.0, 1.887133), (0.1, 1.927133)])
def test_smoothing_spreads_over_every_token_and_leaves_filling_out(smoothing: float, loss: float) -> None:
    found = mean_loss(LOGITS[None], torch.tensor([[2, 1, 0]]), torch.tensor([2]), smoothing)
    assert found.item() == pytest.approx(loss, abs=2e-6)


def test_smoothing_is_torchs() -> None:
    labels = torch.tensor([2, 1, 4])
    torchs = torch.nn.CrossEntropyLoss(label_smoothing=0.3, reduction="sum")(LOGITS, labels)
    torch.testing.assert_close(total_loss(LOGITS, labels, 0.3), torchs)


def test_nothing_but_filling_costs_nothing() -> None:
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = mean_loss(logits, torch.zeros(2, 3, dtype=torch.long), torch.tensor([0, 0]), 0.1)
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert logits.grad.eq(0).all()


def test_knowing_nothing_costs_the_logarithm_of_the_vocabulary() -> None:
    loss = mean_loss(torch.zeros(2, 3, 13), torch.ones(2, 3, dtype=torch.long), torch.tensor([3, 1]), 0.1)
    assert loss.item() == pytest.approx(2.565, abs=1e-3)


def test_half_precision_is_summed_in_fp32() -> None:
    """Above 2,048 fp16 counts in twos."""
    logits, labels = torch.zeros(3000, 5, dtype=torch.float16), torch.zeros(3000, dtype=torch.long)
    assert total_loss(logits, labels).item() == pytest.approx(3000 * 1.609438, rel=1e-5)
