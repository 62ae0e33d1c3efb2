"""The Clinic in the browser: a case opened by its link is measured, asked about, told in Chinese and on stage."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.layout import faults
from tests.browser.screen import PLOT, Screen
from tests.browser.server import Server

LONG = 240_000  # milliseconds; a process has to begin, and torch with it
CASE, SLOW = "scores_not_scaled", "no_warmup"
TELLING = ".atlas-measures tbody tr:first-child td.atlas-number"


def opened(screen: Screen, case: str = CASE, **params: object) -> Screen:
    """The case, measured."""
    screen.page.goto(
        f"{screen.server.url}/clinic?case={case}&" + "&".join(f"{k}={v}" for k, v in params.items())
    )
    screen.page.locator(TELLING).first.wait_for(timeout=LONG, state="attached")
    screen.page.locator(PLOT).first.wait_for(state="attached")
    screen.settle()
    return screen


def worker(server: Server) -> int:
    """The process in which the server measures cases."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if b"engine.clinic.bench_process" in command and int(parent) == server.pid:
            return int(entry.name)
    raise AssertionError("the bench has no process")


def test_a_case_is_found_by_its_symptom_with_the_keyboard_alone(screen: Screen) -> None:
    screen.page.goto(f"{screen.server.url}/clinic?lang=en")
    door = screen.page.get_by_role("button", name="The loss does not fall")
    door.wait_for()
    screen.settle()
    door.focus()
    screen.press("Enter")
    case = screen.page.locator(f".st-key-atlas-open-{CASE} button")
    case.wait_for(timeout=LONG)
    screen.settle()
    case.focus()
    screen.press("Enter")
    screen.page.locator(TELLING).first.wait_for(timeout=LONG)
    screen.at(symptom="loss_stays", case=CASE)


def test_the_whole_door_is_a_button(screen: Screen) -> None:
    screen.page.goto(f"{screen.server.url}/clinic?lang=en")
    sign = screen.page.locator(".st-key-atlas-symptom-overfits .atlas-sign")
    sign.wait_for()
    screen.settle()
    sign.click(force=True)
    screen.page.locator(".st-key-atlas-symptom-head").wait_for(timeout=LONG)


def test_settings_are_run_again_and_the_link_restores_them(screen: Screen) -> None:
    opened(screen, lang="en")
    before = screen.page.locator(TELLING).first.inner_text()
    field = screen.page.locator(".st-key-atlas-clinic-form input").last  # the seed
    field.fill("5")
    field.press("Enter")
    screen.settle()
    screen.page.get_by_role("button", name="Run again").click()
    changed = "([selector, before]) => document.querySelector(selector)?.innerText !== before"
    screen.page.wait_for_function(changed, arg=[TELLING, before], timeout=LONG)
    screen.at(settings="seed:5")
    after = screen.page.locator(TELLING).first.inner_text()
    opened(screen, lang="en", settings="seed:5")
    assert screen.page.locator(TELLING).first.inner_text() == after


def test_a_guess_is_answered_and_explained(screen: Screen) -> None:
    opened(screen, lang="en")
    answers = screen.page.locator(".st-key-atlas-clinic-answers button")
    count = answers.count()
    answers.first.click()
    screen.page.locator(".atlas-why").wait_for()
    assert screen.page.locator(".atlas-answers li").count() == count
    assert screen.page.locator(".atlas-answer-right").count() == 1
    screen.page.get_by_role("button", name="Ask me again").click()
    screen.page.locator(".atlas-why").wait_for(state="detached")


def test_a_bench_that_is_killed_says_so_and_works_again(screen: Screen) -> None:
    opened(screen, lang="en")
    screen.page.goto(f"{screen.server.url}/clinic?case={SLOW}&lang=en&settings=seed:{os.getpid() % 9999}")
    screen.page.locator(".atlas-measuring", has_text="Both are running").wait_for(timeout=LONG)
    os.kill(worker(screen.server), signal.SIGKILL)
    screen.page.locator(".atlas-problem", has_text="ended in the middle of one").wait_for(timeout=LONG)
    screen.page.get_by_role("button", name="Run again").click()
    screen.page.locator(TELLING).first.wait_for(timeout=LONG)
    screen.settle()
    assert screen.problems == []


@pytest.mark.parametrize("talk", [None, 1])
def test_no_line_of_a_listing_is_cut_and_lines_that_belong_together_share_a_row(
    screen: Screen, talk: int | None
) -> None:
    opened(screen, "learning_rate_too_high", lang="en", **({"talk": talk} if talk else {}))
    boxes = "[...document.querySelectorAll('.atlas-listings :is(pre, code)')]"
    assert screen.page.evaluate(f"{boxes}.filter((one) => one.scrollWidth > one.clientWidth).length") == 0
    tops = (
        "[...document.querySelectorAll('.atlas-{side} code')].map((line) => line.getBoundingClientRect().top)"
    )
    broken, mended = (screen.page.evaluate(tops.replace("{side}", side)) for side in ("broken", "mended"))
    assert broken == mended
    assert broken == sorted(set(broken))  # none on another


def test_on_stage_keys_go_from_scene_to_scene_and_the_link_with_them(screen: Screen) -> None:
    opened(screen, lang="en", talk=1)
    listings, numbers = screen.page.locator(".atlas-listings"), screen.page.locator(".atlas-measures")
    assert (listings.is_visible(), numbers.is_visible()) == (True, False)
    screen.press("PageDown")
    assert (listings.is_visible(), numbers.is_visible()) == (False, True)
    assert screen.params["beat"] == "2"
    screen.press("End")
    assert screen.page.locator(".atlas-remedy").is_visible()
    screen.press("Home", "ArrowRight")
    last = screen.page.locator(".atlas-steps span").inner_text().rpartition("/")[2].strip()
    opened(screen, lang="en", talk=1, beat=last)
    assert screen.page.locator(".atlas-remedy").is_visible()
    screen.page.get_by_role("button", name="Back", exact=True).click()
    assert screen.page.locator(".atlas-why").is_visible()
    screen.page.get_by_role("button", name="Leave talk").click()
    screen.page.locator(".st-key-atlas-clinic-way").wait_for()
    screen.settle()
    assert listings.is_visible()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("size", [(390, 844), (1280, 720)], ids=["phone", "laptop"])
def test_nothing_is_in_the_way_of_anything(
    context: BrowserContext, server: Server, lang: str, size: tuple[int, int]
) -> None:
    screen = Screen(context, server, *size)
    try:
        opened(screen, lang=lang)
        assert faults(screen, fits=False) == []
        told = {"en": "Both were run here just now", "zh": "两段刚刚在这里运行过"}[lang]
        assert told in screen.page.locator(".st-key-atlas-clinic-told").inner_text()
        assert not screen.complaints()
    finally:
        screen.page.close()
