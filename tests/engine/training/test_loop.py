"""The loop: what is learned from, at what rate, and that a run can be repeated to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from engine.config import AtlasError
from engine.training.adamw import AdamW
from engine.training.loop import Training, train
from engine.training.measure import evaluate, write
from engine.training.records import StepRecord
from engine.training.settings import TrainingSettings
from engine.training.tasks import exact
from tests.engine.training.copying import Copying, again, small

ROOT = Path(__file__).parents[3]
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


def test_the_record_counts_letters_and_ends() -> None:
    run = fresh()
    record = next(run)
    drawn = run.task.draw(8, run.chance("data", 1))
    assert record.tokens == sum(len(example.target) + 1 for example in drawn)


def test_copying_is_learned_and_written_without_help(learned: Training) -> None:
    examples = learned.task.suites(200)["held_out"]
    assert exact(examples, write(learned.model, learned.task, examples)) >= 0.97


def test_a_solved_task_looks_where_its_answer_stands(learned: Training) -> None:
    found = evaluate(learned.model, learned.task, learned.task.suites(200)["held_out"])
    assert found.alignment is not None
    assert found.alignment.shares.keys() == {"decoder.layers.0.cross_attention"}
    assert max(found.alignment.share, *found.alignment.means.values()) >= 0.9
    assert found.aligned_accuracy is not None
    assert (
        min(found.exact, found.accuracy, found.aligned_accuracy) >= 0.97
    )  # given the right tokens, and alone
    assert found.loss < 0.3


def test_a_text_is_written_the_same_alone_and_beside_longer_ones(learned: Training) -> None:
    examples = [again("ab"), again("fedcb"), again("ccc")]
    together = write(learned.model, learned.task, examples)
    assert together == [write(learned.model, learned.task, [example])[0] for example in examples]


def test_filling_behind_a_source_changes_no_logit(learned: Training) -> None:
    model = learned.model.double()
    ids, wider = torch.tensor([[4, 5, 6]]), torch.tensor([[4, 5, 6, 0, 9]])
    target, length = torch.tensor([[1, 4, 5]]), torch.tensor([3])
    alone, filled = model(ids, target), model(wider, target, length)
    learned.model.float()
    torch.testing.assert_close(alone, filled, atol=1e-10, rtol=0)


def test_the_rate_told_is_the_rate_used(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[float] = []
    move = AdamW.step
    monkeypatch.setattr(AdamW, "step", lambda optimizer, rate: (used.append(rate), move(optimizer, rate)))
    assert [record.learning_rate for record in fresh()] == used


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


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_thread_that_draws_and_seeds_meanwhile_changes_nothing(dropout: float) -> None:
    quiet = losses(fresh(dropout))
    stop = threading.Event()

    def noise() -> None:
        while not stop.is_set():
            torch.manual_seed(3)
            torch.randn(10)

    thread = threading.Thread(target=noise)
    thread.start()
    try:
        assert losses(fresh(dropout)) == quiet
    finally:
        stop.set()
        thread.join()


LATER = """
import json, sys
import torch
from safetensors.torch import load_file
from engine.training.records import State
from tests.engine.training.test_loop import fresh
folder, dropout = sys.argv[1], float(sys.argv[2])
torch.set_num_threads(int(sys.argv[3]))  # sums depend on it
run = fresh(dropout)
run.resume(State(load_file(f"{folder}/state.safetensors"), json.load(open(f"{folder}/state.json"))))
print(json.dumps([[record.step, record.loss, record.learning_rate, record.gradient_norm] for record in run]))
"""


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_run_resumes_to_the_bit_in_another_process(dropout: float, tmp_path: Path) -> None:
    """Told in the middle of its warm-up, as tensors and JSON."""
    whole = list(fresh(dropout))
    run = fresh(dropout)
    losses(run, 4)
    state = run.state()
    save_file(state.tensors, tmp_path / "state.safetensors")
    (tmp_path / "state.json").write_text(json.dumps(state.values, allow_nan=False), "utf-8")
    command = [sys.executable, "-c", LATER, str(tmp_path), str(dropout), str(torch.get_num_threads())]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    expected = [
        [record.step, record.loss, record.learning_rate, record.gradient_norm] for record in whole[4:]
    ]
    assert json.loads(told) == expected


def test_a_state_is_a_copy_that_later_steps_leave_alone() -> None:
    run = fresh()
    losses(run, 4)
    state = run.state()
    rest = losses(run, 8)
    for _ in range(2):  # going on from it does not change it either
        later = fresh()
        later.resume(state)
        assert losses(later, 8) == rest


def test_measuring_between_steps_changes_no_step() -> None:
    whole = losses(fresh(dropout=0.2))
    run = fresh(dropout=0.2)
    seen = []
    for record in run:
        seen.append(record.loss)
        write(run.model, run.task, [again("abc")])
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
    with pytest.raises(AtlasError, match="needs a model that is encoder-decoder, not decoder-only"):
        train(small(task).model_copy(update={"encoder": None}), task, SHORT)
