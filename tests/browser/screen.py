"""One tab of the browser: the app's page as tests drive it, and a record of what it did behind the scenes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, Request, WebSocket

from tests.browser.server import Server

WAIT = 60_000  # milliseconds; a shared machine may be slow, but never for ever
PLOT = ".atlas-plot.ap-ready"
WITHOUT_PLOT = ("/models", "/clinic")
# Streamlit looks for its own end points below the page's path first, and for the right ones after.
PROBES = re.compile(r"/_stcore/(health|host-config)$")
# Counts the page's runs that have come to their end, in window.runs.
COUNT_RUNS = """
    window.runs = 0;
    new MutationObserver((changes) => { window.runs += changes.filter((one) => one.oldValue === "running").length; })
        .observe(document, {subtree: true, attributeFilter: ["data-test-script-state"], attributeOldValue: true});
"""
IDLE = """() => window.runs > 0 && !document.querySelector("[data-testid=stSkeleton]")
    && document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
"""


class Screen:
    """A page of the app at `server`; `sent` counts what it has sent to the server since it was opened."""

    def __init__(self, context: BrowserContext, server: Server, width: int = 1280, height: int = 720) -> None:
        self.server = server
        self.page: Page = context.new_page()
        self.page.set_default_timeout(WAIT)
        self.page.set_viewport_size({"width": width, "height": height})
        self.sent = 0
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.page.add_init_script(COUNT_RUNS)
        self.page.on("request", self._request)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("websocket", self._websocket)

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.server.url, "data:", "blob:")):
            self.outside.append(request.url)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not PROBES.search(message.location["url"]):
            self.errors.append(f"{message.text} ({message.location['url']})")

    def _websocket(self, socket: WebSocket) -> None:
        if not socket.url.startswith(self.server.url.replace("http", "ws")):
            self.outside.append(socket.url)
        socket.on("framesent", lambda _: setattr(self, "sent", self.sent + 1))

    # --- getting somewhere

    def open(self, path: str = "/attention", **params: object) -> Screen:
        """Open a link, and wait for its first figure."""
        return self.follow(f"{path}?{urlencode(params)}" if params else path)

    def follow(self, link: str) -> Screen:
        """Open a link as it is written."""
        self.page.goto(self.server.url + link)
        self.page.locator(".atlas-title").wait_for()  # before a script has begun, none runs either
        self.settle()
        if "case=" in link:  # measured beside the page
            self.page.locator(".atlas-measures").wait_for(state="attached", timeout=4 * WAIT)
        if "case=" in link or not link.startswith(WITHOUT_PLOT):
            self.plot.first.wait_for(state="attached")
            self.settle()  # the figure may have asked for another format
        return self

    def settle(self) -> None:
        """Wait until the page's script has run to its end and what it sent is on screen."""
        self.page.wait_for_function(IDLE)
        self.frames(2)
        self.page.wait_for_function(IDLE)

    def at(self, **params: str) -> None:
        """Wait until the address carries `params`, and the page has settled there."""
        self.page.wait_for_function(
            """(params) => Object.entries(params).every(
                ([name, value]) => new URLSearchParams(location.search).get(name) === value)""",
            arg=params,
        )
        self.settle()

    def frames(self, count: int) -> None:
        """Wait until the browser has painted `count` times."""
        self.page.evaluate(
            "(n) => new Promise((done) => { const f = () => (n-- ? requestAnimationFrame(f) : done()); f(); })",
            count,
        )

    @contextmanager
    def redrawn(self) -> Iterator[None]:
        """Wait, after what is done inside, for another figure in the place of the one that is there."""
        before = self.stamp
        yield
        self.page.wait_for_function(
            "(before) => ![before, undefined].includes(document.querySelector('.atlas-plot.ap-ready')?.dataset.stamp)",
            arg=before,
        )
        self.settle()

    def write(self, text: str, name: str = "text") -> None:
        """Type into a field of the page and press Enter; the keyboard then is the figure's again."""
        field = self.page.locator(f".st-key-atlas-{name} input")
        field.fill(text)
        field.press("Enter")
        field.blur()

    def pick(self, name: str, label: str) -> None:
        """Choose what reads `label` from one of the pickers."""
        picker = self.page.locator(f".st-key-atlas-{name} input")
        picker.click()
        self.page.get_by_role("option").filter(has_text=label).first.click()
        picker.blur()

    def download(self, name: str) -> Path:
        """The file that the button `name` gives. Pressed, not clicked: what it stands in may still be unfolding."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=name, exact=True).press("Enter")
        return download.value.path()

    def hover_sheet(self, x: float, y: float) -> tuple[float, float]:
        """Move the pointer to a place of the figure, given in the sheet's own pixels; returns it in the page's."""
        box = self.page.locator(f"{PLOT} .ap-figure").bounding_box()
        assert box
        scale = box["width"] / self.page.evaluate(
            "document.querySelector('.atlas-plot .ap-figure').layout.width"
        )
        at = box["x"] + x * scale, box["y"] + y * scale
        self.page.mouse.move(*at, steps=3)
        return at

    def click_sheet(self, x: float, y: float) -> None:
        self.page.mouse.click(*self.hover_sheet(x, y))

    def click_column(self, key: int) -> None:
        """Click the ledger's column of a key, among its cells."""
        figure = self.figure
        x0, x1 = next(span for index, *span in figure["columns"] if index == key)
        self.click_sheet((x0 + x1) / 2, figure["ledger_bottom"] * 0.6)

    def click_cell(self, query: int, key: int) -> None:
        """Click a cell of the matrix."""
        xs, ys = self.figure["matrix"]["xs"], self.figure["matrix"]["ys"]
        self.click_sheet((xs[key] + xs[key + 1]) / 2, (ys[query] + ys[query + 1]) / 2)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    # --- what is there

    @property
    def plot(self) -> Locator:
        return self.page.locator(PLOT)

    @property
    def stamp(self) -> str:
        return self.plot.get_attribute("data-stamp") or ""

    @property
    def step(self) -> str:
        return self.plot.get_attribute("data-step") or ""

    @property
    def params(self) -> dict[str, str]:
        """The query parameters in the address bar."""
        found = parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)
        return {name: ",".join(values) for name, values in found.items()}

    @property
    def figure(self) -> dict[str, Any]:
        """The figure's layout.meta: columns, matrix, steps."""
        return self.page.evaluate("document.querySelector('.atlas-plot .ap-figure').layout.meta")

    @property
    def notes(self) -> list[str]:
        return self.page.locator(".atlas-note").all_inner_texts()

    @property
    def problems(self) -> list[str]:
        return self.page.locator(".atlas-problem").all_inner_texts()

    def text(self, selector: str) -> str:
        """What an element says, character for character, line ends aside."""
        return self.page.locator(selector).first.text_content() or ""

    def labels(self) -> list[str]:
        """The words above the figure's columns as they are drawn: the query's first, then the keys'."""
        return self.page.locator(f"{PLOT} .infolayer .annotation-text").all_text_contents()

    def mark(self) -> None:
        """Tag the figure's node, so that `marked` can tell whether it was replaced."""
        self.page.evaluate("document.querySelector('.atlas-plot').setAttribute('data-marked', '')")

    @property
    def marked(self) -> bool:
        return self.page.locator(".atlas-plot[data-marked]").count() == 1

    def complaints(self) -> list[str]:
        """All that no page may do: errors in the console, requests to other hosts, tracebacks on screen."""
        words = self.page.locator("body").inner_text()
        shown = [line for line in words.splitlines() if "Traceback" in line or "Something went wrong" in line]
        shown += self.page.locator("[data-testid=stException]").all_inner_texts()
        return [*self.errors, *(f"request to {url}" for url in self.outside), *shown]
