"""Numbers as they are written, colours as they are read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from engine.figures.theme import (
    DARK,
    LIGHT,
    THEMES,
    cell_number,
    cell_weight,
    contrast,
    escape,
    mix,
    number,
    shorten,
    text_width,
)

STYLE = Path(__file__).parents[3] / "assets" / "style.css"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (49.263504, "49.3"), (6.157938, "6.16"), (-12.128588, "−12.1"), (0.000348361, "0.000348"), (0, "0"),
        (1, "1.00"), (1234.5, "1234"), (1e7, "1.00e7"), (-2.5e-7, "−2.50e−7"), (-np.inf, "−∞"), (np.nan, "NaN"),
        (0.999, "0.999"),
    ],
)  # fmt: skip
def test_numbers_have_three_digits_and_a_real_minus(value, written):
    assert number(value) == written


@pytest.mark.parametrize(
    ("value", "wide", "narrow"),
    [
        (49.26, "49.3", "49"),
        (-12.13, "−12.1", "−12"),
        (6.158, "6.16", "6.2"),
        (-0.001, "0", "0"),
        (150.4, "150", "150"),
        (2.4e38, "2.4e38", "2e38"),
    ],
)
def test_cells_hold_few_characters(value, wide, narrow):
    assert (cell_number(value, True), cell_number(value, False)) == (wide, narrow)


@pytest.mark.parametrize(
    ("weight", "wide", "narrow"),
    [
        (0.74957, ".750", ".75"),
        (1.0, "1.00", "1.0"),
        (0.0001, ".000", ".00"),
        (0.0, "0", "0"),
        (0.9999, "1.00", "1.0"),
    ],
)
def test_weights_lose_their_zero_and_none_is_not_a_little(weight, wide, narrow):
    assert (cell_weight(weight, True), cell_weight(weight, False)) == (wide, narrow)


def test_escape_takes_the_ampersand_first():
    assert escape('&lt;<b>"x"') == '&amp;lt;&lt;b&gt;"x"'


def test_widths_count_wide_and_combining_characters():
    assert text_width("日本") == 2
    assert text_width("e\u0301") == text_width("e")
    assert shorten("internationalisation", 5).endswith("…")
    assert shorten("short", 5) == "short"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_words_are_readable_on_their_ground(theme):
    for role in ("ink", "muted", "accent", "query", "key", "value"):
        assert contrast(getattr(theme, role), theme.ground) >= 4.5, role
        assert contrast(getattr(theme, role), theme.surface) >= 4.5, role
    for share in np.linspace(0, 1, 21):
        fill = theme.weight_color(share)
        assert contrast(theme.text_on(fill), fill) >= 4.5, share
    for value in np.linspace(-1, 1, 41):
        fill = theme.signed_color(value, 1)
        assert contrast(theme.text_on(fill), fill) >= 4.5, value


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3)  # the well-known near miss
    assert mix("#000000", "#ffffff", 0.5) == "#808080"


def test_signed_colours_meet_at_zero_and_a_constant_row_has_a_colour():
    assert LIGHT.signed_color(0, 1) == LIGHT.signed[1].lower()
    assert LIGHT.signed_color(5, 5) == LIGHT.signed[2].lower()
    assert LIGHT.signed_color(-9, 5) == LIGHT.signed[0].lower()
    assert LIGHT.signed_color(0, 0) == LIGHT.signed[1].lower()


def test_the_page_s_style_sheet_repeats_the_palette():
    css = STYLE.read_text("utf-8")
    for role in ("ground", "surface", "ink", "muted", "rule", "accent", "query", "key", "value"):
        pair = re.search(rf"--{role}: light-dark\((#\w+), (#\w+)\)", css)
        assert pair, role
        assert pair.groups() == (getattr(THEMES["light"], role), getattr(THEMES["dark"], role))
