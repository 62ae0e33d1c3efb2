"""Clicks in the figure: a cell of the matrix gives query and key, a column of the ledger its key, each in one run."""

from __future__ import annotations

import pytest

from tests.browser.screen import PLOT, Screen


@pytest.fixture
def opened(screen: Screen) -> Screen:
    screen.open(model="dates", text="11/11/2011", kind="self", layer=0, head=0, query=2, key=2, beat=7)
    screen.mark()
    screen.sent = 0
    return screen


def test_a_cell_of_the_matrix_gives_query_and_key(opened: Screen) -> None:
    with opened.redrawn():
        opened.click_cell(query=4, key=9)
    assert (opened.params["query"], opened.params["key"]) == ("4", "9")
    assert opened.sent == 1
    assert opened.marked
    assert (opened.step, opened.params["beat"]) == ("7", "7")
    assert "weight(1 → 1)" in opened.text(f"{PLOT} .ap-equation")


def test_a_column_of_the_ledger_gives_its_key(opened: Screen) -> None:
    with opened.redrawn():
        opened.click_column(6)
    assert (opened.params["query"], opened.params["key"]) == ("2", "6")
    assert opened.sent == 1
    assert opened.marked
    assert opened.step == "7"
    assert "weight(/ → 2)" in opened.text(f"{PLOT} .ap-equation")


def test_repeated_words_keep_their_columns(opened: Screen) -> None:
    assert opened.labels() == ["/", *"11/11/2011"]
    assert [column[0] for column in opened.figure["columns"]] == list(range(10))
    assert len(opened.figure["matrix"]["xs"]) == 11
    seen = []
    for key in (0, 1, 3, 4):
        with opened.redrawn():
            opened.click_column(key)
        assert opened.params["key"] == str(key)
        seen.append(opened.text(f"{PLOT} .ap-equation"))
    assert len(set(seen)) == 4, "the same word elsewhere has a weight of its own"


def test_a_picker_tells_repeated_words_apart(opened: Screen) -> None:
    picker = opened.page.locator(".st-key-atlas-query input")
    picker.click()
    said = opened.page.get_by_role("option").all_inner_texts()
    assert [one.translate({0x2068: None, 0x2069: None}) for one in said] == [
        f"{position} {word}" for position, word in enumerate("11/11/2011")
    ]
    with opened.redrawn():
        opened.page.get_by_role("option").nth(9).click()
    assert opened.params["query"] == "9"


def test_a_window_of_a_long_text_moves_with_a_click_in_the_matrix(real_screen: Screen) -> None:
    text = " ".join(f"word {number}" for number in range(45))  # cells of more than a pixel
    real_screen.open(model="smollm2-135m", text=text, layer=0, head=0, query=20, beat=9)
    first = [column[0] for column in real_screen.figure["columns"]]
    assert len(first) <= 32
    assert real_screen.page.locator(f"{PLOT} .ap-aside", has_text="Columns show keys").count() == 1
    with real_screen.redrawn():
        real_screen.click_cell(query=120, key=110)
    assert real_screen.params["query"] == "120"
    assert 110 in [column[0] for column in real_screen.figure["columns"]]


def test_hovering_shows_the_pair_and_its_weight(opened: Screen) -> None:
    opened.press("9")
    xs, ys = opened.figure["matrix"]["xs"], opened.figure["matrix"]["ys"]
    opened.hover_sheet((xs[5] + xs[6]) / 2, (ys[2] + ys[3]) / 2)
    label = opened.page.locator(f"{PLOT} .hoverlayer .hovertext")
    label.wait_for()
    assert str(label.text_content()).startswith("/ → /: 0.")


def test_hovering_a_cell_of_the_ledger_shows_how_it_was_made(opened: Screen) -> None:
    x0, x1 = opened.figure["columns"][4][1:]
    for lane in (0.55, 0.6, 0.65, 0.7, 0.75):
        opened.hover_sheet((x0 + x1) / 2, opened.figure["ledger_bottom"] * lane)
        if opened.page.locator(f"{PLOT} .hoverlayer .hovertext").count():
            break
    assert "1" in opened.text(f"{PLOT} .hoverlayer .hovertext")
