"""One server and one browser for all tests here; a fresh tab for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from engine.pretrained import catalogue, sources
from tests.browser import chromium
from tests.browser.screen import Screen
from tests.browser.server import Server, served

HERE = Path(__file__).parent
REAL = "smollm2-135m"
Open = Callable[..., Screen]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium.found() is None and not chromium.required():
        pytest.skip(chromium.MISSING)
    with chromium.launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def context(browser: Browser) -> BrowserContext:
    """What tabs share: the browser's cache, so that plotly.js is read once."""
    return browser.new_context(locale="en-US")


@pytest.fixture(scope="session")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app as it comes: embedded models only."""
    folder = tmp_path_factory.mktemp("embedded")
    with served(folder / "home", folder / "log.txt") as server:
        yield server


@pytest.fixture(scope="session")
def real_server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with the models its user has fetched."""
    if not sources.status(REAL).present:
        reason = f"{REAL} is not here: python -m engine.pretrained get {REAL}"
        if os.environ.get("ATLAS_REQUIRE_PARITY") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with served(catalogue.home(), tmp_path_factory.mktemp("real") / "log.txt") as server:
        yield server


@pytest.fixture
def screen(context: BrowserContext, server: Server) -> Iterator[Screen]:
    """A tab at 1280 x 720 with the embedded models; at its end it must have nothing to complain of."""
    yield from watched(context, server)


@pytest.fixture
def real_screen(context: BrowserContext, real_server: Server) -> Iterator[Screen]:
    """The same with the real models."""
    yield from watched(context, real_server)


def watched(context: BrowserContext, server: Server) -> Iterator[Screen]:
    screen = Screen(context, server)
    known = len(server.complaints())
    try:
        yield screen
        assert not screen.complaints()
        assert not server.complaints()[known:], server.log
    finally:
        screen.page.evaluate("localStorage.clear()")
        screen.page.close()
