"""Page and figures share one palette; it is written in three places, because three programs read it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from engine.figures.theme import THEMES, contrast

ROOT = Path(__file__).parents[2]
CSS = (ROOT / "assets" / "style.css").read_text("utf-8")
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
ROLES = ("ground", "surface", "ink", "muted", "rule", "accent", "query", "key", "value")


@pytest.mark.parametrize("role", ROLES)
def test_the_style_sheet_has_the_colours_of_the_figures(role: str) -> None:
    found = re.search(rf"--{role}: light-dark\((#\w+), (#\w+)\);", CSS)
    assert found is not None
    assert found.groups() == (getattr(THEMES["light"], role), getattr(THEMES["dark"], role))


@pytest.mark.parametrize("name", THEMES)
def test_streamlit_has_the_colours_of_the_figures(name: str) -> None:
    theme, ours = CONFIG["theme"][name], THEMES[name]
    assert theme["primaryColor"] == ours.accent
    assert theme["backgroundColor"] == ours.ground
    assert theme["secondaryBackgroundColor"] == theme["codeBackgroundColor"] == ours.surface
    assert theme["textColor"] == ours.ink
    assert theme["borderColor"] == ours.rule
    assert theme["linkColor"] == ours.query


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("role", ["ink", "muted", "accent", "query", "key", "value"])
def test_words_can_be_read_on_the_page_and_on_surfaces(name: str, role: str) -> None:
    theme = THEMES[name]
    for behind in (theme.ground, theme.surface):
        assert contrast(getattr(theme, role), behind) >= 4.5


def test_only_its_own_machine_is_served_and_nothing_is_reported() -> None:
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert CONFIG["server"]["enableCORS"]
    assert CONFIG["server"]["enableXsrfProtection"]
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["client"]["showErrorDetails"] == "none"


def test_the_style_sheet_asks_no_other_host_for_anything() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS
