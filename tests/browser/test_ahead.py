"""plotly.js, a second of the browser's time, is fetched where a figure comes and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.screen import Screen
from tests.browser.server import Server


@pytest.fixture
def fresh(browser: Browser, server: Server) -> Iterator[Screen]:
    """A tab of a browser that has fetched nothing yet."""
    context = browser.new_context(locale="en-US")
    yield Screen(context, server)
    context.close()


def fetches(screen: Screen) -> list[str]:
    """Every time that the tab asks for plotly.js from now on."""
    asked: list[str] = []
    screen.page.on("request", lambda one: asked.append(one.url) if "plotly.min.js" in one.url else None)
    return asked


def test_a_screen_without_a_figure_leaves_it(fresh: Screen) -> None:
    asked = fetches(fresh)
    fresh.open("/models", model="pocket")
    fresh.page.locator(".atlas-table").first.wait_for()
    assert asked == []
    fresh.page.get_by_role("link", name="Attention", exact=True).click()
    fresh.plot.wait_for()
    assert len(asked) == 1


def test_a_figure_is_not_waited_for(fresh: Screen) -> None:
    with fresh.page.expect_request("**/plotly.min.js"):  # of this text, which is refused, none ever comes
        fresh.page.goto(f"{fresh.server.url}/attention?model=dates&text={'x' * 2_000}")
    fresh.page.locator(".atlas-problem").wait_for()
    assert not fresh.plot.count()


def test_home_fetches_it_once(fresh: Screen) -> None:
    asked = fetches(fresh)
    fresh.open("/")
    assert len(asked) == 1
