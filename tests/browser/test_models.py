"""The Models screen: what is here, what can be had and at which cost, and each model taken apart."""

from __future__ import annotations

import pytest

from tests.browser.screen import Screen


@pytest.fixture
def opened(screen: Screen) -> Screen:
    screen.open("/models", model="pocket")
    screen.page.locator(".atlas-table").first.wait_for()
    return screen


def names(screen: Screen) -> list[str]:
    return screen.page.locator(".atlas-model h3").all_inner_texts()


def test_what_is_here_and_what_can_be_had_before_anything_is_fetched(opened: Screen) -> None:
    assert names(opened)[:2] == ["Pocket", "Reverse"]
    said = opened.page.locator("[class*='st-key-atlas-model-smollm2']").inner_text()
    for words in ("SmolLM2-135M", "to fetch", "MB", "licence Apache-2.0", "Get SmolLM2-135M"):
        assert words in said
    assert opened.page.get_by_role("button", name="Get").count() == 2


def test_parameters_add_up(opened: Screen) -> None:
    cells = opened.page.locator(".atlas-table").first.locator("tbody td.atlas-number").all_inner_texts()
    *parts, whole = [int(cell.replace(",", "")) for cell in cells]
    assert sum(parts) == whole > 0


def test_looking_inside_another_model_and_seeing_its_attention(opened: Screen) -> None:
    opened.page.locator(".st-key-atlas-choose-dates button").click()
    opened.page.locator(".atlas-chosen", has_text="Dates").wait_for()
    opened.at(model="dates")
    opened.page.get_by_role("tab", name="Card").click()
    opened.page.get_by_role(
        "cell", name="python -m engine.training dates --out assets/models/dates"
    ).wait_for()
    opened.page.locator(".st-key-atlas-actions-dates").get_by_role("link", name="See its attention").click()
    opened.page.wait_for_url("**/attention?**")
    opened.plot.wait_for()
    opened.at(model="dates")


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=str)
def test_what_was_chosen_is_seen_from_where_it_was_chosen(screen: Screen, size: tuple[int, int]) -> None:
    screen.page.set_viewport_size({"width": size[0], "height": size[1]})
    screen.open("/models", model="pocket")
    button = screen.page.locator(".st-key-atlas-choose-digits button")
    button.scroll_into_view_if_needed()
    button.click()
    screen.page.locator(".atlas-chosen", has_text="Handwritten digits").wait_for()
    screen.settle()
    for seen in (".st-key-atlas-inside .atlas-heading", ".st-key-atlas-inside .atlas-table tbody tr"):
        box = screen.page.locator(seen).first.bounding_box()
        assert box
        assert 0 <= box["y"] < size[1] * 0.6


def test_on_a_phone_the_verdicts_of_all_checks_are_seen(screen: Screen) -> None:
    screen.page.set_viewport_size({"width": 390, "height": 844})
    screen.open("/models", model="pocket")
    screen.page.get_by_role("tab", name="Verify").click()
    screen.page.locator(".st-key-atlas-verify-pocket button").click()
    verdicts = screen.page.locator(".atlas-table td:last-child", has_text="holds")
    verdicts.first.wait_for()
    assert all(
        box["x"] + box["width"] <= 390 for box in (one.bounding_box() for one in verdicts.all()) if box
    )


def test_a_model_verifies_itself(opened: Screen) -> None:
    opened.page.get_by_role("tab", name="Verify").click()
    opened.page.get_by_role("button", name="Verify").click()
    verdicts = opened.page.locator(".atlas-table tbody td:last-child", has_text="holds")
    verdicts.first.wait_for()
    assert verdicts.count() >= 4
    assert opened.page.get_by_text("fails").count() == 0


@pytest.mark.parametrize("path", ["/no/such/model.gguf", "/etc/hostname", "/etc", "<b>x</b>\u202e$5"])
def test_a_path_that_is_no_model_is_met_with_one_sentence(opened: Screen, path: str) -> None:
    opened.write(path, name="path")
    opened.page.locator(".atlas-problem").wait_for()
    assert len(opened.problems) == 1
    assert len(names(opened)) == 12  # ten that came along, two that were fetched


def test_the_real_models_are_listed_with_their_size_and_licence(real_screen: Screen) -> None:
    real_screen.open("/models")
    real_screen.page.locator(".atlas-chosen", has_text="SmolLM2").wait_for()
    said = real_screen.page.locator("[class*='st-key-atlas-model-smollm2']").inner_text()
    assert "Apache-2.0" in said
    assert "on disk" in said
    assert real_screen.page.get_by_role("button", name="Remove").count() >= 1
