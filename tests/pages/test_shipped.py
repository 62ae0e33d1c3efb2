"""Every model that comes with the project is alive on every screen from the first second."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from engine.language_model import embedded, load
from pages.components import library
from pages.components.language import Language, translations
from tests.pages.test_frame import html

Start = Callable[..., AppTest]
READERS = [name for name in embedded() if not load(name).config.patches]


@pytest.mark.parametrize("name", embedded())
def test_its_attention_is_shown_in_both_languages(open_app: Start, name: str) -> None:
    for lang in ("en", "zh"):
        app = open_app("attention", model=name, lang=lang)
        assert not app.exception
        assert "atlas-problem" not in html(app)
        assert app.session_state["atlas.view"].model == name
        assert library.find(name).title in html(app)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_list_says_of_each_what_it_does(open_app: Start, lang: Language) -> None:
    app = open_app("models", lang=lang)
    words, chinese = unescape(html(app)), translations("zh")
    for known in library.present():
        assert known.summary in chinese
        assert (known.summary if lang == "en" else chinese[known.summary]) in words


@pytest.mark.parametrize("name", READERS)
def test_it_reads_what_nobody_taught_it(open_app: Start, name: str) -> None:
    app = open_app("attention", model=name, lang="en", text="?")
    assert not app.exception
    assert "atlas-problem" not in html(app)


def test_they_stand_in_order_from_the_simplest_on() -> None:
    names = [known.name for known in library.present()]
    assert names == [name for name in library.FIRST if name in embedded()]
