"""Runs side by side: only what differs is told, and all of it."""

from __future__ import annotations

from engine.config import StackConfig, TransformerConfig
from engine.training.runs.differences import differences
from engine.training.runs.folder import RunConfig
from engine.training.settings import TrainingSettings


def config(title: str, heads: int = 2, **training) -> RunConfig:
    decoder = StackConfig(n_layers=1, n_heads=heads)
    model = TransformerConfig(vocab_size=36, d_model=8, max_len=48, decoder=decoder)
    settings = TrainingSettings(**{"steps": 10, **training})
    return RunConfig(title=title, task={"name": "induction"}, model=model, training=settings)


def test_equal_settings_differ_in_nothing_whatever_people_call_them():
    assert differences({"a": config("A"), "b": config("B")}) == {}
    assert differences({"a": config("A")}) == {}
    assert differences({}) == {}


def test_each_setting_that_differs_has_its_value_of_every_run():
    found = differences({"a": config("A"), "b": config("A", seed=3), "c": config("A", heads=4)})
    assert found["training.seed"] == {"a": 0, "b": 3, "c": 0}
    assert found["model.decoder.n_heads"] == {"a": 2, "b": 2, "c": 4}
    assert {name.rsplit(".", 1)[-1] for name in found} <= {"seed", "n_heads", "n_kv_heads", "d_k", "scale"}


def test_a_setting_that_only_one_run_has_is_told_as_none_of_the_others():
    task = {"name": "induction", "length": 60}
    found = differences({"a": config("A"), "b": config("A").model_copy(update={"task": task})})
    assert found == {"task.length": {"a": None, "b": 60}}


def test_a_part_that_one_run_does_not_have_is_one_difference():
    both = config("A").model.model_copy(update={"encoder": StackConfig(n_layers=2, n_heads=2)})
    found = differences({"a": config("A"), "b": config("A").model_copy(update={"model": both})})
    assert found == {"model.encoder": {"a": None, "b": True}}


def test_a_number_is_not_a_truth_value():
    found = differences({"a": config("A", patience=None), "b": config("A", evaluate_every=1, patience=1)})
    assert found["training.patience"] == {"a": None, "b": 1}
