"""Another layer, head, query or key as the reader meets it: from the click in the browser to the figure painted.

The peer, in turns, is a page with one number and one button. What the server's part is, `click` measures.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from statistics import median

from playwright.sync_api import Page

from engine.pretrained import catalogue
from pages.components import library
from pages.components.attention import specimens
from tests.benchmarks.measure import in_turns, milliseconds, percentile, table
from tests.benchmarks.start import NUMBER, TRIVIAL
from tests.browser import chromium
from tests.browser.screen import Screen
from tests.browser.server import served

CLICKS = 9
BUDGET = 0.4  # seconds
CLOCK = """(watched) => {
    addEventListener("click", () => { window.clicked = performance.now(); window.painted = null; }, true);
    const paint = () => { window.painted = performance.now() - window.clicked; };
    const changed = () => requestAnimationFrame(() => requestAnimationFrame(paint));
    const change = { attributes: true, attributeFilter: ["data-stamp"], characterData: true, childList: true };
    new MutationObserver(changed).observe(document.querySelector(watched), { ...change, subtree: watched !== FIGURE });
}""".replace("FIGURE", '".atlas-plot"')


def timed(page: Page, click: Callable[[], object]) -> float:
    """Seconds from the last click that `click` makes to the second frame after what it changed."""
    page.bring_to_front()  # a browser slows what nobody sees
    click()
    page.wait_for_function("() => window.painted")
    return page.evaluate("window.painted") / 1e3


def clicks(screen: Screen, model: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """What a reader changes; each call of a pair's second shows something that was not shown before."""
    screen.open(model=model, text=specimens.opening(model).text, layer=0, head=0, query=0, beat=7)
    screen.page.evaluate(CLOCK, ".atlas-plot")
    for name in ("layer", "head"):
        if screen.page.locator(f".st-key-atlas-{name} input").count():
            yield name, chooser(screen, name)
    rows, columns = (len(screen.figure["matrix"][edges]) - 1 for edges in ("ys", "xs"))
    queries, keys = from_the_second(rows), from_the_second(columns)
    yield "query", lambda: screen.click_cell(next(queries), 0)
    yield "key", lambda: screen.click_column(next(keys))


def from_the_second(count: int) -> Iterator[int]:
    """Round and round, beginning with what is not shown yet."""
    return cycle([*range(1, count), 0])


def chooser(screen: Screen, name: str) -> Callable[[], object]:
    """Each call opens a picker and takes its next option."""
    box = screen.page.locator(f".st-key-atlas-{name} input")
    box.click()
    options = from_the_second(screen.page.get_by_role("option").count())
    screen.press("Escape")

    def choose() -> None:
        box.click()
        screen.page.get_by_role("option").nth(next(options)).click()

    return choose


def main() -> None:
    rows = []
    with chromium.launched() as browser, tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        with served(catalogue.home(), logs / "app") as app, served(logs, logs / "peer", TRIVIAL) as trivial:
            context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 720})
            peer = context.new_page()
            peer.goto(trivial.url)
            peer.wait_for_function(NUMBER)
            peer.evaluate(CLOCK, "[data-testid=stMain]")
            press = peer.get_by_role("button", name="Next").click
            for known in library.present():
                screen = Screen(context, app)
                for name, click in clicks(screen, known.name):
                    ours = in_turns({
                        "ours": lambda screen=screen, click=click: timed(screen.page, click),
                        "peer": lambda: timed(peer, press),
                    }, CLICKS)  # fmt: skip
                    times = ours["ours"]
                    rows.append((
                        f"{known.title}: {name}", milliseconds(median(times)), milliseconds(percentile(times, 0.95)),
                        milliseconds(median(ours["peer"])), f"{median(times) / BUDGET:.2f}",
                    ))  # fmt: skip
                screen.page.close()
    heads = ("", "p50", "p95", "trivial page, p50", "p50 / 400 ms")
    table(f"A click until it is painted, {CLICKS} of each kind", heads, rows)


if __name__ == "__main__":
    main()
