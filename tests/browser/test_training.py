"""The Training screen: a run is started, drawn in place while it learns, stopped, and found again by its link."""

from __future__ import annotations

from tests.browser.screen import Screen

LONG = 240_000  # milliseconds; a process has to begin, and to learn a little
CURVES = ".st-key-atlas-run-learning .atlas-plot.ap-ready"
ATTENTION = ".st-key-atlas-run-glance .atlas-plot.ap-ready"
DRAWN_ANEW = """([selector, before]) => {
    const stamp = document.querySelector(selector)?.dataset.stamp;
    return stamp && stamp !== before;
}"""


def test_a_run_is_drawn_in_place_while_it_learns_and_stops_when_told(screen: Screen) -> None:
    screen.open("/training", lang="en")
    page = screen.page
    page.locator(".st-key-atlas-start button").click()
    page.locator(CURVES).wait_for(timeout=LONG)
    page.locator(ATTENTION).wait_for(timeout=LONG)
    page.evaluate(
        "document.querySelectorAll('.atlas-plot').forEach((plot) => plot.setAttribute('data-marked', ''))"
    )
    for _ in range(2):
        before = page.locator(CURVES).get_attribute("data-stamp")
        page.wait_for_function(DRAWN_ANEW, arg=[CURVES, before], timeout=LONG)
    assert page.locator(f"{CURVES}[data-marked]").count() == 1
    assert page.locator(f"{ATTENTION}[data-marked]").count() == 1
    page.get_by_role("button", name="Stop", exact=True).click()
    page.locator(".atlas-run p", has_text="stopped").wait_for(timeout=LONG)
    page.get_by_role("button", name="Go on", exact=True).wait_for()
    screen.at(run="reverse-1")
    page.goto(f"{screen.server.url}/training?run=reverse-1&lang=zh")
    page.locator(".atlas-run p", has_text="已停止").wait_for()
    page.locator(CURVES).wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    where = "(one) => document.querySelector(one).getBoundingClientRect().y"
    heading, start = (page.evaluate(where, one) for one in (".atlas-run h2", ".st-key-atlas-start button"))
    assert heading < 400 < start, "on a phone the run comes first"
    assert screen.problems == []
