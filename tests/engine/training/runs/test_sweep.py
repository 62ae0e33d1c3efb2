"""A grid of settings: which runs there are, what follows from a change, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.training import runs
from engine.training.runs import sweep
from engine.training.runs.folder import RunConfig


def test_every_combination_is_a_run_and_its_title_tells_which(home: Path, settings: RunConfig) -> None:
    made = sweep.create(settings, {"training.seed": (1, 2), "training.learning_rate": (0.001, 0.01)})
    assert [run.title for run in made] == [
        "Days: seed 1, learning_rate 0.001",
        "Days: seed 1, learning_rate 0.01",
        "Days: seed 2, learning_rate 0.001",
        "Days: seed 2, learning_rate 0.01",
    ]
    assert [(run.config.training.seed, run.config.training.learning_rate) for run in made if run.config] == [
        (1, 0.001),
        (1, 0.01),
        (2, 0.001),
        (2, 0.01),
    ]
    assert [run.status.state for run in runs.listed()] == ["created"] * 4


def test_what_nobody_chose_follows_from_what_is_changed(settings: RunConfig) -> None:
    """d_ff was chosen, 32; the width of a head and its scale, the number of key heads, were not."""
    wide = sweep.grid(settings, {"model.d_model": (64,), "model.decoder.n_heads": (4,)})[0].model
    assert wide.encoder
    assert wide.decoder
    assert [
        (stack.n_heads, stack.n_kv_heads, stack.d_k, stack.d_ff, stack.scale)
        for stack in (wide.encoder, wide.decoder)
    ] == [(2, 2, 32, 32, 32**-0.5), (4, 4, 16, 32, 0.25)]


def test_the_options_of_a_task_are_settings_too(settings: RunConfig) -> None:
    made = sweep.grid(settings, {"task.length": (3, 4)})
    assert [one.task for one in made] == [{"name": "dates", "length": 3}, {"name": "dates", "length": 4}]


def test_no_axis_is_one_run(settings: RunConfig) -> None:
    assert sweep.grid(settings, {}) == [settings]


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ({"training.seed": range(257)}, "A sweep is of 1 to 256 runs, not 257"),
        ({"training.seed": ()}, "A sweep is of 1 to 256 runs, not 0"),
        ({"title": ("a", "b")}, "There is no setting title that a sweep could change"),
        ({"notes.first": ("a",)}, "There is no setting notes.first"),
        ({"model.heads.n": (1,)}, "There is no setting model.heads.n"),
        ({"training.spice": (1,)}, "With spice 1: there is no setting called training.spice"),
        ({"model.encoder.n_heads": (2, 3)}, "With encoder.n_heads 3: .*16 .*3"),
        ({"task.forms": (-1,)}, "forms"),
    ],
)
def test_a_grid_that_cannot_be_makes_no_run(home: Path, settings: RunConfig, axes: dict, says: str) -> None:
    with pytest.raises(AtlasError, match=says):
        sweep.create(settings, axes)
    assert runs.listed() == []
