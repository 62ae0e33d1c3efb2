"""A whole tour of the app asks nothing of any other machine; each language and theme takes it once.

The browser is started without a way to any other host, so all that is seen here works offline as well.
"""

from __future__ import annotations

import pytest

from pages.components.language import Language, translations
from tests.browser.screen import Screen


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_request_leaves_the_machine(screen: Screen, lang: Language, theme: str) -> None:
    def say(words: str) -> str:
        return translations(lang).get(words, words)

    page = screen.page
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    screen.open("/", lang=lang)
    page.get_by_role("link", name=say("Attention")).first.click()
    page.wait_for_url("**/attention?**")
    screen.plot.wait_for()
    screen.settle()
    for _ in screen.figure["steps"]:
        screen.press("ArrowRight")
    with screen.redrawn():
        screen.click_column(1)
    with screen.redrawn():
        screen.write("3 juin 2025")
    page.get_by_text(say("The numbers as tables")).click()
    page.locator(".atlas-table").first.wait_for()
    for kind in ("PNG", "SVG", "HTML"):
        with page.expect_download():
            screen.plot.get_by_role("button", name=kind).click()
    page.locator(".st-key-atlas-talk button").click()
    page.locator(".atlas-plot[data-format=talk]").wait_for()
    page.locator(".st-key-atlas-talk button").click()
    page.locator(".atlas-plot[data-format=wide]").wait_for()
    page.get_by_role("link", name=say("Models")).first.click()
    page.locator(".atlas-chosen").wait_for()
    for tab in ("Settings", "Card", "Verify"):
        page.get_by_role("tab", name=say(tab)).click()
    page.locator("[class*=st-key-atlas-verify] button").click()
    page.locator("[role=tabpanel]:visible .atlas-table tr").nth(3).wait_for()
    screen.settle()
    assert screen.outside == []
    assert screen.errors == []
