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
