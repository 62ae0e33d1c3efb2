"""Every preset is a model that can hold its task, and settings it can be trained with."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.model.build import build
from engine.model.size import parameters
from engine.training import presets
from engine.training.loop import train
from engine.training.objectives import objective_of
from engine.training.recipes import recipe_for
from engine.training.tasks import TASKS, Task, task_named

OWN = {"own_pairs": "a b,x y\n", "own_labels": "a b,good\nc,bad\n"}
ROWS = 40


def task_of(name: str, tmp_path: Path) -> Task:
    if name not in OWN:
        return task_named(name)
    path = tmp_path / "data.csv"
    path.write_text(
        "".join(row.replace("a", f"a{at}") for at in range(ROWS) for row in OWN[name].splitlines(True))
    )
    return task_named(name, path=str(path))


@pytest.mark.parametrize("name", TASKS)
def test_every_size_can_hold_its_task(name: str, tmp_path: Path) -> None:
    task = task_of(name, tmp_path)
    for size in presets.SIZES:
        config = presets.model_for(task, size)
        objective_of(task).check(config, task)


@pytest.mark.parametrize("name", TASKS)
def test_a_step_can_be_made(name: str, tmp_path: Path) -> None:
    task = task_of(name, tmp_path)
    settings = presets.settings_for(task).model_copy(update={"batch_size": 4, "evaluate_count": 2})
    record = next(train(presets.model_for(task, "small"), task, settings))
    assert record.loss > 0
    assert record.tokens > 0


@pytest.mark.parametrize("name", TASKS)
def test_sizes_grow_and_the_large_one_takes_smaller_steps(name: str, tmp_path: Path) -> None:
    task = task_of(name, tmp_path)
    counts = [parameters(presets.model_for(task, size)) for size in presets.SIZES]
    assert 1.8 * counts[0] < counts[1] < counts[2] / 1.8
    rates = [presets.settings_for(task, size).learning_rate for size in presets.SIZES]
    assert rates == [rates[0], rates[0], rates[0] / 2]


def test_the_shape_of_reverse_is_the_one_that_was_measured() -> None:
    config = presets.model_for(task_named("reverse"))
    assert (config.d_model, config.assembly, config.max_len) == (32, "encoder-decoder", 13)
    assert [(stack.n_layers, stack.n_heads, stack.d_ff) for stack in config.stacks.values()] == [
        (1, 2, 128),
        (1, 2, 128),
    ]


def test_induction_is_learned_by_attention_alone_at_a_rate_that_does_not_fall() -> None:
    task = task_named("induction")
    (stack,) = presets.model_for(task).stacks.values()
    assert (stack.feed_forward.kind, stack.d_ff, stack.n_layers, stack.positions.scheme) == (
        "none",
        0,
        2,
        "rope",
    )
    assert presets.settings_for(task).schedule == "constant"


def test_parameters_are_those_of_the_model_that_is_built() -> None:
    config = presets.model_for(task_named("addition"))
    assert parameters(config) == sum(weight.numel() for weight in build(config).parameters())


def test_what_does_not_fit_is_refused_in_one_sentence() -> None:
    task = task_named("reverse")
    stacks = presets.model_for(task).stacks
    with pytest.raises(AtlasError, match="d_model 33 is not divisible by n_heads 2"):
        presets.fitted(
            task,
            d_model=33,
            **{name: stack.model_copy(update={"d_k": None}) for name, stack in stacks.items()},
        )


@pytest.mark.parametrize("name", ["reverse", "text", "induction"])
def test_a_probe_is_a_text_the_model_can_read(name: str) -> None:
    task = task_named(name)
    probe = presets.probe_for(task)
    assert 0 < len(task.tokenizer.ids(probe)) <= presets.model_for(task).max_len


def test_an_image_is_no_text_to_probe_with() -> None:
    assert presets.probe_for(task_named("digits")) == ""


@pytest.mark.parametrize("name", ["addition", "induction", "text", "digits"])
def test_the_medium_size_is_the_model_that_was_shipped(name: str) -> None:
    task = task_named(name)
    assert presets.model_for(task) == recipe_for(name).config(task)


@pytest.mark.parametrize("name", ["reverse", "sort", "numbers", "phrases", "induction"])
def test_what_reads_and_what_writes_are_two_matrices_where_they_are_in_the_shipped_model(name: str) -> None:
    """With one matrix for both no induction head forms within the steps of its preset."""
    task = task_named(name)
    assert presets.model_for(task).tied_embeddings is recipe_for(name).config(task).tied_embeddings
