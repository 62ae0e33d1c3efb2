"""Nothing overlaps, is cut or scrolls sideways: every pair of screen, language, theme, talk and size once.

`python -m tests.browser.grid FOLDER` looks at all combinations and keeps their pictures.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.browser.layout import SIZES, Look, faults, looks, show, sizes
from tests.browser.screen import PLOT, Screen

LAPTOP, STAGE, PHONE = SIZES
SCREENS = {
    "home": ("/", {}),
    "models": ("/models", {"model": "dates"}),
    "attention": ("/attention", {"model": "dates", "text": "June 3, 2025", "beat": "7"}),
    "attention-pocket": ("/attention", {"model": "pocket", "beat": "9"}),
    "scaling": ("/scaling", {"model": "dates"}),
    "training": ("/training", {}),
    "runs": ("/runs", {"run": "reverse", "probe": "abcdefgh"}),
    "clinic": ("/clinic", {}),
    "clinic-case": ("/clinic", {"case": "scores_not_scaled"}),
}
LOOKS = [
    Look("home", "en", "light", False, LAPTOP),
    Look("home", "zh", "dark", True, STAGE),
    Look("home", "zh", "light", False, PHONE),
    Look("models", "zh", "dark", False, LAPTOP),
    Look("models", "en", "light", True, STAGE),
    Look("models", "en", "dark", False, PHONE),
    Look("attention", "en", "dark", False, LAPTOP),
    Look("attention", "zh", "light", True, STAGE),
    Look("attention", "en", "light", True, PHONE),
    Look("attention-pocket", "zh", "light", True, LAPTOP),
    Look("attention-pocket", "en", "dark", False, STAGE),
    Look("attention-pocket", "zh", "dark", False, PHONE),
    *(
        look
        for name in ("scaling", "training", "runs", "clinic", "clinic-case")
        for look in (
            Look(name, "en", "light", False, LAPTOP),
            Look(name, "zh", "dark", True, STAGE),
            Look(name, "zh", "light", False, PHONE),
        )
    ),
    # Where figure, caption and slider have to be there together, each of the two themes.
    Look("attention", "zh", "light", False, LAPTOP),
    Look("attention", "en", "dark", True, STAGE),
]


def pairs(look: Look) -> set[tuple]:
    return set(
        combinations(
            [
                ("screen", look.screen),
                ("lang", look.lang),
                ("theme", look.theme),
                ("talk", look.talk),
                ("size", look.size),
            ],
            2,
        )
    )


def test_every_pair_is_looked_at() -> None:
    every = set().union(*map(pairs, looks(list(SCREENS))))
    assert every - set().union(*map(pairs, LOOKS)) == set()


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_nothing_is_in_the_way_of_anything(screen: Screen, look: Look) -> None:
    path, params = SCREENS[look.screen]
    show(screen, look, path, **params)
    assert faults(screen, look.fits) == []
    ground = {"light": "rgb(252, 251, 247)", "dark": "rgb(20, 22, 27)"}[look.theme]
    assert (
        screen.page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") == ground
    )


def test_on_stage_words_and_numbers_can_be_read_from_the_last_row(real_screen: Screen) -> None:
    show(real_screen, Look("attention", "en", "light", True, STAGE), "/attention")
    assert real_screen.labels()[0] == "it"
    on_stage = sizes(real_screen)
    assert on_stage["caption"] >= 44
    assert on_stage["tokens"] >= 36
    assert on_stage["cells"] >= 28


@pytest.mark.parametrize("talk", [False, True], ids=["laptop", "stage"])
def test_the_opening_sentence_fits_at_every_beat(real_screen: Screen, talk: bool) -> None:
    look = Look("attention", "en", "light", talk, STAGE if talk else LAPTOP)
    show(real_screen, look, "/attention", beat="1")
    wrong = {}
    for step in real_screen.figure["steps"]:
        real_screen.frames(2)
        if found := faults(real_screen, fits=True):
            wrong[step["name"]] = found
        real_screen.press("ArrowRight")
    assert wrong == {}


NOTED = {"layer": "99", "head": "99", "query": "99", "key": "99", "kind": "self", "foo": "1", "bar": "2"}


@pytest.mark.parametrize("size", [LAPTOP, STAGE], ids=str)
@pytest.mark.parametrize("talk", [False, True], ids=["page", "stage"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_whatever_is_noted_above_the_figure_its_words_cover_none_of_it(
    screen: Screen, lang: str, talk: bool, size: tuple[int, int]
) -> None:
    look = Look("attention", lang, "light", talk, size)
    show(screen, look, "/attention", model="dates", text="3 June 2025 ♥", **NOTED)
    assert len(screen.notes) == 7, "four numbers out of range, two that mean nothing, one about the text"
    for key in ("Home", "4", "End"):
        screen.press(key)
        screen.frames(2)
        assert faults(screen, fits=True) == []


def test_a_note_that_comes_later_finds_room_and_gives_it_back(screen: Screen) -> None:
    screen.open(model="dates", text="3 June 2025")
    width = "document.querySelector('.ap-figure').getBoundingClientRect().width"
    whole = screen.page.evaluate(width)
    for text, shown in {"3 June 2025 ♥": "smaller", "3 June 2024": "whole"}.items():
        with screen.redrawn():
            screen.write(text)
        screen.frames(3)
        assert faults(screen, fits=True) == []
        assert (screen.page.evaluate(width) < whole) == (shown == "smaller")


def test_on_a_phone_the_column_in_focus_is_seen(screen: Screen) -> None:
    show(screen, Look("attention", "en", "light", False, PHONE), "/attention", model="dates", key="12")
    first, last = screen.figure["lit"]
    assert last > PHONE[0], "it lies off the screen where nothing is moved"
    at = screen.page.locator(".ap-stage").evaluate("(node) => [node.scrollLeft, node.clientWidth]")
    assert at[0] <= first < last <= at[0] + at[1]


def test_the_theme_can_be_switched_and_the_figure_follows(screen: Screen) -> None:
    screen.open(model="pocket", beat=9)
    with screen.redrawn():
        screen.page.get_by_role("button", name="Dark", exact=True).click()
    ground = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    assert screen.page.evaluate(ground) == "rgb(20, 22, 27)"
    assert (
        screen.page.locator(PLOT).evaluate("(node) => node.style.getPropertyValue('--ap-ground')")
        == "#14161B"
    )
    assert screen.step == "9"
    screen.page.reload()
    screen.plot.wait_for()
    screen.settle()
    assert screen.page.evaluate(ground) == "rgb(20, 22, 27)"
    with screen.redrawn():
        screen.page.get_by_role("button", name="Light", exact=True).click()
    assert screen.page.evaluate(ground) == "rgb(252, 251, 247)"
