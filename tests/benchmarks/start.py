"""From starting the server to attention that moves, with nothing cached but by the operating system.

Each turn is a new server and a browser window of its own; the peer is a page with one number and one button. The
browser itself is running. The models are the embedded ones, so the home screen opens on one of them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from playwright.sync_api import Browser, Page

from tests.benchmarks.measure import PAIRS, in_turns, ratio, table
from tests.browser import chromium
from tests.browser.server import ROOT, served

BUDGET = 5.0  # seconds
TRIVIAL = Path(__file__).with_name("trivial_page.py")
PAINTED = "() => document.querySelector('.atlas-plot.ap-ready')"
MOVED = """() => {
    const { step } = document.querySelector(".atlas-plot.ap-ready").dataset;
    return step !== (window.first ??= step);
}"""
NUMBER = "() => document.body.innerText.includes('Number 0')"


def until(browser: Browser, script: Path, *moments: str) -> list[float]:
    """Seconds from starting the server to each of the moments, which are JavaScript conditions."""
    with tempfile.TemporaryDirectory() as folder:
        begun = perf_counter()
        with served(Path(folder) / "home", Path(folder) / "log.txt", script) as server:
            page = browser.new_context(locale="en-US").new_page()
            page.set_default_timeout(120_000)
            page.goto(server.url, wait_until="commit")
            found = [reached(page, moment) - begun for moment in moments]
            page.context.close()
    return found


def reached(page: Page, moment: str) -> float:
    page.wait_for_function(moment, polling="raf")
    return perf_counter()


def main() -> None:
    ours: list[list[float]] = []

    def app() -> float:
        ours.append(until(browser, ROOT / "app.py", PAINTED, MOVED))
        return ours[-1][1]

    with chromium.launched() as browser:
        app()
        ours.clear()
        taken = in_turns({"app": app, "peer": lambda: until(browser, TRIVIAL, NUMBER)[0]}, PAIRS)
    rows = [
        (name, f"{median(times):.2f} s", f"{max(times):.2f} s", f"{ratio(times, taken['peer']):.2f}",
         f"{median(times) / BUDGET:.2f}")
        for name, times in (
            ("first attention painted", [painted for painted, _ in ours]), ("first movement", taken["app"]),
            ("trivial page", taken["peer"]),
        )
    ]  # fmt: skip
    heads = ("", "median", "slowest", "/ trivial page", "/ 5 s")
    table(f"Start of the server to the screen, {PAIRS} turns", heads, rows)


if __name__ == "__main__":
    main()
