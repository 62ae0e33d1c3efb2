"""The ledger as plotly.js gets it: valid, true to the walk, the same cells at every step."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from engine.figures.drawing import changes
from engine.figures.grid import Grid
from engine.figures.hatching import hidden_runs
from engine.figures.ledger import ledger, ledger_spec
from engine.figures.matrix import pooled
from engine.figures.sheet import FORMATS, Box, lay_out, strip_shape
from engine.figures.strips import short, written
from engine.figures.theme import LIGHT, THEMES, text_width
from tests.engine.figures.walks import walk

STEPS = ["1", "2", "3", "4a", "4", "5", "6", "7a", "7", "8", "9", "10"]
SENTENCE = ["the", "cat", "saw", "the", "mat"]


def say(text: str) -> str:
    return text


def spec_of(made, form: str = "wide", theme: str = "light") -> dict:
    return ledger_spec(made, theme=THEMES[theme], form=FORMATS[form], translate=say)


def cells(spec: dict, step: str = "") -> list[dict]:
    """The rows of square cells with numbers, as they stand at a step (at the first without one)."""
    traces = [dict(trace) for trace in spec["data"]]
    frame = next((frame for frame in spec["frames"] if frame["name"] == step), {"traces": [], "data": []})
    for index, change in zip(frame["traces"], frame["data"], strict=True):
        for name, value in change.items():
            old = traces[index].get(name)
            traces[index][name] = (
                {**old, **value} if isinstance(value, dict) and isinstance(old, dict) else value
            )
    return [trace for trace in traces if trace.get("mode") == "markers+text"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("form", ["wide", "talk", "narrow"])
@pytest.mark.parametrize(
    "labels", [["a"], SENTENCE, [f"word{i}" for i in range(40)], [f"t{i}" for i in range(100)]]
)
def test_plotly_accepts_every_format_from_one_token_to_a_hundred(labels, form, theme):
    figure = ledger(walk(labels), theme=THEMES[theme], form=FORMATS[form], translate=say)
    assert [frame["name"] for frame in figure.to_dict()["frames"]] == STEPS


def test_repeated_words_keep_their_columns():
    spec = spec_of(walk(SENTENCE))
    for row in cells(spec):
        assert len(set(row["x"])) == 5
    keys = [note["text"] for note in spec["layout"]["annotations"][1:]]
    assert keys == SENTENCE


def test_tokens_are_shown_verbatim_and_never_inside_a_template():
    strange = ["<b>", "a<br>b", "&amp;", "%{z}", "</script>", "$5", "é", "שלום", "3", "2026-01-01"]
    spec = spec_of(walk(strange))
    shown = [note["hovertext"] for note in spec["layout"]["annotations"][1:]]
    assert shown == [
        "&lt;b&gt;",
        "a&lt;br&gt;b",
        "&amp;amp;",
        "%{z}",
        "&lt;/script&gt;",
        "$5",
        "é",
        "שלום",
        "3",
        "2026-01-01",
    ]
    templates = {trace.get("hovertemplate", "") for trace in spec["data"]}
    assert not any(label in template for label in ("<b>", "$5", "שלום") for template in templates)
    assert spec["layout"]["xaxis"]["range"] == [
        0,
        spec["layout"]["width"],
    ]  # numbers, not categories or dates


def test_the_first_query_is_on_top():
    spec = spec_of(walk(SENTENCE))
    low, high = spec["layout"]["yaxis"]["range"]
    assert (low, high) == (spec["layout"]["height"], 0)
    matrix = spec["layout"]["meta"]["matrix"]
    others = next(trace for trace in spec["data"] if trace.get("mode") == "markers" and len(trace["x"]) == 20)
    assert others["customdata"][0].startswith("the → the")
    assert others["y"][0] == pytest.approx((matrix["ys"][0] + matrix["ys"][1]) / 2, abs=0.1)
    assert matrix["ys"] == sorted(matrix["ys"])


def test_cells_slide_from_lane_to_lane_and_keep_their_ids():
    spec = spec_of(walk(SENTENCE))
    names = ("scores", "scaled", "masked", "positive", "weights")
    end = dict(zip(names, (row["y"][0] for row in cells(spec, "10")), strict=True))
    assert sorted(end.values()) == list(end.values())
    for row in cells(spec):
        assert row["ids"] == ["k0", "k1", "k2", "k3", "k4"]
    before = dict(zip(names, cells(spec, "4"), strict=True))
    assert before["scaled"]["y"][0] == end["scores"]
    assert before["scaled"]["marker"]["opacity"] == 0
    assert cells(spec, "5")[1]["y"][0] == end["scaled"]


def test_one_product_first_then_the_row():
    spec = spec_of(walk(SENTENCE, focus=2))
    assert cells(spec, "3")[0]["marker"]["opacity"] == 0
    assert cells(spec, "4a")[0]["marker"]["opacity"] == [0, 0, 1, 0, 0]
    assert cells(spec, "4")[0]["marker"]["opacity"] == 1


def test_masked_is_not_zero():
    made = walk(SENTENCE, query=2)
    rows = dict(
        zip(("scores", "scaled", "masked", "positive", "weights"), cells(spec_of(made), "10"), strict=True)
    )
    assert rows["masked"]["text"][3:] == ["−∞", "−∞"]
    assert rows["weights"]["text"][3:] == ["0", "0"]
    assert rows["masked"]["marker"]["color"][3] == LIGHT.faint
    # the range of colours comes from what is visible: its largest has the full colour
    strongest = int(np.argmax(np.abs(made.masked[:3])))
    end = LIGHT.signed[2] if made.masked[strongest] > 0 else LIGHT.signed[0]
    assert rows["masked"]["marker"]["color"][strongest] == end.lower()


def test_dividing_is_seen_to_shrink_the_row():
    made = walk(SENTENCE)
    rows = cells(spec_of(made), "10")
    limit = np.abs(made.scores).max()
    assert rows[1]["marker"]["color"] == [LIGHT.signed_color(value, limit) for value in made.scaled]


def test_strips_hold_the_numbers_themselves():
    made = walk(SENTENCE)
    heat = [
        trace
        for trace in spec_of(made)["data"]
        if trace["type"] == "heatmap" and trace["hovertemplate"][0] == "k"
    ]
    rows, columns = map(int, heat[0]["z"]["shape"].split(","))
    z = np.frombuffer(base64.b64decode(heat[0]["z"]["bdata"]), "<f4").reshape(rows, columns)
    blocks = np.split(z, np.flatnonzero(np.isnan(z[0])), axis=1)
    found = [block[:, ~np.isnan(block[0])].ravel() for block in blocks]
    np.testing.assert_array_equal(found[0], made.q.astype("f4"))
    np.testing.assert_array_equal(np.array(found[1:]), made.k.astype("f4"))


def test_values_glow_in_proportion_to_their_weights():
    made = walk(SENTENCE)
    spec = spec_of(made)
    frame = next(frame for frame in spec["frames"] if frame["name"] == "8")
    veils = {
        spec["data"][index]["ids"][0]: change["marker"]["opacity"]
        for index, change in zip(frame["traces"], frame["data"], strict=True)
        if spec["data"][index].get("marker", {}).get("symbol") == "line-ew"
    }
    np.testing.assert_allclose(veils["values0"], 0.96 * (1 - made.weights), atol=1e-3)


def test_words_of_the_steps_carry_the_walk_s_numbers():
    made = walk(SENTENCE, focus=1)
    steps = {step["name"]: step for step in spec_of(made)["layout"]["meta"]["steps"]}
    assert list(steps) == STEPS
    assert "".join(text for text, _ in steps["7"]["equation"]).endswith(f"{made.weights[1]:.4f}")
    assert steps["7a"]["beat"] == steps["7"]["beat"] == 7
    assert steps["6"]["sentence"].startswith("Nothing is hidden")


def test_an_animation_of_32_tokens_stays_within_a_quarter_of_a_megabyte():
    spec = spec_of(walk([f"word{i}" for i in range(32)]))
    assert len(json.dumps(spec, separators=(",", ":"))) <= 250_000


def test_a_long_text_has_one_image_for_its_matrix():
    spec = spec_of(walk([f"t{i}" for i in range(100)], query=50, focus=40))
    image = next(trace for trace in spec["data"] if trace.get("zmax") == 1)
    assert image["z"]["shape"] == "100, 100"
    assert image["zmin"] == 0
    assert len(cells(spec)[0]["x"]) == 32


def test_on_stage_the_matrix_keeps_the_tokens_columns():
    spec = spec_of(walk(SENTENCE), "talk")
    columns = spec["layout"]["meta"]["columns"]
    assert spec["layout"]["meta"]["matrix"]["xs"][:-1] == [round(x0, 1) for _, x0, _ in columns]


def test_on_stage_a_long_text_has_its_matrix_beside():
    spec = spec_of(walk([f"t{i}" for i in range(60)], query=50, focus=40), "talk")
    meta = spec["layout"]["meta"]
    assert meta["matrix"]["xs"][0] > meta["columns"][-1][2]


def test_pieces_of_one_character_stand_on_one_line():
    made = replace(walk(SENTENCE), key_groups=(range(1, 4),))
    spec = spec_of(made)
    columns = spec["layout"]["meta"]["columns"]
    line = spec["layout"]["shapes"][-1]
    assert (line["x0"], line["x1"]) == (columns[1][1] + 2, columns[3][2] - 2)


def test_hidden_cells_of_an_image_are_outlined_run_by_run():
    place = Grid(np.arange(5.0), np.arange(3.0), 1.0)
    visible = np.array([[True, True, False, False], [False, True, False, True]])
    assert hidden_runs(visible, place) == {
        "x": [2, 4, 4, 2, None, 0, 1, 1, 0, None, 2, 3, 3, 2, None],
        "y": [0, 0, 1, 1, None, 1, 1, 2, 2, None, 1, 1, 2, 2, None],
    }


def test_an_image_too_large_shows_the_largest_weight_of_each_block():
    weights = np.full((600, 600), np.nan)
    weights[np.tril_indices(600)] = 0.1
    weights[301, 100] = 0.9
    small = pooled(weights)
    assert small.shape == (300, 300)
    assert small[150, 50] == 0.9
    assert small[150, 51] == 0.1
    assert np.isnan(small[0, 1])
    assert pooled(weights[:512, :512]).shape == (512, 512)


def test_changes_are_what_differs_somewhere():
    states = [{"a": 1, "b": {"c": 1, "d": [1]}}, {"a": 1, "b": {"c": 2, "d": [1]}}]
    assert changes(states) == [{"b": {"c": 1}}, {"b": {"c": 2}}]
    assert changes([{"a": 1}, {"a": 1}]) == [{}, {}]


def test_columns_follow_their_tokens_then_tilt():
    lanes = ["x", "k", "products", "scores", "scaled", "masked", "positive", "weights", "values", "heads"]
    few = lay_out(FORMATS["wide"], ["a"] * 4, lanes)
    assert len({round(column.width) for column in (few.query, *few.columns)}) == 1
    uneven = lay_out(FORMATS["wide"], ["it"] * 9 + ["because", "internat…"], lanes)
    assert not uneven.tilted
    assert uneven.columns[-1].width > uneven.columns[0].width
    assert lay_out(FORMATS["wide"], ["because"] * 40, lanes).tilted
    assert not lay_out(FORMATS["wide"], ["3"] * 26, lanes).tilted, "letters of a date stay upright"
    assert lay_out(FORMATS["wide"], ["w"] * 80, lanes).tilted
    assert all(box.y1 <= 453 for box in few.lanes.values())


@pytest.mark.parametrize(
    ("d", "width", "height", "shape"),
    [(64, 40, 40, (8, 8)), (4, 40, 10, (1, 4)), (16, 44, 34, (4, 4)), (7, 70, 10, (1, 7))],
)
def test_strips_are_as_square_as_divisors_allow(d, width, height, shape):
    assert strip_shape(d, Box(0, 0, width, height)) == shape


@pytest.mark.parametrize("form", ["wide", "talk", "narrow"])
def test_the_second_of_two_texts_is_in_italics_behind_a_line(form):
    one = walk(["[CLS]", "who", "[SEP]", "she", "did"])
    assert not [shape for shape in spec_of(one, form)["layout"]["shapes"] if shape["line"].get("dash")]
    tokens = tuple(replace(token, segment=int(i > 2)) for i, token in enumerate(one.key_tokens))
    spec = spec_of(replace(one, key_tokens=tokens, query_tokens=tokens), form)
    styles = [note["font"]["style"] for note in spec["layout"]["annotations"]]
    assert styles == ["italic", "normal", "normal", "normal", "italic", "italic"]  # the query's first
    [seam] = [shape for shape in spec["layout"]["shapes"] if shape["line"].get("dash")]
    columns, matrix = spec["layout"]["meta"]["columns"], spec["layout"]["meta"]["matrix"]
    assert seam["x0"] == seam["x1"] == columns[3][1]
    [lines] = [trace for trace in spec["data"] if trace.get("line", {}).get("dash")]
    assert lines["x"][0] == pytest.approx(matrix["xs"][3], abs=0.1)
    assert lines["y"][3] == pytest.approx(matrix["ys"][3], abs=0.1)
    rows = next(trace["text"] for trace in spec["data"] if "<i>she</i>" in trace.get("text", []))
    assert rows == ["[CLS]", "who", "[SEP]", "<i>she</i>", "<b><i>did</i></b>"]


@pytest.mark.parametrize("form", ["wide", "talk", "narrow"])
def test_a_tilted_word_ends_below_the_upper_edge(form):
    spec = spec_of(walk(["<extra_id_38>"] * 30), form)
    tilted = [note for note in spec["layout"]["annotations"] if note["textangle"]]
    assert tilted
    for note in tilted:
        size, length = (
            note["font"]["size"],
            text_width(note["text"].replace("&lt;", "<")) * note["font"]["size"],
        )
        assert note["y"] - 0.788 * length - 0.616 * size > 0  # sine and cosine of 52 degrees


@pytest.mark.parametrize(("count", "written"), [(3, True), (30, False)])
def test_numbers_of_vectors_are_written_where_they_can_be_read(count, written):
    spec = spec_of(walk(["a"] * count))
    heat = [trace for trace in spec["data"] if trace["type"] == "heatmap"]
    strips = [trace for trace in heat if trace["hovertemplate"].startswith("k")]
    assert strips
    assert all(("text" in strip) == written for strip in strips)


@pytest.mark.parametrize(
    ("value", "said"), [(-0.00022, "0"), (0.054, "0.05"), (-0.574, "−0.57"), (16.3, "16"), (2.0, "2.0")]
)
def test_a_number_in_a_strip_has_two_digits(value, said):
    assert short(value) == said


def test_numbers_in_strips_do_not_touch_each_other():
    z = np.array([[-0.57, 1.0, 0.0]], dtype="f4")
    assert written(z, 20, 11, LIGHT)["textfont"]["size"] == pytest.approx(20 / (5 * 0.53 + 0.3))
    assert written(z, 18, 11, LIGHT) == {}, "6.1 pixels are no size to read"
