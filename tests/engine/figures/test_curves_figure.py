"""Curves and glances as figures: every point stands where it was measured, and no label is read as markup."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from engine.analysis.glance import Glance
from engine.analysis.head_place import HeadPlace
from engine.analysis.lines import LayerMap, Line, Mark, Panel
from engine.figures.axes import powers, round_half
from engine.figures.boards import BOARDS
from engine.figures.curves import curves, curves_spec
from engine.figures.glance import PLATES, glance_figure, glance_spec
from engine.figures.quantities import LEGENDS, TITLES
from engine.figures.theme import DARK, LIGHT


def line(mark: Mark = "batch", label="", run=0, values=(4.0, 2.0)) -> Line:
    return Line(label, mark, np.arange(1, len(values) + 1), np.array(values), run)


def drawn(spec: dict, **wanted) -> list[dict]:
    return [trace for trace in spec["data"] if wanted.items() <= trace.items()]


def numbers(values: dict) -> list[float]:
    flat = np.frombuffer(base64.b64decode(values["bdata"]), "<f4")
    return flat.reshape([int(side) for side in values.get("shape", str(len(flat))).split(",")]).tolist()


def spec_of(*parts, board="wide", theme=LIGHT) -> dict:
    return curves_spec(parts, theme=theme, board=BOARDS[board], translate=str)


def test_points_stand_where_they_were_measured_and_the_axis_is_as_long_as_the_run():
    spec = spec_of(Panel("loss", (line(), line("held_out", values=(3.0,))), until=100))
    batch, held_out = spec["data"]
    assert (batch["x"], numbers(batch["y"])) == ([1, 2], [4.0, 2.0])
    assert (held_out["mode"], numbers(held_out["y"])) == ("lines+markers", [3.0])
    assert spec["layout"]["xaxis"]["range"] == [0, 100]
    assert spec["layout"]["yaxis"]["range"] == [0, 4.2]


def test_shares_always_go_from_0_to_1():
    for values in ((0.1,), (1.0,)):
        spec = spec_of(Panel("right", (line(values=values),), until=10))
        assert spec["layout"]["yaxis"]["range"] == [-0.02, 1.02]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.02, 3.0], (-2, 1)), ([1.0], (0, 1)), ([], (-1, 1)), ([0.0, np.nan, 5.0], (0, 1))],
)
def test_powers_of_ten_around_what_is_positive(values, expected):
    assert powers(np.array(values, float)) == expected


@pytest.mark.parametrize(("top", "half"), [(4.4, 2), (0.004, 0.002), (1.0, 0.5), (9.0, 2.5), (0.9, 0.25)])
def test_ticks_are_round(top, half):
    assert round_half(top) == pytest.approx(half)


@pytest.mark.parametrize("board", BOARDS)
def test_panels_stand_apart_within_the_sheet(board):
    spec = spec_of(
        *(Panel(quantity, (line(),), 10) for quantity in TITLES if "s" not in quantity[-1:]), board=board
    )
    layout = spec["layout"]
    boxes = [
        (*layout[f"xaxis{number}"]["domain"], *layout[f"yaxis{number}"]["domain"])
        for number in ["", *range(2, len(spec["data"]) + 1)]
    ]
    for at, (left, right, low, high) in enumerate(boxes):
        assert 0 <= left < right <= 1
        assert 0 <= low < high <= 1
        for other in boxes[:at]:
            assert right < other[0] or left > other[1] or high < other[2] or low > other[3]


def test_one_run_is_told_by_what_its_lines_are_and_several_by_their_names():
    one = spec_of(Panel("loss", (line(), line("held_out")), 10))
    assert "this batch" in legend(one)
    assert "held out" in legend(one)
    several = spec_of(Panel("loss", (line(label="<b>a", run=0), line(label="b & c", run=1)), 10))
    assert "&lt;b&gt;a" in legend(several)
    assert "b &amp; c" in legend(several)
    assert several["data"][0]["line"]["color"] != several["data"][1]["line"]["color"]
    assert several["data"][0]["text"] == "&lt;b&gt;a"


def test_names_of_many_runs_stand_in_rows_above_all_panels():
    lines = [line(label=f"a run with a long name, {run}", run=run) for run in range(5)]
    spec = spec_of(Panel("loss", tuple(lines), 10), board="narrow")
    rows = [note for note in spec["layout"]["annotations"] if "━" in note["text"]]
    assert sum(note["text"].count("━") for note in rows) == 5
    assert len(rows) > 1
    top = spec["layout"]["yaxis"]["domain"][1]
    assert all(top < note["y"] <= 1 for note in rows)
    assert len({note["y"] for note in rows}) == len(rows)


def test_what_was_measured_stays_in_sight_behind_its_mean_and_the_sheet_says_which():
    raw, calm = line(), Line("", "batch", np.array([1, 2]), np.array([4.0, 3.0]), half_life=20)
    spec = spec_of(Panel("loss", (raw, calm), 10))
    behind, over = spec["data"]
    assert numbers(behind["y"]) == [4.0, 2.0]
    assert behind["line"]["color"] != over["line"]["color"]
    assert behind["line"]["width"] < over["line"]["width"]
    said = [note["text"] for note in spec["layout"]["annotations"]]
    assert [words for words in said if "half-life 20 steps" in words]
    without = spec_of(Panel("loss", (raw,), 10))
    assert not [note for note in without["layout"]["annotations"] if "half-life" in note["text"]]
    assert without["data"][0]["line"]["color"] == over["line"]["color"]


def test_what_has_no_points_yet_is_not_in_the_legend():
    assert "held out" not in legend(spec_of(Panel("loss", (line(), line("held_out", values=())), 10)))


def legend(spec: dict) -> str:
    return spec["layout"]["annotations"][1]["text"]


def test_layers_are_drawn_by_their_logarithm_and_the_range_is_said():
    layers = LayerMap("gradient_norms", ("embedding", "encoder.layers.0"), np.array([2, 4]),
                      np.array([[1.0, 0.01], [100.0, np.nan]]), until=10)  # fmt: skip
    spec = spec_of(layers)
    (heat,) = drawn(spec, type="heatmap")
    assert heat["x"] == [2, 4]
    np.testing.assert_array_equal(numbers(heat["z"]), [[0.0, -2.0], [2.0, np.nan]])
    assert spec["layout"]["yaxis"]["ticktext"] == ["embedding", "encoder 0"]
    assert spec["layout"]["yaxis"]["range"] == [1.5, -0.5]  # the first layer on top
    assert "0.010 … 100" in legend(spec)


def test_what_is_in_no_layer_is_told_by_what_it_is_and_has_the_room_it_needs():
    names = {
        "embedding": "embedding", "encoder.positions": "encoder positions", "encoder.layers.11": "encoder 11",
        "encoder.norm": "encoder final norm", "decoder": "decoder outside its layers", "head": "output",
        "x<y": "x&lt;y",
    }  # fmt: skip
    layers = LayerMap("gradient_norms", tuple(names), np.array([2, 4]), np.ones((len(names), 2)), until=10)
    for board in BOARDS:
        layout = spec_of(layers, board=board)["layout"]
        assert layout["yaxis"]["ticktext"] == [*names.values()]
        left = layout["xaxis"]["domain"][0] * layout["width"] / layout["yaxis"]["tickfont"]["size"]
        assert left >= 0.5 * len("decoder outside its layers"), "half an em a letter"


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("count", [1, 2, 6, 12, 24, 48])
def test_names_of_any_number_of_layers_do_not_touch_each_other(board, count):
    names = tuple(f"decoder.layers.{layer}" for layer in range(count))
    layers = LayerMap("gradient_norms", names, np.array([2, 4]), np.ones((count, 2)), until=10)
    spec = spec_of(layers, board=board)
    axis, (heat,) = spec["layout"]["yaxis"], drawn(spec, type="heatmap")
    low, high = axis["domain"]
    row = (high - low) * spec["layout"]["height"] / count
    assert axis["ticktext"] == [f"decoder {layer}" for layer in axis["tickvals"]]
    assert axis["tickvals"][0] == 0
    assert row * min(np.diff(axis["tickvals"]), default=1) >= min(axis["tickfont"]["size"] * 1.2, row * count)
    assert heat["y"] == list(range(count)), "each has its row, named or not"


def test_a_step_that_is_led_to_is_marked_in_every_panel_that_reaches_it():
    layers = LayerMap("gradient_norms", ("embedding",), np.array([2, 4]), np.ones((1, 2)), until=40)
    parts = [Panel("loss", (line(),), 40), Panel("gradient_norm", (line(),), 30), layers]
    layout = curves_spec(parts, theme=LIGHT, board=BOARDS["wide"], translate=str, mark=31)["layout"]
    assert [(one["xref"], one["yref"], one["x0"], one["x1"]) for one in layout["shapes"]] == [
        ("x", "y domain", 31, 31), ("x3", "y3 domain", 31, 31),
    ]  # fmt: skip
    said = [(one["xanchor"], one["xref"]) for one in layout["annotations"] if one["text"] == "step 31"]
    assert said == [("right", "x"), ("right", "x3")]
    assert spec_of(*parts)["layout"]["shapes"] == []


def test_nothing_at_all_is_a_figure_too():
    empty = LayerMap("gradient_norms", (), np.zeros(0), np.zeros((0, 0)), until=10)
    panels = (Panel("loss", (line(values=()),), 10), Panel("gradient_norm", (), 10), empty)
    figure = curves(panels, theme=DARK, board=BOARDS["wide"], translate=str)
    assert [len(trace["x"]) for trace in figure.to_dict()["data"]] == [0]


def test_every_legend_is_of_a_quantity_that_there_is():
    assert LEGENDS.keys() <= TITLES.keys()


def glance(queries=("a", "<s>"), keys=("x", "x"), weights=((1.0, 0.0), (0.25, 0.75))) -> Glance:
    place = HeadPlace("masked", "decoder", "self_attention", 0, 0, 0, 1)
    visible = np.tri(len(queries), len(keys), dtype=bool)
    return Glance(place, tuple(queries), tuple(keys), np.array(weights, np.float32), visible)


def test_weights_go_from_0_to_1_the_first_query_is_on_top_and_hidden_cells_are_no_zeros():
    spec = glance_spec(glance(), theme=LIGHT, plate=PLATES["wide"])
    heat, hidden = spec["data"]
    assert (heat["zmin"], heat["zmax"]) == (0, 1)
    np.testing.assert_array_equal(numbers(heat["z"]), [[1.0, np.nan], [0.25, 0.75]])
    low, high = spec["layout"]["yaxis"]["range"]
    assert low > high
    left, right = spec["layout"]["annotations"][:2]
    assert left["y"] < right["y"]
    assert (hidden["x"][0], hidden["y"][0]) == (heat["x0"] + heat["dx"] / 2, heat["y0"] - heat["dy"] / 2)


def test_equal_words_keep_their_columns_and_words_are_no_markup():
    spec = glance_spec(glance(), theme=LIGHT, plate=PLATES["wide"])
    words = [note["text"] for note in spec["layout"]["annotations"]]
    assert words == ["a", "&lt;s&gt;", "x", "x"]
    assert spec["data"][0]["customdata"][1][0] == "&lt;s&gt; → x: "


@pytest.mark.parametrize("plate", PLATES)
def test_many_tokens_fit_on_every_plate(plate):
    many = glance(["word"] * 300, ["word"] * 300, np.full((300, 300), 1 / 300))
    spec = glance_spec(many, theme=DARK, plate=PLATES[plate])
    assert spec["layout"]["height"] <= PLATES[plate].height + 5
    assert len(spec["layout"]["annotations"]) <= 2 * 48
    figure = glance_figure(many, theme=DARK, plate=PLATES[plate])
    assert figure.to_dict()["layout"]["width"] == PLATES[plate].width


@pytest.mark.parametrize(("values", "mode"), [((4.0,), "lines+markers"), ((4.0, 2.0), "lines")])
def test_a_line_of_one_point_is_a_dot(values: tuple[float, ...], mode: str):
    (batch,) = spec_of(Panel("loss", (line(values=values),), until=100))["data"]
    assert batch["mode"] == mode
