"""What a case measured, drawn: both on one scale, and what is no number apart from every number."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.evidence import Curve, Curves, Grid
from engine.figures.axes import said, ticks
from engine.figures.clinic.curves import Axes, decades, padded
from engine.figures.clinic.grids import Cells
from engine.figures.clinic.marks import HIDDEN, INFINITE, NAN, places
from engine.figures.clinic.pair import FORMS
from engine.figures.clinic.panels import panel_figure, panel_spec
from engine.figures.clinic.scale import Scale
from engine.figures.theme import DARK, LIGHT

AT = np.arange(4.0)
NAMES = ("the", "<b>", "cat")


def curves(broken=(4.0, 2.0, 1.0, 0.5), mended=(4.0, 3.0, 3.0, 3.0), log=False, labels=("",)) -> Curves:
    def all_of(values) -> tuple[Curve, ...]:
        return tuple(Curve(AT, np.array(values), label) for label in labels)

    return Curves("loss", "step", all_of(broken), all_of(mended), log)


def grid(broken, mended=None, hidden=None) -> Grid:
    broken = np.array(broken, dtype=np.float32)
    mended = broken if mended is None else np.array(mended, dtype=np.float32)
    hidden = None if hidden is None else np.array(hidden)
    names = NAMES[: len(broken)]
    return Grid("weights", names, names, broken, mended, hidden, hidden)


def spec_of(panel, form="wide", theme=LIGHT) -> dict:
    return panel_spec(panel, theme=theme, form=FORMS[form], translate=str)


def drawn(spec: dict, **wanted) -> list[dict]:
    return [trace for trace in spec["data"] if wanted.items() <= trace.items()]


def lines(spec: dict) -> list[dict]:
    """The curves, broken and mended, each after the other one's ghost."""
    return [trace for trace in spec["data"] if "customdata" in trace and trace["mode"].startswith("lines")]


def heat(spec: dict) -> list[dict]:
    """The two matrices; the scale below them tells nothing under the pointer."""
    return [trace for trace in drawn(spec, type="heatmap") if trace.get("hoverinfo") != "skip"]


def numbers(values: dict) -> list:
    flat = np.frombuffer(base64.b64decode(values["bdata"]), "<f4")
    return flat.reshape([int(side) for side in values.get("shape", str(len(flat))).split(",")]).tolist()


def words(spec: dict) -> list[str]:
    return [note["text"] for note in spec["layout"]["annotations"]]


def test_both_curves_stand_on_the_same_axes_and_behind_each_the_other() -> None:
    ghost, broken, other_ghost, mended = lines(spec_of(curves()))
    shift = FORMS["wide"].slot + FORMS["wide"].gap
    assert [x + shift for x in broken["x"]] == pytest.approx(mended["x"], abs=0.11)
    assert ghost["y"] == mended["y"] != broken["y"] == other_ghost["y"]
    assert broken["y"][0] == mended["y"][0]  # 4 stands at one height
    assert broken["line"]["color"] == LIGHT.key
    assert mended["line"]["color"] == LIGHT.value


def test_a_phone_has_them_below_each_other() -> None:
    _, broken, _, mended = lines(spec_of(curves(), "narrow"))
    assert broken["x"] == mended["x"]
    assert min(mended["y"]) > max(broken["y"])


def test_where_there_are_several_each_has_its_dash_and_its_name() -> None:
    spec = spec_of(curves(labels=("first", "sec<ond")))
    assert [line["line"]["dash"] for line in lines(spec)] == ["solid", "dash", "solid", "dash"]
    assert any("first" in text and "sec&lt;ond" in text for text in words(spec))


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "∞")])
def test_a_stretch_without_numbers_is_hatched_and_named_and_no_line_crosses_it(
    value: float, word: str
) -> None:
    spec = spec_of(curves(broken=(4.0, 2.0, value, value)))
    _, broken, *_ = lines(spec)
    assert broken["y"][2:] == [None, None]
    (band,) = [trace for trace in spec["data"] if "fillpattern" in trace]
    assert min(band["x"]) == pytest.approx(broken["x"][2] - 4, abs=0.2)
    assert f"<b>{word}</b>" in words(spec)


def test_logarithms_are_named_and_what_has_none_is_not_drawn_at_the_bottom() -> None:
    spec = spec_of(curves(broken=(10.0, 1.0, 0.0, 0.1), log=True))
    _, broken, *_ = lines(spec)
    assert broken["y"][2] is None
    assert broken["y"][1] - broken["y"][0] == pytest.approx(broken["y"][3] - broken["y"][1], abs=0.2)
    assert sum("log scale" in text for text in words(spec)) == 2


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0, 59, 6, (0, 10, 20, 30, 40, 50)), (0, 1.05, 4, (0, 0.5, 1)), (16, 512, 4, (200, 400)),
        (-1.1, 1.1, 4, (-1, 0, 1)), (0, 0.0042, 4, (0, 0.002, 0.004)),
    ],
)  # fmt: skip
def test_ticks_are_round_and_within(low: float, high: float, most: int, expected: tuple) -> None:
    assert ticks(low, high, most) == expected


def test_ticks_are_short() -> None:
    assert [said(tick) for tick in (0.0, 0.5, -2.0, 1500.0, 1e-5, 1e7)] == [
        "0",
        "0.5",
        "−2",
        "1,500",
        "1e−5",
        "1e7",
    ]


def test_values_lie_on_their_axes() -> None:
    assert padded(np.array([1.0, 3.0])) == (0.0, pytest.approx(3.15))
    assert padded(np.array([-2.0, 2.0])) == (pytest.approx(-2.2), pytest.approx(2.2))
    assert padded(np.zeros(0)) == (0.0, pytest.approx(1.05))
    assert decades(np.array([0.02, 3.0])) == (-2.0, 1.0)
    assert decades(np.array([0.0])) == (-1.0, 1.0)


def test_empty_curves_and_a_single_point_are_drawn() -> None:
    nothing = Curves("loss", "step", (Curve(np.zeros(0), np.zeros(0)),), (Curve(np.ones(1), np.ones(1)),))
    assert Axes.over(nothing, FORMS["wide"]).x == (0.0, 1.0)
    assert len(lines(spec_of(nothing))) == 4


def test_a_grid_has_one_scale_for_both_and_weights_go_from_0_to_1() -> None:
    weights = [[0.5, 0.5], [0.25, 0.75]]
    broken, mended = heat(spec_of(grid([[0.1, 0.1], [0.2, 0.1]], weights)))
    assert (broken["zmin"], broken["zmax"]) == (mended["zmin"], mended["zmax"]) == (0.0, 1.0)
    assert numbers(mended["z"]) == weights
    scale = Scale.of(grid([[-4.0, 2.0], [1.0, 1.0]], [[1.0, 2.0], [3.0, 1.0]]), LIGHT)
    assert (scale.low, scale.high) == (-4.0, 4.0)
    scale = Scale.of(grid([[8.0, 2.0], [1.0, np.nan]]), LIGHT)
    assert (scale.low, scale.high) == (0.0, 8.0)


def test_what_is_no_number_has_no_colour_but_a_hatch_and_a_word() -> None:
    spec = spec_of(grid([[np.nan, 0.5], [np.inf, 0.5]]))
    broken, _ = heat(spec)
    assert np.isnan(numbers(broken["z"])[0][0])
    shapes = [trace["fillpattern"]["shape"] for trace in spec["data"] if "fillpattern" in trace]
    assert shapes == ["x", ".", "x", ".", "x", "."]  # broken, mended, legend
    assert {NAN.word, INFINITE.word} <= set(words(spec))
    assert any("1 / 4 NaN" in text for text in words(spec))
    assert drawn(spec, mode="text")[0]["text"] == ["NaN", "0.50", "∞", "0.50"]


def test_a_hidden_cell_is_hatched_and_one_that_was_read_all_the_same_keeps_its_colour() -> None:
    hidden = [[False, True], [False, False]]
    spec = spec_of(grid([[0.4, 0.6], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]], hidden))
    broken, mended = heat(spec)
    assert numbers(broken["z"])[0][1] == pytest.approx(0.6)
    assert np.isnan(numbers(mended["z"])[0][1])
    left, right = drawn(spec, mode="text")
    assert left["text"][1] == ".600"
    assert right["text"][1] == ""
    assert HIDDEN.word in words(spec)


def test_a_hidden_score_is_expected_to_be_infinite() -> None:
    spec = spec_of(grid([[1.0, -np.inf], [1.0, 2.0]], hidden=[[False, True], [False, False]]))
    assert INFINITE.word not in words(spec)
    assert drawn(spec, mode="text")[0]["text"][1] == ""


def test_names_are_no_markup_and_are_under_the_pointer() -> None:
    spec = spec_of(grid([[0.5, 0.5, 0.0]] * 3))
    assert "&lt;b&gt;" in words(spec)
    assert drawn(spec, mode="text")[0]["customdata"][1] == "the · &lt;b&gt;: 0.5000"


def test_large_grids_have_smaller_cells_and_no_numbers() -> None:
    size = 60
    names = tuple(f"place {at}" for at in range(size))
    panel = Grid("weights", names, names, np.full((size, size), 1 / size), np.full((size, size), 1 / size))
    cells = Cells.of(panel, FORMS["wide"])
    assert cells.columns * cells.width <= FORMS["wide"].slot
    assert cells.tall <= FORMS["wide"].tall
    assert drawn(spec_of(panel), mode="text") == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_form_is_a_figure_within_its_sheet(form: str, theme) -> None:
    for panel in (curves(), curves(labels=("a", "b"), log=True), grid([[0.5, np.nan], [1.0, 0.0]])):
        layout = panel_figure(panel, theme=theme, form=FORMS[form], translate=str).to_dict()["layout"]
        assert layout["width"] == FORMS[form].width
        for note in layout["annotations"]:
            assert 0 <= note["x"] <= FORMS[form].width
            assert 0 <= note["y"] <= layout["height"]


def test_a_legend_that_has_no_room_goes_on_in_the_next_row() -> None:
    marks = (HIDDEN, NAN, INFINITE)
    assert [row for row, _ in places(FORMS["wide"], 100, marks, str)] == [0, 0, 0]
    assert [row for row, _ in places(FORMS["narrow"], 140, marks, str)] == [0, 1, 1]


def test_what_rows_and_columns_are_stands_above_them_and_names_have_room() -> None:
    named = replace(grid(np.eye(3)), axes=("query", "<key>"))
    plain, spec = spec_of(grid(np.eye(3))), spec_of(named)
    assert sum(text.split() == ["↓", "query", "→", "&lt;key&gt;"] for text in words(spec)) == 2
    assert spec["layout"]["height"] - plain["layout"]["height"] == pytest.approx(
        19.5, abs=0.6
    )  # a line of 13
    wide = Cells.of(Grid("weights", ("m", "m"), ("m", "m"), np.eye(2), np.eye(2)), FORMS["wide"])
    assert wide.left - 7 > 0.83 * FORMS["wide"].note  # what an m takes, left of the gap before the cells
