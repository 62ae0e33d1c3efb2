"""Charts as figures: every point where it was measured, what is hidden hatched, no word read as markup."""

from __future__ import annotations

import numpy as np
import pytest

from engine.analysis.charts import Chart, Mark, Matrix, Series
from engine.figures.axes import said
from engine.figures.charts import BOARDS, FOURS, charts, charts_spec
from engine.figures.charts.axes import places
from engine.figures.theme import DARK, LIGHT
from tests.engine.figures.test_curves_figure import numbers

AT = np.array([2.0, 4.0, 8.0])


def spec_of(*parts, board="wide", theme=LIGHT) -> dict:
    return charts_spec(parts, theme=theme, board=BOARDS[board], translate=str)


def words(spec: dict) -> list[str]:
    return [one["text"] for one in spec["layout"]["annotations"]]


def test_a_line_over_a_logarithmic_axis_has_the_numbers_that_were_measured():
    spec = spec_of(Chart("Variance", "d_k", (Series("q · k", AT, AT**2, 1),), log="xy"))
    (line,) = spec["data"]
    assert (numbers(line["x"]), numbers(line["y"])) == ([2, 4, 8], [4, 16, 64])
    assert line["line"]["color"] == LIGHT.key
    x, y = spec["layout"]["xaxis"], spec["layout"]["yaxis"]
    assert (x["type"], x["ticktext"]) == ("log", ["2", "4", "d_k 8"])
    assert x["range"] == pytest.approx([0.30103, 0.90309])
    assert (y["range"], y["ticktext"]) == ([0, 2], ["1", "10", "100"])


def test_shares_go_from_0_to_1_and_everything_else_from_0_or_below():
    share = spec_of(Chart("Share", "d_k", (Series("", AT, np.array([0.1, 0.2, 0.3])),), share=True))
    assert share["layout"]["yaxis"]["range"] == [-0.02, 1.02]
    signed = spec_of(Chart("Bias", "key", (Series("", AT, np.array([-2.0, 0.0, -1.0])),)))
    assert signed["layout"]["yaxis"]["range"] == pytest.approx([-2.1, 0.1])
    flat = spec_of(Chart("Zero", "key", (Series("", AT, np.zeros(3)),)))
    assert flat["layout"]["yaxis"]["range"][0] == 0 < flat["layout"]["yaxis"]["range"][1]


def test_a_band_goes_up_one_side_and_down_the_other():
    series = Series("x", AT, AT, low=AT - 1, high=np.array([3.0, np.nan, 9.0]))
    band, line = spec_of(Chart("t", "o", (series,)))["data"]
    assert numbers(band["x"]) == [2, 8, 8, 2]  # where one end is missing there is none
    assert numbers(band["y"]) == [3, 9, 7, 1]
    assert band["fill"] == "toself"
    assert line["mode"] == "lines+markers"


def test_a_mark_stands_at_its_place_and_says_its_name_once():
    chart = Chart("t", "o", (Series("x", AT, AT),), marks=(Mark(4.0, "here"), Mark(8.0, "")))
    spec = spec_of(chart)
    first, second, _ = spec["data"]
    assert (first["x"], second["x"]) == ([4.0, 4.0], [8.0, 8.0])
    assert first["y"] == spec["layout"]["yaxis"]["range"]
    assert words(spec).count("here") == 1


def test_hidden_cells_are_hatched_and_have_no_number():
    causal = np.array([[True, False], [True, True]])
    matrix = Matrix(
        "W", np.array([[1.0, 0.0], [0.25, 0.75]]), causal, ("a", "<b>"), ("a", "<b>"), remark="÷ 1"
    )
    heat, ground, strokes = spec_of(matrix)["data"]
    np.testing.assert_array_equal(numbers(heat["z"]), [[1, np.nan], [0.25, 0.75]])
    side = numbers(heat["x"])[1]
    assert ground["x"][:4] == pytest.approx([side, 2 * side, 2 * side, side], abs=0.1)
    assert len(strokes["x"]) > 3
    spec = spec_of(matrix)
    assert spec["layout"]["yaxis"]["ticktext"] == ["a", "&lt;b&gt;"]
    assert spec["layout"]["xaxis"]["ticktext"] == ["key 2"]
    assert "÷ 1" in words(spec)
    whole = Matrix("W", np.eye(2), np.ones((2, 2), bool), ("a", "b"), ("a", "b"))
    assert len(spec_of(whole)["data"]) == 1


def test_of_many_rows_as_many_are_named_as_fit():
    many = tuple(f"t{index}" for index in range(200))
    spec = spec_of(Matrix("W", np.full((200, 200), 0.005), np.ones((200, 200), bool), many, many))
    named = spec["layout"]["yaxis"]["ticktext"]
    assert named[0] == "t0"
    assert 5 < len(named) < 20


@pytest.mark.parametrize(
    "board", [*BOARDS.values(), FOURS["wide"]], ids=lambda board: f"{board.name}-{board.columns}"
)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_plotly_takes_the_figure_in_every_format(board, theme):
    parts = [
        Chart("<i>", "o", (Series("a&b", AT, AT, drawn="bars"), Series("t", AT, AT, 2, "theory"))),
        Chart("dots", "o", (Series("d", AT, AT, drawn="dots"),)),
        Matrix("m", np.eye(3), np.ones((3, 3), bool), ("a", "b", "c"), ("a", "b", "c")),
    ]
    figure = charts(parts, theme=theme, board=board, translate=str)
    layout = figure.to_dict()["layout"]
    assert (layout["height"], layout["paper_bgcolor"]) == (board.height(3), theme.ground)
    assert "<b>&lt;i&gt;</b>" in [one["text"] for one in layout["annotations"]]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (-3, 3, [-2, 0, 2]), (0, 47, [0, 10, 20, 30, 40]), (5, 5, [5])],
)
def test_round_numbers(low, high, expected):
    assert places(low, high) == expected


def test_an_axis_of_many_measured_points_counts_powers_of_ten():
    assert places(1, 2048, np.geomspace(1, 2048, 60)) == [1, 10, 100, 1000]
    assert [said(tick) for tick in (0.0, -2.5, 1024.0, 1e-5, 1e7)] == ["0", "−2.5", "1,024", "1e−5", "1e7"]
