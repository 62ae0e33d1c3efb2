"""Whatever tokens look like, they are words on a figure, and places are numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from engine.analysis.evidence import Grid
from engine.analysis.glance import Glance
from engine.analysis.head_place import HeadPlace
from engine.figures.clinic.pair import FORMS as PAIRS
from engine.figures.clinic.panels import panel_spec
from engine.figures.found_heads import found_heads_spec
from engine.figures.found_heads_sheet import FORMS as SIDE_BY_SIDE
from engine.figures.glance import PLATES, glance_spec
from engine.figures.ledger import ledger_spec
from engine.figures.over_time import over_time_spec
from engine.figures.over_time_play import FORMS as OVER_TIME
from engine.figures.sheet import FORMATS
from engine.figures.theme import LIGHT
from tests.engine.figures.test_found_heads_figure import head, run
from tests.engine.figures.test_over_time_figure import info
from tests.engine.figures.walks import walk

TOKENS = {
    "numbers": ("3", "1", "10", "2"),
    "numbers behind a mark": ("<s>", "3", "1", "2", "5", "8"),
    "dates": ("2020-01-01", "2026-01", "12:30"),
    "other numbers": ("1E2", "NaN", "Infinity", "-0"),
    "the same word twice": ("the", "cat", "the", "mat"),
    "nothing but one word": ("<pad>", "<pad>", "<pad>"),
}


def triangle(size: int) -> np.ndarray:
    return (np.tri(size) / np.arange(1, size + 1)[:, None]).astype(np.float32)


def a_glance(tokens: tuple[str, ...]) -> dict[str, Any]:
    place = HeadPlace("masked", "decoder", "self_attention", 0, 0, 0, 1)
    size = len(tokens)
    found = Glance(place, tokens, tokens, triangle(size), np.tri(size, dtype=bool))
    return glance_spec(found, theme=LIGHT, plate=PLATES["wide"])


def a_pair(tokens: tuple[str, ...]) -> dict[str, Any]:
    weights = triangle(len(tokens))
    grid = Grid("weights", tokens, tokens, weights, weights, None, None)
    return panel_spec(grid, theme=LIGHT, form=PAIRS["wide"], translate=str)


def a_ledger(form: str) -> Callable[[tuple[str, ...]], dict[str, Any]]:
    return lambda tokens: ledger_spec(walk(list(tokens)), theme=LIGHT, form=FORMATS[form], translate=str)


FIGURES: dict[str, Callable[[tuple[str, ...]], dict[str, Any]]] = {
    **{f"ledger, {form}": a_ledger(form) for form in FORMATS},
    "glance": a_glance,
    "two grids": a_pair,
    "heads side by side": lambda tokens: found_heads_spec(
        [run(0, head("previous", tokens=tokens))], theme=LIGHT, form=SIDE_BY_SIDE["wide"], translate=str
    ),
    "over time": lambda tokens: over_time_spec(
        info(tokens=tokens), "masked", 1, theme=LIGHT, form=OVER_TIME["wide"], translate=str
    ),
}
every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)
any_tokens = pytest.mark.parametrize("tokens", TOKENS.values(), ids=TOKENS)


def places(spec: dict[str, Any]) -> Iterator[Any]:
    """What says where something stands, in the figure and in each of its frames."""
    frames = [trace for frame in spec.get("frames", []) for trace in frame["data"]]
    for trace in [*spec["data"], *frames, *spec["layout"].get("annotations", [])]:
        for name in ("x", "y", "x0", "y0", "dx", "dy"):
            value = trace.get(name)
            yield from value if isinstance(value, (list, tuple)) else [value]


def axes(spec: dict[str, Any], letter: str) -> list[dict[str, Any]]:
    return [axis for name, axis in spec["layout"].items() if name.startswith(f"{letter}axis")]


@every_figure
@any_tokens
def test_places_are_numbers_and_axes_are_told_their_range(make: Callable, tokens: tuple[str, ...]) -> None:
    """plotly.js would take texts for categories, which are folded where they are equal, or for numbers or dates."""
    spec = make(tokens)
    assert not [place for place in places(spec) if isinstance(place, str)]
    for axis in axes(spec, "x") + axes(spec, "y"):
        assert axis.get("type", "linear") == "linear"
        assert all(isinstance(end, (int, float)) for end in axis["range"])


@every_figure
def test_the_first_query_is_on_top(make: Callable) -> None:
    """Places grow downwards in every figure of a matrix, and so do its rows."""
    spec = make(("the", "cat", "sat"))
    for axis in axes(spec, "y"):
        assert axis["range"][0] > axis["range"][1]
    assert all(trace["dy"] > 0 for trace in spec["data"] if "dy" in trace)


@any_tokens
@pytest.mark.parametrize("make", [a_glance, a_pair], ids=["glance", "two grids"])
def test_no_column_is_lost(make: Callable, tokens: tuple[str, ...]) -> None:
    size = len(tokens)
    spec = make(tokens)
    heats = [
        trace for trace in spec["data"] if trace["type"] == "heatmap" and trace.get("hoverinfo") != "skip"
    ]
    assert [heat["z"]["shape"] for heat in heats] == [f"{size}, {size}"] * len(heats)
    assert heats
