"""The loop: what is learned from, at what rate, and that a run can be repeated to the bit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from engine.config import AtlasError
from engine.training.batches import collate
from engine.training.loop import StepRecord, Training, TrainingSettings, learning_rate, sequence_loss, train
from engine.training.measure import alignment, write
from engine.training.tasks import exact
from tests.engine.training.copying import Copying, again, small

SHORT = TrainingSettings(steps=12, batch_size=8, warmup=6, seed=5)


@pytest.fixture(scope="module")
def learned() -> Training:
    task = Copying()
    run = train(small(task), task, TrainingSettings(steps=300, batch_size=32, learning_rate=5e-3, warmup=30))
    for _ in run:
        pass
    return run


def losses(run: Training, steps: int | None = None) -> list[float]:
    return [record.loss for _, record in zip(range(steps or run.settings.steps), run, strict=False)]


def fresh(dropout: float = 0.0) -> Training:
    task = Copying()
    return train(small(task, dropout), task, SHORT)


# ── what is learned from ────────────────────────────────────────────────────────────────────────────────────


def test_a_target_is_read_from_its_begin_and_asked_up_to_its_end() -> None:
    tokenizer = Copying().tokenizer
    batch = collate([again("abc"), again("f")], tokenizer)
    a, b, c, f = tokenizer.ids("abcf")
    begin, end = tokenizer.bos_id, tokenizer.eos_id
    assert batch.source_ids[0].tolist() == [a, b, c]
    assert batch.source_lengths.tolist() == [3, 1]
    assert batch.target_ids[0, :-1].tolist() == [begin, a, b, c]  # in
    assert batch.target_ids[0, 1:].tolist() == [a, b, c, end]  # out
    assert batch.target_ids[1, :3].tolist() == [begin, f, end]
    assert batch.target_lengths.tolist() == [5, 3]


def test_filling_is_told_by_length_even_if_it_looks_like_the_end() -> None:
    logits = torch.randn(1, 5, 7)
    labels = torch.tensor([[5, 6, 2, 2, 2]])  # the first 2 is the end, the others are filling
    chances = logits[0].log_softmax(-1)
    by_hand = -(chances[0, 5] + chances[1, 6] + chances[2, 2]) / 3
    torch.testing.assert_close(sequence_loss(logits, labels, torch.tensor([3])), by_hand)


@pytest.mark.parametrize(("smoothing", "loss"), [(0.0, 1.887133), (0.1, 1.927133)])
def test_smoothing_spreads_over_every_token_and_leaves_filling_out(smoothing: float, loss: float) -> None:
    logits = torch.tensor([[[0.0, 1, 2, 0, -1], [1, 0, 0, 3, 0], [2, 2, 2, 2, 2]]])
    labels = torch.tensor([[2, 1, 0]])
    found = sequence_loss(logits, labels, torch.tensor([2]), smoothing)
    assert found.item() == pytest.approx(loss, abs=2e-6)


def test_nothing_but_filling_costs_nothing() -> None:
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = sequence_loss(logits, torch.zeros(2, 3, dtype=torch.long), torch.tensor([0, 0]), 0.1)
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert logits.grad.eq(0).all()


def test_knowing_nothing_costs_the_logarithm_of_the_vocabulary() -> None:
    loss = sequence_loss(torch.zeros(2, 3, 13), torch.ones(2, 3, dtype=torch.long), torch.tensor([3, 1]), 0.1)
    assert loss.item() == pytest.approx(2.565, abs=1e-3)


def test_the_record_counts_letters_and_ends() -> None:
    run = fresh()
    record = next(run)
    drawn = run.task.draw(8, run.chance("data"))
    assert record.tokens == sum(len(example.target) + 1 for example in drawn)


def test_copying_is_learned_and_written_without_help(learned: Training) -> None:
    examples = learned.task.suites(200)["held_out"]
    written = write(learned.model, learned.task, [example.source for example in examples])
    assert exact(examples, written) >= 0.97


def test_a_solved_task_looks_where_its_answer_stands(learned: Training) -> None:
    examples = learned.task.suites(200)["held_out"]
    found = alignment(learned.model, learned.task.tokenizer, examples)
    (layer,) = found["layers"]
    assert (layer["layer"], len(layer["heads"]), found["count"]) == (0, 2, 200)
    assert found["best"] == {
        "layer": 0,
        "head": layer["heads"].index(max(layer["heads"])),
        "share": max(layer["heads"]),
    }
    assert max(found["best"]["share"], layer["mean"]) >= 0.9


def test_a_text_is_written_the_same_alone_and_beside_longer_ones(learned: Training) -> None:
    texts = ["ab", "fedcb", "ccc"]
    together = write(learned.model, learned.task, texts)
    assert together == [write(learned.model, learned.task, [text])[0] for text in texts]


def test_filling_behind_a_source_changes_no_logit(learned: Training) -> None:
    model = learned.model.double()
    ids, wider = torch.tensor([[4, 5, 6]]), torch.tensor([[4, 5, 6, 0, 9]])
    target, length = torch.tensor([[1, 4, 5]]), torch.tensor([3])
    alone, filled = model(ids, target), model(wider, target, length)
    learned.model.float()
    torch.testing.assert_close(alone, filled, atol=1e-10, rtol=0)


# ── the rate ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_rate_climbs_in_a_line_and_falls_half_a_cosine() -> None:
    settings = TrainingSettings(steps=100, warmup=20, learning_rate=0.01, final_rate=0.1)
    assert learning_rate(1, settings) == pytest.approx(0.01 / 20)
    assert learning_rate(10, settings) == pytest.approx(0.005)
    assert learning_rate(20, settings) == pytest.approx(0.01)
    assert learning_rate(60, settings) == pytest.approx(0.01 * (0.1 + 0.9 / 2))  # half way down
    assert learning_rate(100, settings) == pytest.approx(0.001)


def test_no_warmup_begins_at_the_peak_and_only_warmup_ends_there() -> None:
    assert learning_rate(1, TrainingSettings(steps=10**6, warmup=0, learning_rate=0.01)) == pytest.approx(
        0.01
    )
    assert learning_rate(5, TrainingSettings(steps=5, warmup=5, learning_rate=0.01)) == 0.01


def test_the_rate_told_is_the_rate_used() -> None:
    run = fresh()
    for record in run:
        assert run.optimizer.param_groups[0]["lr"] == record.learning_rate


def test_the_gradient_is_clipped_after_it_is_told() -> None:
    task = Copying()
    run = train(small(task), task, SHORT.model_copy(update={"clip": 1e-3}))
    record = next(run)
    left = torch.stack(
        [weight.grad.norm() for weight in run.model.parameters() if weight.grad is not None]
    ).norm()
    assert record.gradient_norm > 0.1
    assert left.item() == pytest.approx(1e-3, rel=1e-3)


# ── chance ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_seed_repeats_a_run_and_leaves_torchs_generator_alone(dropout: float) -> None:
    before = torch.get_rng_state()
    first = losses(fresh(dropout))
    torch.manual_seed(99)
    assert losses(fresh(dropout)) == first
    torch.set_rng_state(before)
    other = train(small(Copying(), dropout), Copying(), SHORT.model_copy(update={"seed": 6}))
    assert losses(other) != first
    assert torch.equal(torch.get_rng_state(), before)


def test_a_thread_that_draws_and_seeds_meanwhile_changes_nothing() -> None:
    quiet = losses(fresh())
    stop = threading.Event()

    def noise() -> None:
        while not stop.is_set():
            torch.manual_seed(3)
            torch.randn(10)

    thread = threading.Thread(target=noise)
    thread.start()
    try:
        assert losses(fresh()) == quiet
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_run_resumes_to_the_bit_in_the_middle_of_its_warmup(dropout: float, tmp_path: Path) -> None:
    whole = list(fresh(dropout))
    run = fresh(dropout)
    losses(run, 4)
    torch.save(run.state(), tmp_path / "state.pt")
    later = fresh(dropout)
    later.resume(torch.load(tmp_path / "state.pt"))
    assert list(later) == whole[4:]


def test_measuring_between_steps_changes_no_step() -> None:
    whole = losses(fresh(dropout=0.2))
    run = fresh(dropout=0.2)
    seen = []
    for record in run:
        seen.append(record.loss)
        write(run.model, run.task, ["abc"])
        assert run.model.training
    assert seen == whole


def test_measuring_gives_the_mode_back_even_when_it_fails() -> None:
    run = fresh()
    with pytest.raises(TypeError):
        write(run.model, run.task, [None])  # type: ignore[list-item]
    assert run.model.training


def test_a_run_is_an_iterator_that_ends() -> None:
    run = fresh()
    assert isinstance(run, Iterator)
    records = list(run)
    assert [record.step for record in records] == list(range(1, 13))
    assert all(isinstance(record, StepRecord) for record in records)
    assert next(run, None) is None


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    list(fresh())
    assert capsys.readouterr() == ("", "")


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_too_short_or_with_another_vocabulary_is_refused_with_both_numbers() -> None:
    task = Copying()
    config = small(task)
    with pytest.raises(AtlasError, match="needs 6 positions, but max_len is 5"):
        train(config.model_copy(update={"max_len": 5}), task, SHORT)
    with pytest.raises(AtlasError, match="has 10 tokens, but vocab_size is 11"):
        train(config.model_copy(update={"vocab_size": 11}), task, SHORT)


def test_a_model_that_cannot_read_and_write_is_refused() -> None:
    task = Copying()
    with pytest.raises(AtlasError, match="needs an encoder and a decoder, not a model that is decoder-only"):
        train(small(task).model_copy(update={"encoder": None}), task, SHORT)
