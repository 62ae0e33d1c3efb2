"""Attention over training time, of Pocket with snapshots made for the purpose: one looks evenly, one is Pocket."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.analysis.over_time import OverTime
from engine.analysis.replay import replay
from engine.config import AtlasError
from engine.home import EMBEDDED
from engine.language_model import load
from engine.snapshots import snapshots
from engine.training.probe import Probe

W_Q, HEAD = "decoder.layers.0.self_attention.W_q.weight", "head.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """After no step no query asks anything and nothing is expected; after 100 steps a tenth of Pocket, then Pocket."""
    folder = Path(shutil.copytree(EMBEDDED / "pocket", tmp_path / "pocket"))
    (folder / "snapshots").mkdir()
    weights = load_file(folder / "model.safetensors")
    for step, share in ((0, 0.0), (100, 0.1), (900, 1.0)):
        then = weights | {name: weights[name] * share for name in (W_Q, HEAD)}
        save_file(then, folder / "snapshots" / f"step-{step:06d}.safetensors")
    return folder


def of(folder: Path, probe: Probe | None = None) -> OverTime:
    lm = load(folder)
    return replay(lm, snapshots(lm, folder), probe or Probe("the cat sat"))


def test_at_first_every_query_looks_evenly_and_expects_every_word_alike(folder: Path):
    found = of(folder)
    assert found.steps.tolist() == [0, 100, 900]
    look = found.looks["masked"]
    assert look.weights[0, 0].tolist() == pytest.approx(
        np.array([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    )
    assert look.scores["previous"][0].tolist() == [pytest.approx((1 / 2 + 1 / 3) / 2)]
    assert look.scores["entropy"][0].tolist() == [pytest.approx((math.log(2) + math.log(3)) / 3)]
    assert found.loss[0] == pytest.approx(math.log(12))


def test_in_the_end_everything_is_as_the_model_itself_has_it(folder: Path):
    lm, found = load("pocket"), of(folder)
    trace = lm.trace("the cat sat")
    assert (
        found.looks["masked"].weights[-1, 0] == trace["decoder.layers.0.self_attention.weights"][0, 0].numpy()
    ).all()
    logs = trace.logits[0].log_softmax(-1)
    words = [lm.tokenizer.ids(word)[0] for word in ("cat", "sat")]
    assert found.loss[-1] == pytest.approx(-float(logs[0, words[0]] + logs[1, words[1]]) / 2, abs=1e-6)
    assert found.looks["masked"].visible.tolist() == [np.tri(3, dtype=bool).tolist()]


def test_true_places_are_asked_for_where_the_glob_says(folder: Path):
    places = {2: frozenset({1})}
    found = of(folder, Probe("the cat sat", places=places, sites="*.cross_attention"))
    assert "true_place" not in found.looks["masked"].scores
    look = of(folder, Probe("the cat sat", places=places)).looks["masked"]
    assert (look.telling, look.strongest) == ("true_place", 0)
    assert look.scores["true_place"][:, 0].tolist() == [
        0,
        1,
        1,
    ]  # of equal weights the first one is the greatest


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.4, 0.8], 900),  # 0.4 is half, and not past it
        ([0.0, 0.5, 0.8], 100),
        ([0.3, 0.3, 0.4], 0),  # it began there
        ([0.4, 0.2, 0.4], None),
        ([0.4, 0.2, 0.1], None),
    ],
)
def test_the_step_after_which_a_score_is_past_half_of_its_final_value(folder: Path, values, expected):
    found = of(folder)
    look = replace(
        found.looks["masked"], scores={"previous": np.array(values)[:, None], "entropy": np.ones((3, 1))}
    )
    changed = replace(found, looks={"masked": look})
    assert changed.half("masked", 0, "previous") == expected
    assert changed.half("masked", 0, "entropy") is None


def test_a_text_that_is_not_gone_on_with_has_no_loss(folder: Path):
    assert np.isnan(of(folder, Probe("the cat sat", goes_on=False)).loss).all()


def test_an_encoder_decoder_reads_the_same_target_at_every_moment(tmp_path: Path):
    folder = Path(shutil.copytree(EMBEDDED / "dates", tmp_path / "dates"))
    shutil.rmtree(folder / "snapshots")
    (folder / "snapshots").mkdir()
    weights = load_file(folder / "model.safetensors")
    blank = {name: torch.zeros_like(value) for name, value in weights.items()}
    for step, then in ((0, blank), (7, weights)):
        save_file(then, folder / "snapshots" / f"step-{step:06d}.safetensors")
    found = of(folder, Probe("3 June 2025"))
    assert found.probe.target == "2025-06-03"
    assert list(found.looks) == ["self", "masked", "cross"]
    assert found.looks["cross"].weights.shape == (2, 4, 11, 11)
    assert found.loss[0] == pytest.approx(
        math.log(load(folder).config.vocab_size)
    )  # its end is one of eleven tokens
    assert found.loss[1] < 0.2


def test_no_snapshots_and_a_text_that_is_too_long_are_refused(folder: Path):
    with pytest.raises(AtlasError, match="no snapshots of Pocket"):
        replay(load("pocket"), [], Probe("the cat sat"))
    dates = load("dates")
    long = replace(dates, config=dates.config.model_copy(update={"max_len": 100}))
    with pytest.raises(AtlasError, match="up to 64"):
        replay(long, [], Probe("3 June 2025", "2" * 70))


def test_weights_of_another_model_are_refused(folder: Path):
    save_file({W_Q: torch.zeros(2, 2)}, folder / "snapshots" / "step-000100.safetensors")
    with pytest.raises(AtlasError):
        of(folder)
