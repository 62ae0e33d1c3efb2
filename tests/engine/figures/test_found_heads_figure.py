"""Heads side by side: each matrix stands where its box says, under its own run, and no label is read as markup."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from engine.analysis.found_heads import FoundHead, RunHeads
from engine.analysis.glance import Glance
from engine.analysis.head_place import HeadPlace
from engine.figures.found_heads import found_heads_figure, found_heads_spec, opened
from engine.figures.found_heads_sheet import FORMS, arrange
from engine.figures.theme import DARK, LIGHT


def head(score: str, value: float = 0.75, tokens=("<b>", "x"), layer: int = 0) -> FoundHead:
    place = HeadPlace("masked", "decoder", "self_attention", layer, 1, 1, 2)
    size = len(tokens)
    weights = np.full((size, size), 0.5, np.float32)
    return FoundHead(
        score, value, np.array([0.25]), Glance(place, tokens, tokens, weights, np.tri(size, dtype=bool))
    )


def run(number: int, *heads: FoundHead, label: str = "") -> RunHeads:
    return RunHeads(label or f"run-{number}", number, 100, {one.score: one for one in heads})


TWO = [run(0, head("repeats"), head("previous", 1.0)), run(1, head("previous", 0.5, layer=1))]


def spec_of(runs, form="wide", theme=LIGHT) -> dict:
    return found_heads_spec(runs, theme=theme, form=FORMS[form], translate=str)


def texts(spec: dict) -> list[str]:
    return [note["text"] for note in spec["layout"]["annotations"]]


def test_each_head_has_a_matrix_within_its_box_and_a_click_on_it_means_that_head():
    spec = spec_of(TWO)
    boxes, meant = spec["layout"]["meta"]["tiles"], opened(TWO, FORMS["wide"])
    assert [(one.label, found.score) for one, found in meant] == [
        ("run-0", "repeats"), ("run-0", "previous"), ("run-1", "previous"),
    ]  # fmt: skip
    heats = [trace for trace in spec["data"] if trace["type"] == "heatmap"]
    for heat, (left, top, right, bottom) in zip(heats, boxes, strict=True):
        assert left <= heat["x0"] - heat["dx"] / 2 < heat["x0"] + heat["dx"] * 1.5 <= right + 1e-6
        assert top < heat["y0"] - heat["dy"] / 2 < heat["y0"] + heat["dy"] * 1.5 <= bottom + 1e-6


def test_weights_go_from_0_to_1_and_hidden_cells_are_no_zeros():
    heat = next(trace for trace in spec_of(TWO)["data"] if trace["type"] == "heatmap")
    shown = np.frombuffer(base64.b64decode(heat["z"]["bdata"]), "<f4")
    assert (heat["zmin"], heat["zmax"]) == (0, 1)
    np.testing.assert_array_equal(shown, [0.5, np.nan, 0.5, 0.5])


def test_bars_are_as_long_as_scores_and_ticks_stand_at_the_other_heads():
    runs = [run(0, head("previous", 0.5))]
    (tile,) = arrange(runs, FORMS["wide"]).tiles
    scale, share, ticks = spec_of(runs)["data"][-3:]
    assert scale["x"][:2] == [tile.left, tile.right]
    assert share["x"][:2] == [tile.left, pytest.approx((tile.left + tile.right) / 2)]
    assert ticks["x"] == [pytest.approx(tile.left + (tile.right - tile.left) / 4)]


def test_a_run_without_such_a_head_keeps_its_place_and_says_so():
    said = texts(spec_of(TWO))
    assert said.count("no head has this score here") == 1
    assert said.count("<b>run-1</b>") == 2


def test_tokens_are_named_once_where_runs_read_the_same_and_again_where_they_do_not():
    same = [run(0, head("previous")), run(1, head("previous"))]
    assert texts(spec_of(same)).count("&lt;b&gt;") == 2  # as a query and as a key
    other = [run(0, head("previous")), run(1, head("previous", tokens=("<b>", "y")))]
    assert texts(spec_of(other)).count("&lt;b&gt;") == 4


def test_names_of_runs_are_no_markup_and_tokens_too_small_to_read_are_not_drawn():
    assert "<b>&lt;i&gt;</b>" in texts(spec_of([run(0, head("previous"), label="<i>")]))
    assert "t63" not in texts(spec_of([run(0, head("previous", tokens=tuple(f"t{at}" for at in range(64))))]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_boxes_stand_apart_within_the_sheet(form, count):
    scores = ("true_place", "repeats", "previous", "first")
    runs = [run(at, *map(head, scores)) for at in range(count)]
    layout = spec_of(runs, form)["layout"]
    boxes = layout["meta"]["tiles"]
    assert len(boxes) == 4 * count
    for at, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= layout["width"]
        assert 0 <= top < bottom <= layout["height"]
        for other in boxes[:at]:
            assert right <= other[0] or left >= other[2] or bottom <= other[1] or top >= other[3]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_on_stage_words_and_bars_can_be_read_from_the_last_row(count):
    spec = spec_of([run(at, head("repeats"), head("previous")) for at in range(count)], "talk")
    shrunk = 1221 / spec["layout"]["width"]  # into the room that a stage of 1280 pixels has
    assert min(note["font"]["size"] for note in spec["layout"]["annotations"]) * shrunk >= 16
    assert min(trace["line"]["width"] for trace in spec["data"][-3:-1]) * shrunk >= 5
    assert spec["layout"]["meta"]["format"] == "talk"


def test_the_notebook_figure_of_no_runs_is_empty():
    figure = found_heads_figure([], theme=DARK, form=FORMS["wide"], translate=str)
    assert [trace for trace in figure.to_dict()["data"] if trace["type"] == "heatmap"] == []
