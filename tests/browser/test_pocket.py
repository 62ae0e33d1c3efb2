"""Pocket: change a number and everything follows from it; the link brings it back."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Locator

from tests.browser.screen import PLOT, Screen


def last_cell(screen: Screen, parameter: str) -> Locator:
    """Select the last number of a table of weights."""
    table = screen.page.locator(f"[class*='st-key-atlas-pocket-{parameter}'] [data-testid=stDataFrame]").first
    table.scroll_into_view_if_needed()
    return table


def change(screen: Screen, table: Locator, number: str) -> None:
    """Type a number into the last cell of a table."""
    box = table.bounding_box()
    assert box
    screen.page.mouse.dblclick(box["x"] + box["width"] - 25, box["y"] + box["height"] - 15)
    editor = screen.page.locator("#portal input, #portal textarea").first
    editor.fill(number)
    with screen.redrawn():
        editor.press("Enter")


def test_an_edited_weight_changes_the_numbers_and_travels_in_the_link(
    screen: Screen, context: BrowserContext
) -> None:
    screen.open(model="pocket", text="the cat sat", query=2, key=1, beat="4")
    original, before = screen.text(f"{PLOT} .ap-equation"), screen.stamp
    change(screen, last_cell(screen, "decoder-layers-0-self_attention-W_k"), "5")
    assert screen.params["weights"].startswith("decoder.layers.0.self_attention.W_k.weight=")
    assert screen.params["weights"].endswith(",5")
    assert screen.step == "4"
    edited = screen.stamp
    other = Screen(context, screen.server).follow(screen.page.url.removeprefix(screen.server.url))
    assert other.stamp == edited
    assert other.notes == []
    other.page.close()
    with screen.redrawn():
        screen.page.get_by_role("button", name="Back to how they were").click()
    assert "weights" not in screen.params
    assert screen.stamp == before
    assert screen.text(f"{PLOT} .ap-equation") == original


def test_the_numbers_are_those_of_the_edited_weights(screen: Screen) -> None:
    zeros = "decoder.layers.0.self_attention.W_q.weight=" + ",".join(["0"] * 16)
    screen.open(model="pocket", text="the cat sat", query=2, key=1, beat="7", weights=zeros)
    assert "= 0.3333" in screen.text(f"{PLOT} .ap-equation"), "without queries every key gets the same"


def test_numbers_that_overflow_are_met_with_a_sentence_or_a_figure(screen: Screen) -> None:
    large = ",".join(["3e38"] * 16)
    names = [f"decoder.layers.0.self_attention.W_{name}.weight={large}" for name in "qk"]
    screen.follow("/attention?model=pocket&beat=7&weights=" + "%3B".join(names).replace("+", "%2B"))
    assert screen.labels()
