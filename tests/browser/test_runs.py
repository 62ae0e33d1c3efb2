"""The Runs screen: a model's snapshots gone through in the browser, and a line that is cut where one clicks."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.screen import Screen
from tests.browser.server import served
from tests.pages.training_runs import made, trained


@pytest.fixture
def opened(screen: Screen) -> Screen:
    """Reverse, which comes with its snapshots, on a text of its task."""
    screen.open("/runs", run="reverse", probe="abcdefgh")
    screen.mark()
    return screen


def colors(screen: Screen) -> list[float]:
    """The weights as the squares of the matrix have them now."""
    return screen.page.evaluate(
        "document.querySelector('.atlas-plot .ap-figure')._fullData"
        ".find((trace) => trace.ids?.[0].startsWith('w')).marker.color"
    )


def caption(screen: Screen) -> str:
    return screen.page.locator(".atlas-cut caption").inner_text()


def test_snapshots_are_gone_through_by_keys_and_the_page_follows_when_they_rest(opened: Screen) -> None:
    last = opened.figure["steps"][-1]["name"]
    trained = colors(opened)
    opened.press("Home")
    assert opened.step == "0"
    opened.page.locator(".atlas-cut caption", has_text="After step 0").wait_for()
    opened.at(step="0")
    assert max(colors(opened)) < max(trained)  # at first no head knows where to look
    assert opened.marked
    opened.press("End")
    opened.page.locator(".atlas-cut caption", has_text=f"After step {last}").wait_for()
    assert colors(opened) == trained
    assert not opened.complaints()


def test_the_rail_goes_from_the_first_stop_to_the_last(opened: Screen) -> None:
    ends, first, last = opened.page.evaluate("""() => {
        const track = document.querySelector(".ap-track"), box = track.getBoundingClientRect();
        const rail = getComputedStyle(track, "::before");
        const middle = (dot) => (dot.getBoundingClientRect().left + dot.getBoundingClientRect().right) / 2 - box.left;
        const dots = track.querySelectorAll(".ap-dot i");
        return [[parseFloat(rail.left), box.width - parseFloat(rail.right)], middle(dots[0]), middle([...dots].at(-1))];
    }""")
    assert ends == pytest.approx([first, last], abs=1)


def test_a_link_restores_the_step_and_a_click_cuts_the_line_it_meets(screen: Screen) -> None:
    screen.open("/runs", run="reverse", probe="abcdefgh")
    middle = screen.figure["steps"][len(screen.figure["steps"]) // 2]["name"]
    screen.open("/runs", run="reverse", probe="abcdefgh", step=middle)
    assert screen.step == middle
    assert caption(screen) == f"After step {middle}"
    screen.press("End")
    screen.click_cell(2, 5)  # after g, h the model writes f, which stands at 5
    screen.at(query="2", key="5")
    screen.page.get_by_text("which falls from").wait_for()
    screen.click_cell(2, 0)
    screen.page.get_by_text("still says “\u2068f\u2069”").wait_for()
    assert not screen.complaints()


def test_a_head_with_hidden_cells_is_gone_through_like_any_other(screen: Screen) -> None:
    screen.open("/runs", run="induction")
    trained = colors(screen)
    screen.press("Home")
    screen.page.locator(".atlas-cut caption", has_text="After step 0").wait_for()
    assert colors(screen) != trained
    screen.press("ArrowRight")
    screen.frames(
        30
    )  # whatever goes wrong while it moves stands in the console, which is looked at in the end


def test_another_run_is_shown_at_the_step_that_the_page_speaks_of(opened: Screen) -> None:
    opened.press("Home")
    opened.page.locator(".atlas-cut caption", has_text="After step 0").wait_for()
    picker = opened.page.locator("[class*=st-key-atlas-replay-run] input")
    picker.click()
    picker.fill("Induction")
    picker.press("Enter")
    opened.page.locator(".atlas-cut caption", has_text="After step 400").wait_for()
    opened.page.locator(".atlas-plot[aria-label^='Induction'][data-step='400']").wait_for()
    assert not opened.complaints()


def test_before_the_first_run_something_moves_by_itself_until_it_is_touched(screen: Screen) -> None:
    screen.open("/runs")
    first = screen.step
    screen.page.wait_for_function(
        "(first) => document.querySelector('.atlas-plot').dataset.step !== first", arg=first
    )
    screen.press("Home")
    screen.page.locator(".atlas-cut caption", has_text="After step 0").wait_for()
    screen.at(step="0")
    assert screen.step == "0"


def test_a_head_that_is_clicked_opens_with_all_its_numbers(
    context: BrowserContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "home"))
    for title in ("One", "Two"):
        trained(made(title=title))
    with served(tmp_path / "home", tmp_path / "log.txt") as server:
        screen = Screen(context, server, width=390, height=844)
        page = screen.page
        page.goto(f"{server.url}/runs?run=reverse-1&runs=reverse-1,reverse-2&probe=abcdefgh")
        page.wait_for_function("document.querySelectorAll('.ap-ready[data-format=narrow]').length === 3")
        figure = page.locator(".st-key-atlas-runs-heads .ap-figure")
        figure.scroll_into_view_if_needed()
        x0, y0, x1, y1, scale = figure.evaluate(
            "(one) => [...one.layout.meta.tiles[1], one.getBoundingClientRect().width / one.layout.width]"
        )
        figure.click(position={"x": (x0 + x1) / 2 * scale, "y": (y0 + y1) / 2 * scale})
        page.wait_for_url("**/attention?**")
        page.locator(".atlas-plot.ap-ready").wait_for()
        screen.at(model="reverse-2@20", kind="cross")
        assert not screen.complaints()
        page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_stands_beyond_the_edge(context, server, width: int) -> None:
    screen = Screen(context, server, width, 844)
    try:
        screen.open("/runs", run="reverse", probe="abcdefgh")
        over = screen.page.evaluate(
            "[...document.querySelectorAll('.ap-dot, .ap-track, h2, p, input')].filter((node) => "
            "node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.className || node.tagName)"
        )
        assert over == []
    finally:
        screen.page.close()
