"""Attention over training time as a figure: every number stands where it was measured, and the frames play it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.head_place import HeadPlace
from engine.analysis.over_time import Look, OverTime
from engine.figures.over_time import over_time_figure, over_time_spec
from engine.figures.over_time_play import FORMS, Play
from engine.figures.theme import DARK, LIGHT
from engine.training.probe import Probe

STEPS = np.array([0, 10, 900])


def place(head: int) -> HeadPlace:
    return HeadPlace("masked", "decoder", "self_attention", 0, head, head, 2)


def info(tokens=("<b>", "b & c", "d"), loss=(4.0, 2.0, 1.0)) -> OverTime:
    size = len(tokens)
    visible = np.tri(size, dtype=bool)
    even = np.where(visible, 1 / np.arange(1, size + 1)[:, None], 0)
    weights = np.stack([[even, even], [even, np.eye(size)], [np.eye(size), np.eye(size)]]).astype(np.float32)
    scores = {
        "previous": np.array([[0.25, 0.0], [0.5, 0.1], [0.75, 1.0]]),
        "entropy": np.array([[2.0, 1.0]] * 3),
    }
    look = Look("masked", (place(0), place(1)), tokens, tokens, weights, np.stack([visible] * 2), scores)
    return OverTime("Model", Probe("text"), STEPS, np.array(loss), {"masked": look})


def spec_of(found: OverTime | None = None, head=1, form="wide", theme=LIGHT) -> dict:
    return over_time_spec(found or info(), "masked", head, theme=theme, form=FORMS[form], translate=str)


def play(head=1, form="wide") -> Play:
    return Play(info(), "masked", head, LIGHT, FORMS[form], str)


def change(spec: dict, step: str, kind: str) -> dict:
    """What a frame changes in the trace whose ids begin with this letter."""
    frame = next(frame for frame in spec["frames"] if frame["name"] == step)
    at = next(i for i, index in enumerate(frame["traces"]) if spec["data"][index]["ids"][0].startswith(kind))
    return frame["data"][at]


def test_each_snapshot_is_a_frame_with_the_weights_of_that_head():
    spec = spec_of()
    assert [frame["name"] for frame in spec["frames"]] == ["0", "10", "900"]
    assert change(spec, "0", "w")["marker"]["color"] == [1, 0.5, 0.5, 0.333, 0.333, 0.333]
    assert change(spec, "10", "w")["marker"]["color"] == [1, 0, 1, 0, 0, 1]
    assert change(spec_of(head=0), "10", "w")["marker"]["color"][1] == 0.5
    assert spec["data"][0]["fill"] == "toself"  # hidden cells are apart from cells of weight 0


def test_nothing_that_stands_beside_what_moves_is_filled_with_a_pattern():
    """plotly.js fails at a pattern there, and what is drawn after it does not move."""
    assert not [trace for trace in spec_of()["data"] if "fillpattern" in trace]


def test_frames_may_be_played_by_plotly_alone():
    for frame in spec_of()["frames"]:
        assert all(data["type"] == "scatter" for data in frame["data"])
        assert len(frame["data"]) == len(frame["traces"])


def test_the_axis_goes_from_no_step_to_the_last_and_rises():
    drawn = play()
    assert drawn.x([0, 900]).tolist() == [drawn.form.x0, drawn.form.x1]
    assert (np.diff(drawn.x(np.arange(901))) > 0).all()
    assert drawn.x([22])[0] - drawn.x([0])[0] > (drawn.form.x1 - drawn.form.x0) / 8  # the beginning has room


@pytest.mark.parametrize("form", FORMS)
def test_tracks_stand_one_below_the_other_and_values_within_them(form):
    drawn = play(form=form)
    assert [name for name, _ in drawn.tracks] == ["loss", "previous", "entropy"]
    edges = [edge for track in range(3) for edge in drawn.box(track)]
    assert edges == sorted(edges)
    assert edges[-1] <= drawn.form.height
    upper, lower = drawn.box(1)
    assert drawn.y(1, np.array([0.0, 0.5, 1.0])) == pytest.approx([lower, (lower + upper) / 2, upper])
    assert drawn.y(0, np.array([4.0]))[0] == pytest.approx(drawn.box(0)[0])  # of a loss the highest is on top
    assert drawn.grid.xs[-1] <= drawn.form.plate.width


def test_the_line_and_its_dots_walk_to_the_moment():
    spec, drawn = spec_of(), play()
    at = round(float(drawn.x([10])[0]), 1)
    assert change(spec, "10", "n")["x"] == [at, at]
    assert change(spec, "10", "p")["x"] == [at] * 3
    assert change(spec, "10", "p")["y"][1] == pytest.approx(float(drawn.y(1, np.array([0.1]))[0]), abs=0.1)


def test_half_of_the_final_score_is_marked_where_it_is_first_passed():
    texts = [trace["text"] for trace in spec_of(head=0)["data"] if trace["mode"] == "text"]
    assert texts == [["half at step 10"]]  # 0.5 is past half of 0.75
    later = next(trace for trace in spec_of(head=1)["data"] if trace["mode"] == "text")
    assert later["text"] == ["half at step 900"]
    falling = info()
    look = replace(falling.looks["masked"], scores={"entropy": np.array([[2.0, 1.0]] * 3)})
    spec = spec_of(replace(falling, looks={"masked": look}))
    assert not [trace for trace in spec["data"] if trace["mode"] == "text"]


def test_without_a_loss_there_is_no_track_of_it():
    drawn = Play(info(loss=(np.nan,) * 3), "masked", 0, LIGHT, FORMS["wide"], str)
    assert [name for name, _ in drawn.tracks] == ["previous", "entropy"]


def test_no_token_is_read_as_markup_and_numbers_of_a_moment_are_said():
    spec = spec_of()
    labels = [note["text"] for note in spec["layout"]["annotations"]]
    assert "&lt;b&gt;" in labels
    assert "b &amp; c" in labels
    moment = spec["layout"]["meta"]["steps"][1]
    assert moment["heading"] == "After 10 of 900 steps"
    assert "loss of this text, nats a token: 2.00 · " in moment["sentence"]
    assert "on the token before, weight: .100" in moment["sentence"]


def test_a_text_of_32_tokens_and_40_snapshots_travels_in_a_quarter_of_a_megabyte():
    spec = spec_of(info(tokens=tuple("abcdefgh" * 4)), theme=DARK)
    frames = len(json.dumps(spec["frames"])) / 3 * 40
    assert len(json.dumps(spec | {"frames": []})) + frames < 250_000


def test_a_click_in_the_matrix_can_be_read():
    meta = spec_of()["layout"]["meta"]
    assert len(meta["matrix"]["xs"]) == len(meta["matrix"]["ys"]) == 4
    assert meta["whole"]


def test_the_notebook_figure_stands_at_its_end():
    figure = over_time_figure(info(), "masked", 1, theme=LIGHT, form=FORMS["wide"], translate=str)
    drawn = figure.to_dict()["data"]
    cells = next(trace for trace in drawn if (trace.get("ids") or [""])[0].startswith("w"))
    assert list(cells["marker"]["color"]) == [1, 0, 1, 0, 0, 1]
    assert cells["marker"]["symbol"] == "square"
