"""Cases of a model that answers: what is seen is so, and what the words beside it claim."""

from __future__ import annotations

import math
from itertools import islice

import pytest
import torch

from engine.analysis.evidence import Writings
from engine.clinic.cases import cost_of_length, greedy_repeats, no_cache, quantized
from engine.clinic.cases.cost_of_length import in_blocks, one_kernel, written_down
from engine.clinic.practice import decoder
from engine.model.transformer import DecoderOnly
from tests.engine.clinic.numbers import measured, values


def test_dropout_that_is_left_on_changes_answers_and_eval_ends_it() -> None:
    right, changed = values(measured("dropout_at_inference", dropout=0.05))
    assert right[0] < 80
    assert right[1] > 95
    assert changed[0] > 20
    assert changed[1] == 0


def test_each_reading_of_a_text_has_marks_of_its_own() -> None:
    (texts,) = measured("dropout_at_inference").panels
    assert isinstance(texts, Writings)
    first, again, *_ = texts.examples
    assert first.prompt == again.prompt
    assert first.broken != again.broken
    assert first.mended == again.mended == first.expected == again.expected == first.prompt[::-1]


def test_greedy_text_goes_in_circles_and_drawn_text_does_not() -> None:
    again, different = values(measured("greedy_repeats"))
    assert again[0] > again[1] + 15
    assert different[0] * 3 < different[1]


def test_at_temperature_zero_nothing_is_drawn() -> None:
    again, different = values(measured("greedy_repeats", temperature=0.0))
    assert again[0] == again[1]
    assert different[0] == different[1]


def test_stretches_are_counted_within_each_text() -> None:
    rows = [[1, 2] * 8, list(range(16))]  # 5 stretches of twelve each; 2 of those of the first differ
    assert greedy_repeats.repeated(rows) == pytest.approx(100 * 3 / 10)
    assert greedy_repeats.different(rows) == 7


def test_a_cache_changes_no_token_and_reads_each_position_once() -> None:
    _, _, read, others = measured("no_cache", tokens=40, layers=1).measures
    assert (read.broken, read.mended) == (sum(range(8, 48)), 47)
    assert (others.broken, others.mended) == (0, 0)
    asked = list(no_cache.CASE.question.answers)
    assert asked == [f"{8 + 99:,}", f"{sum(range(8, 108)):,}", "10,800"]


def test_both_ways_of_writing_are_greedy() -> None:
    model = decoder(3, n_layers=1)
    assert isinstance(model, DecoderOnly)
    prompt = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        slow = [int(token) for token in islice(no_cache.anew(model, prompt), 5)]
        fast = [int(token) for token in islice(no_cache.cached(model, prompt), 5)]
        first = int(model(prompt)[0, -1].argmax())
    assert slow == fast
    assert slow[0] == first


def test_eight_bits_change_hardly_a_letter_and_four_bits_many() -> None:
    other, size, _, loss, _ = values(measured("quantized"))
    assert other[0] > 5 > 2 > other[1]
    assert 14 < size[0] < 17  # 4.5 bits of 32 are 14 %, and vectors stay whole
    assert 26 < size[1] < 29  # 8.5 bits are 27 %
    assert loss[0] > 0.02
    assert abs(loss[1]) < 0.005


def test_blocks_of_thirty_two_share_a_scale() -> None:
    """By hand: the largest number of a block becomes 127 steps in Q8_0; half a step is the most that is lost."""
    weight = torch.linspace(-1, 1, 32)[None]
    back, size = quantized.eight_bits(weight, "Q4_0")
    assert size == 32 + 2
    assert float((back - weight).abs().max()) <= 0.5 / 127 + 1e-3 / 2  # the scale itself has half precision
    back, size = quantized.coarse(weight, "Q4_0")
    assert size == 16 + 2
    assert len(back.unique()) <= 16


def test_one_kernel_gives_what_written_scores_give() -> None:
    q, k, v = torch.randn(3, 2, 64, 8, dtype=torch.float64)
    assert torch.allclose(one_kernel(q, k, v, 0), written_down(q, k, v, 0), atol=1e-12)


def test_a_window_sees_itself_and_what_stands_right_before() -> None:
    q, k, v = torch.randn(3, 2, 64, 8, dtype=torch.float64)
    found = one_kernel(q, k, v, 16)
    at = torch.arange(64)
    seen = (at[None] <= at[:, None]) & (at[None] > at[:, None] - 16)
    scores = (q @ k.mT / math.sqrt(8)).masked_fill(~seen, -math.inf)
    assert torch.allclose(found, scores.softmax(-1) @ v, atol=1e-12)
    assert in_blocks(q, k, v, 16)[1].shape == (2, 4, 32, 8)


def test_what_length_costs_is_counted() -> None:
    written, _, _, scores = measured("cost_of_length", longest=256, window=32).measures
    assert (scores.broken, scores.mended) == (4 * 256 * 256, 4 * 256 * 64)
    assert (written.broken, written.mended) == (pytest.approx(1.048576), None)  # 4 bytes, 4 heads, 256 by 256
    assert cost_of_length.growth(cost_of_length.np.array([2.0, 3.0, 12.0])) == 4.0


def test_places_beyond_training_are_guessed_and_distances_are_not() -> None:
    double, triple, trained = values(measured("beyond_trained_length", steps=200))
    assert trained[0] > 60
    assert double[0] < 50
    assert triple[0] < 45
    assert min(double[1], triple[1]) > 85
