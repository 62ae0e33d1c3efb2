"""A link is a view: from a cold start, whole; from a wrong one, a page with notes; from page to page, the same view."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.screen import PLOT, Screen
from tests.browser.server import served

DATES = {
    "v": "1", "lang": "zh", "model": "dates", "text": "2025年6月3日星期二", "target": "2025-06-03", "kind": "cross",
    "layer": "0", "head": "2", "query": "6", "key": "5", "beat": "9", "talk": "1",
}  # fmt: skip
POCKET = {
    "v": "1", "lang": "en", "model": "pocket", "text": "the dog ran", "kind": "masked", "layer": "0", "head": "0",
    "query": "1", "key": "1", "beat": "4a",
}  # fmt: skip


def bold(screen: Screen) -> list[str]:
    """The words above the columns that are set in bold: the query's own and the key in focus."""
    return screen.page.locator(f"{PLOT} .annotation-text").evaluate_all(
        "(all) => all.filter((one) => getComputedStyle(one).fontWeight >= 600).map((one) => one.textContent)"
    )


@pytest.mark.parametrize(
    ("link", "lang", "form", "focus", "subtitle"),
    [
        (DATES, "zh-CN", "talk", ["0", "6"], "日期 · 第 0 层 · 第 2 头"),
        (POCKET, "en", "wide", ["dog", "dog"], "Pocket · layer 0 · head 0"),
    ],
    ids=["dates", "pocket"],
)
def test_a_link_is_shown_whole_by_a_server_that_has_served_nobody(
    context: BrowserContext,
    tmp_path: Path,
    link: dict[str, str],
    lang: str,
    form: str,
    focus: list[str],
    subtitle: str,
) -> None:
    with served(tmp_path / "home", tmp_path / "log.txt") as server:
        screen = Screen(context, server).open(**link)
        assert screen.params == link
        assert screen.step == link["beat"]
        assert bold(screen) == focus
        assert screen.plot.get_attribute("data-format") == form
        assert screen.page.evaluate("document.documentElement.lang") == lang
        assert screen.text(".atlas-title p") == subtitle
        assert screen.notes == []
        assert screen.page.get_by_role("dialog").count() == 0
        assert not screen.complaints() + server.complaints()
        screen.page.close()


def test_models_can_be_the_first_page_of_a_server(context: BrowserContext, tmp_path: Path) -> None:
    with served(tmp_path / "home", tmp_path / "log.txt") as server:
        screen = Screen(context, server).open("/models", lang="zh", model="pocket")
        screen.page.get_by_role("heading", name="模型", exact=True).wait_for()
        assert screen.page.locator(".atlas-chosen").inner_text() == "Pocket"
        assert not screen.complaints() + server.complaints()
        screen.page.close()


def test_a_link_and_the_widgets_lead_to_the_same_figure(screen: Screen) -> None:
    screen.open(**POCKET)
    linked = screen.stamp
    screen.open(model="pocket", lang="en")
    with screen.redrawn():
        screen.write("the dog ran")
    with screen.redrawn():
        screen.pick("query", "dog")
    assert bold(screen) == ["dog", "the"]
    with screen.redrawn():
        screen.click_column(1)
    screen.press("3", "ArrowRight")
    assert screen.stamp == linked
    assert screen.params == POCKET


OUT_OF_RANGE = {
    "layer": "99", "head": "99999999", "query": "1000", "key": "1000", "beat": "11", "talk": "7", "v": "2",
    "lang": "fr",
}  # fmt: skip
NUMBERS = ("layer", "head", "query", "key")


def links() -> dict[str, tuple[str, list[str]]]:
    """Name -> (link, what its notes must name: the parameter, or the value that nothing here is called by)."""

    def numbers(*values: str) -> tuple[str, list[str]]:
        return urlencode(dict(zip(NUMBERS, values, strict=True))), list(NUMBERS)

    def long(*names: str) -> tuple[str, list[str]]:
        return urlencode(dict.fromkeys(names, "7" * 20_000)), list(names)

    every = [*OUT_OF_RANGE, "model", "text", "target", "kind", "weights"]
    return {
        "out of range": (urlencode(OUT_OF_RANGE), list(OUT_OF_RANGE)),
        "unheard of": ("model=gpt-9&kind=sideways&beat=c", ["gpt-9", "kind", "beat"]),
        "negative": numbers("-1", "-2", "-999999999", "-0001"),
        "no numbers": numbers("abc", "1.5", "", "-"),
        "nearly numbers": numbers("１", "0x1", "1e3", " 1"),
        "tags for numbers": numbers("<b>1</b>", "🙂", "NaN", "1;2"),
        "unknown": ("pe=foo&__proto__=1&%3Cb%3E=1&constructor=1", ["pe", "__proto__", "<b>", "constructor"]),
        "repeated": ("&".join(f"{name}=1&{name}=2" for name in every), every),
        "long texts": long("text", "target", "weights"),
        "long values": long("layer", "beat", "pe"),
        "long Chinese": (f"text={quote('文' * 2_001)}", ["text"]),
        "zero characters": (
            "&".join(f"{name}=1%00" for name in ("layer", "text", "kind", "beat", "lang")),
            ["layer", "text", "kind", "beat", "lang"],
        ),
        "broken escapes": ("text=%ff%fe&layer=%&head=%zz", ["layer", "head"]),
        "weights": ("weights=nothing", ["weights"]),
        "weights of another model": ("model=pocket&weights=decoder.W=1", ["weights"]),
    }


@pytest.mark.parametrize("name", list(links()))
def test_a_link_that_is_wrong_is_a_page_with_notes(screen: Screen, name: str) -> None:
    query, parameters = links()[name]
    screen.follow(f"/attention?{query}")
    said = "\n".join(screen.notes)
    missing = [one for one in parameters if f"“{one}”" not in said and f"({one}=" not in said]
    assert not missing, said
    assert screen.labels()


def differences(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {name for name, _ in one.items() ^ other.items()}


def test_a_view_goes_from_page_to_page_and_back(screen: Screen) -> None:
    screen.open(**POCKET)
    entries = screen.page.evaluate("history.length")
    with screen.redrawn():
        screen.click_column(0)
    screen.press("End")
    assert screen.page.evaluate("history.length") == entries, "within a page the address is replaced"
    kept = screen.params
    screen.page.get_by_role("link", name="Models").first.click()
    screen.page.locator(".atlas-chosen").wait_for()
    screen.settle()
    assert differences(kept, screen.params) <= {"beat"}
    screen.page.get_by_role("link", name="Attention").first.click()
    screen.plot.wait_for()
    screen.settle()
    assert differences(kept, screen.params) <= {"beat"}
    assert screen.page.evaluate("history.length") == entries + 2, "between pages it is a new one"
    screen.page.go_back()
    screen.page.locator(".atlas-chosen").wait_for()


def test_the_link_button_copies_the_address(screen: Screen) -> None:
    screen.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=screen.server.url)
    screen.open(**POCKET)
    screen.page.get_by_role("button", name="Copy link").click()
    screen.page.get_by_text("Copied").wait_for()
    assert screen.page.evaluate("navigator.clipboard.readText()") == screen.page.url
