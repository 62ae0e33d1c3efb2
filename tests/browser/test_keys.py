"""Keys, buttons and the slider step the figure in the browser alone: no run of the page, no new node."""

from __future__ import annotations

import pytest

from tests.browser.screen import PLOT, Screen


@pytest.fixture
def opened(screen: Screen) -> Screen:
    """Dates' own specimen at its sixth beat, the node marked and the count of messages at nought."""
    screen.open(model="dates", text="June 3, 2025", beat=6)
    screen.mark()
    screen.sent = 0
    return screen


def heat_maps(screen: Screen) -> int:
    return screen.page.locator(f"{PLOT} .heatmaplayer image").count()


def quiet(screen: Screen) -> bool:
    """Whether nothing went to the server and the node is the one that was marked."""
    screen.settle()
    return screen.sent == 0 and screen.marked


def test_keys_step_without_a_run(opened: Screen) -> None:
    presses = (
        ("ArrowRight", "7a"), ("PageDown", "7"), ("ArrowLeft", "7a"), ("PageUp", "6"), ("Home", "1"),
        ("ArrowLeft", "1"), ("End", "10"), ("PageDown", "10"), ("4", "4"), ("0", "10"),
    )  # fmt: skip
    for key, step in presses:
        opened.press(key)
        assert (key, opened.step, opened.params["beat"]) == (key, step, step)
    assert quiet(opened)


def test_digits_go_to_their_beats_and_every_step_keeps_the_strips(opened: Screen) -> None:
    maps = heat_maps(opened)
    assert maps
    for digit in "1234567890":
        opened.press(digit)
        assert opened.step == ("10" if digit == "0" else digit)
    opened.press("Home")
    for step in opened.figure["steps"]:
        assert opened.step == step["name"]
        assert opened.text(f"{PLOT} .ap-title") == f"{step['beat']} · {step['title']}"
        opened.frames(4)  # in the midst of the movement to this step
        assert heat_maps(opened) == maps
        opened.press("ArrowRight")
    assert quiet(opened)


def test_keys_work_after_a_click_elsewhere_and_never_in_a_text_field(opened: Screen) -> None:
    opened.page.locator(".atlas-source").first.click()
    opened.press("ArrowRight")
    assert opened.step == "7a"
    opened.page.locator(".atlas-title h1").click()
    opened.press("PageDown")
    assert opened.step == "7"
    for field in ("text", "query"):
        opened.page.locator(f".st-key-atlas-{field} input").click()
        opened.press("ArrowLeft", "ArrowRight", "Home", "End")
        assert opened.step == "7"
    opened.page.locator(".st-key-atlas-text input").click()
    opened.press("3")
    assert opened.step == "7"
    assert opened.page.locator(".st-key-atlas-text input").input_value().count("3") == 2
    opened.press("Escape")
    assert quiet(opened)


def test_space_plays_and_pauses_and_a_step_by_hand_pauses(opened: Screen) -> None:
    play = opened.page.locator(f"{PLOT} .ap-play")
    opened.page.locator(f"{PLOT} .ap-speed").click()
    opened.page.locator(".atlas-title h1").click()
    opened.press(" ")
    assert play.get_attribute("aria-label") == "Pause"
    opened.page.wait_for_function("document.querySelector('.atlas-plot').dataset.step === '7'")
    opened.press(" ")
    assert play.get_attribute("aria-label") == "Play"
    opened.press(" ", "ArrowLeft")
    assert play.get_attribute("aria-label") == "Play"
    assert quiet(opened)


def test_buttons_and_speed(opened: Screen) -> None:
    for name, step in (("Forward", "7a"), ("Back", "6"), ("Back", "5")):
        opened.plot.get_by_role("button", name=name, exact=True).click()
        assert opened.step == step
    speed = opened.page.locator(f"{PLOT} .ap-speed")
    for said in ("2×", "0.5×", "1×"):
        speed.click()
        assert speed.inner_text() == said
        assert speed.get_attribute("aria-label") == f"Speed: {said}"
    assert quiet(opened)


def test_playing_stops_at_the_last_beat_and_begins_again_from_the_first(opened: Screen) -> None:
    opened.press("End")
    opened.page.locator(f"{PLOT} .ap-play").click()
    assert opened.step == "1"
    opened.press("End", "ArrowLeft", " ")
    opened.page.wait_for_function("document.querySelector('.atlas-plot').dataset.step === '10'")
    opened.page.wait_for_function("document.querySelector('.ap-play').title === 'Play'")
    assert quiet(opened)


def test_the_slider_follows_the_pointer_and_the_keyboard(opened: Screen) -> None:
    slider = opened.plot.get_by_role("slider")
    box = slider.bounding_box()
    assert box
    mouse, middle = opened.page.mouse, box["y"] + 14

    def at(beat: int) -> float:
        return box["x"] + box["width"] * (beat - 0.5) / 10

    mouse.move(at(2), middle)
    mouse.down()
    assert opened.step == "2"
    mouse.move(at(9), middle, steps=5)
    assert opened.step == "9"
    mouse.move(at(10) + 400, middle)
    assert opened.step == "10"
    mouse.up()
    mouse.move(at(3), middle)
    assert opened.step == "10"
    slider.focus()
    opened.press("ArrowLeft")
    assert (slider.get_attribute("aria-valuenow"), slider.get_attribute("aria-valuetext")) == (
        "9",
        "9: All queries",
    )
    assert quiet(opened)


def test_without_motion_a_step_is_at_its_end_at_once(screen: Screen) -> None:
    screen.page.emulate_media(reduced_motion="reduce")
    screen.open(model="pocket", beat=6)
    moved = screen.page.evaluate("""() => new Promise((done) => {
        const rows = () => [...document.querySelectorAll(".atlas-plot .point")].map((p) => p.getAttribute("transform"));
        document.dispatchEvent(new KeyboardEvent("keydown", {key: "8"}));
        const after = () => requestAnimationFrame(() => requestAnimationFrame(() => {
            const soon = rows();
            setTimeout(() => done(String(soon) !== String(rows())), 700);
        }));
        after();
    })""")
    assert screen.step == "8"
    assert not moved
    screen.page.goto("about:blank")
    screen.open("/")
    assert screen.page.locator(f"{PLOT} .ap-play").get_attribute("aria-label") == "Play"


def test_the_beat_survives_a_reload_and_other_changes(opened: Screen) -> None:
    opened.press("9")
    opened.page.reload()
    opened.plot.wait_for()
    opened.settle()
    assert opened.step == "9"
    with opened.redrawn():
        opened.write("June 13, 2025")
    assert (opened.step, opened.params["beat"]) == ("9", "9")
    opened.page.locator(".st-key-atlas-talk button").click()
    opened.page.locator(f"{PLOT}[data-format=talk]").wait_for()
    opened.at(beat="9", talk="1")
    assert opened.step == "9"
    opened.page.locator(".st-key-atlas-talk button").click()
    opened.page.locator(f"{PLOT}[data-format=wide]").wait_for()
    opened.page.get_by_role("radio", name="中文").click()
    opened.page.wait_for_function("document.documentElement.lang === 'zh-CN'")
    opened.at(beat="9", lang="zh")
    assert opened.step == "9"
