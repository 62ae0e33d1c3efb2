"""Cases that train: what goes wrong does, and what the words beside it claim is so."""

from __future__ import annotations

import math

import pytest
import torch

from engine.analysis.evidence import Curves, Writings
from engine.clinic import practice
from engine.clinic.cases import learning_rate_too_high, target_not_shifted
from engine.clinic.practice import decoder, learn, letters
from tests.engine.clinic.numbers import both, measured, values

CHANCE = 3.4657  # ln 32


def test_letters_are_asked_for_from_so_many_places_back() -> None:
    ids, labels = practice.recall(torch.tensor([[4, 5, 6, 7]]), back=3)
    assert ids.tolist() == [[4, 5, 6, 7]]
    assert labels.tolist() == [[-100, -100, -100, 4]]
    first, second = next(letters(3, 1)), next(letters(3, 1))
    assert torch.equal(first[0], second[0])
    assert first[0].shape == (32, 16)


def test_a_loss_counts_what_is_asked_and_knowing_nothing_costs_the_logarithm() -> None:
    _, labels = next(letters(0, 1))
    assert practice.loss_of(torch.zeros(32, 16, 32), labels).item() == pytest.approx(CHANCE, abs=1e-4)
    asked = labels.masked_fill(labels == practice.UNASKED, 31)
    sure = torch.nn.functional.one_hot(asked, 32).float()
    assert practice.right(sure, labels) == 1.0
    assert practice.right(-sure, labels) == 0.0


def test_a_rate_that_is_too_high_stays_at_chance_and_a_lower_one_learns() -> None:
    (too_fast, lower), (guessing, _), _ = values(measured("learning_rate_too_high", steps=80))
    assert guessing == pytest.approx(CHANCE, abs=1e-4)
    assert too_fast > 3.2
    assert lower < 2.8


def test_clipping_does_not_tame_adam() -> None:
    model = decoder(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    assert learn(model, letters(0, 60), optimizer, clip=1.0).last > 3.2
    assert learning_rate_too_high.CASE.question.answers[1].startswith("Hardly")


def test_a_deep_post_norm_stack_waits_at_chance_for_its_warm_up() -> None:
    found = measured("no_warmup", steps=90, warmup=60)
    at_once, warmed = values(found)[0]
    assert at_once == pytest.approx(CHANCE, abs=0.1)
    assert warmed < 3.3
    (loss, _) = found.panels
    assert isinstance(loss, Curves)
    assert loss.broken[0].at[[0, -1]].tolist() == [1, 90]


def test_one_post_norm_layer_learns_without_warm_up() -> None:
    at_once, _ = values(measured("no_warmup", layers=1, steps=120))[0]
    assert at_once < 3.0


class Slope(torch.nn.Module):
    """Logits that rise with the letter's number, as steeply as its one weight says."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.weight * torch.arange(32.0).expand(*ids.shape, 32) * ids[..., None]


def test_rates_rise_in_a_line_and_clipping_bounds_the_step() -> None:
    model = Slope()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    found = learn(model, letters(0, 1), optimizer, lambda step: 0.5 * step, clip=2.0)
    assert found.norms[0] > 2.0  # as it was before clipping
    assert model.weight.abs().item() == pytest.approx(0.5 * 2.0, rel=1e-4)
    assert math.isfinite(found.last)


def test_an_unshifted_target_is_its_own_input_and_the_text_stands_still() -> None:
    rows = torch.tensor([[1, 2, 3, 4]])
    assert [part.tolist() for part in target_not_shifted.unshifted(rows)] == [[[1, 2, 3]], [[1, 2, 3]]]
    assert [part.tolist() for part in target_not_shifted.shifted(rows)] == [[[1, 2, 3]], [[2, 3, 4]]]
    found = measured("target_not_shifted", steps=50)
    assert values(found)[0] == (0, 32)
    texts = found.panels[0]
    assert isinstance(texts, Writings)
    assert (texts.examples[0].prompt, texts.examples[0].broken, texts.examples[0].mended) == (
        "abcd", "dddddddd", "efghijkl",
    )  # fmt: skip


def test_gradients_without_norms_explode_unless_they_are_clipped() -> None:
    loss, lost, _ = measured("gradients_explode").measures
    assert math.isnan(both(loss)[0])
    assert both(loss)[1] < 3.3
    assert lost.broken is not None
    assert lost.mended is None


def test_clipping_does_not_bring_back_a_number() -> None:
    """What the case's question says: a NaN in one weight makes the norm NaN, and then every gradient."""
    weights = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))]
    weights[0].grad, weights[1].grad = torch.tensor([math.nan, 1.0]), torch.tensor([1.0, 1.0])
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    assert weights[1].grad.isnan().all()


def test_a_small_text_is_learned_by_heart_and_more_text_is_not() -> None:
    end, lowest, step, own = values(measured("overfits", steps=160))
    assert end[0] > lowest[0] + 0.3  # it rose
    assert step[0] < 160
    assert own[0] < 2.0 < lowest[0]
    assert end[1] < 2.5  # and with more text it falls to the end
    assert end[1] == lowest[1]


def test_adam_without_its_moments_takes_one_step_of_the_whole_rate() -> None:
    step, beyond, _, farthest = values(measured("optimizer_not_restored", before=60))
    weights = sum(one.numel() for one in decoder(0).parameters())
    assert step[0] == pytest.approx(
        0.004 * math.sqrt(weights), rel=0.05
    )  # each by the rate, whatever its gradient
    assert step[1] < step[0] / 2
    assert beyond[0] > 0.01
    assert beyond[1] == 0.0
    assert farthest[0] > 0.004
    assert farthest[1] == 0.0  # with them, to the bit
