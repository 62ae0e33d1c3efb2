"""WCAG A and AA as axe checks them: names, roles, contrast; on every screen, in both themes."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.screen import Screen

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}


def violations(screen: Screen) -> list[str]:
    """One line a node that breaks a rule."""
    found: list[dict[str, Any]] = Axe().run(screen.page, options=RULES).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "link",
    [
        "/?beat=7", "/attention?beat=7", "/models", "/training", "/runs?run=reverse&probe=abcdefgh", "/clinic",
        "/clinic?symptom=nan", "/clinic?case=scores_not_scaled", "/scaling?model=dates",
    ],
)  # fmt: skip
def test_no_rule_is_broken(screen: Screen, link: str, theme: str) -> None:
    screen.page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    screen.follow(link)
    assert violations(screen) == []


def test_no_rule_is_broken_by_an_answer_nor_by_scenes(screen: Screen) -> None:
    screen.follow("/clinic?case=scores_not_scaled")
    screen.page.locator(".st-key-atlas-clinic-answers button").first.click()
    screen.page.locator(".atlas-why").wait_for()
    assert violations(screen) == []
    screen.follow("/clinic?case=scores_not_scaled&talk=1&lang=zh")
    assert violations(screen) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_rule_is_broken_in_chinese_on_stage_nor_with_notes_and_open_tables(
    screen: Screen, theme: str
) -> None:
    screen.page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    screen.open(model="pocket", foo=1, beat="9")
    screen.page.get_by_text("The numbers as tables").click()
    screen.page.locator(".atlas-table").first.wait_for()
    assert violations(screen) == []
    screen.open(model="dates", lang="zh", talk=1, layer=9, beat="10")
    assert violations(screen) == []


def test_the_keyboard_alone_reaches_the_figure_and_its_focus_is_seen(screen: Screen) -> None:
    screen.open(model="pocket", beat=4)
    reached = set()
    for _ in range(40):
        screen.press("Tab")
        reached.add(
            screen.page.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
            )
        )
        if screen.page.evaluate("document.activeElement.classList.contains('ap-track')"):
            break
    assert {"Back", "Play", "Forward", "Beats"} <= reached
    outline = screen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
