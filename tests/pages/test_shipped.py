"""Every model that comes with the project is alive on every screen from the first second."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from engine.home import embedded
from engine.language_model import load
from pages.components import library
from pages.components.attention import look_for
from pages.components.language import LANGUAGES, Language, translations
from tests.pages.test_frame import html

Start = Callable[..., AppTest]
READERS = [name for name in embedded() if not load(name).config.patches]


def title_in(lang: Language, name: str) -> str:
    """What its card says, in that language."""
    title = load(name).title
    return translations(lang).get(title, title)


@pytest.mark.parametrize("name", embedded())
def test_its_attention_is_shown_in_both_languages(open_app: Start, name: str) -> None:
    for lang in LANGUAGES:
        app = open_app("attention", model=name, lang=lang)
        assert not app.exception
        assert "atlas-problem" not in html(app)
        assert app.session_state["atlas.view"].model == name
        assert title_in(lang, name) in html(app)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_list_says_of_each_what_it_does(open_app: Start, lang: Language) -> None:
    app = open_app("models", lang=lang)
    words, chinese = unescape(html(app)), translations("zh")
    for known in library.present():
        assert known.summary in chinese
        assert (known.summary if lang == "en" else chinese[known.summary]) in words


def test_all_but_one_that_is_a_name_have_a_chinese_title() -> None:
    assert [name for name in embedded() if title_in("zh", name) == load(name).title] == ["pocket"]


@pytest.mark.parametrize(
    ("lang", "reverse", "note"),
    [
        ("en", "Reverse", "There is no model called “none” here; Reverse is shown."),
        ("zh", "倒写", "这里没有名为“none”的模型，现在显示的是 倒写。"),
    ],
)
def test_screens_call_it_by_its_title_in_the_language_that_is_read(
    open_app: Start, lang: str, reverse: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "default", lambda: "reverse")
    app = open_app("attention", model="none", lang=lang)
    assert note in html(app)
    assert reverse in app.selectbox(key=f"atlas-which-model-{lang}").options
    assert f'<p dir="auto">{reverse} · ' in html(app)
    assert f"{reverse}</h3>" in html(open_app("models", lang=lang))
    assert reverse in open_app("runs", lang=lang).selectbox(key=f"atlas-replay-run-{lang}").options


def test_the_language_is_changed_and_the_model_stays(open_app: Start) -> None:
    app = open_app("attention", model="sort", lang="en")
    app.segmented_control(key="atlas-language").set_value("zh").run()
    assert not app.exception
    assert app.session_state["atlas.view"].model == "sort"
    assert app.selectbox(key="atlas-which-model-zh").value == "sort"


@pytest.mark.parametrize(("lang", "title"), [("en", "Reverse"), ("zh", "倒写")])
def test_errors_call_it_so_too(open_app: Start, lang: str, title: str) -> None:
    app = open_app("attention", model="reverse", text="a" * 40, lang=lang)
    (said,) = [one for one in unescape(html(app)).split("</p>") if "atlas-problem" in one]
    assert title in said


@pytest.mark.parametrize("name", READERS)
def test_it_reads_what_nobody_taught_it(open_app: Start, name: str) -> None:
    app = open_app("attention", model=name, lang="en", text="?")
    assert not app.exception
    assert "atlas-problem" not in html(app)


def test_they_stand_in_order_from_the_simplest_on() -> None:
    names = [known.name for known in library.present()]
    assert names == [name for name in library.FIRST if name in embedded()]


@pytest.mark.parametrize(
    ("lang", "told"),
    [("en", "The whole model tells: “\u20687\u2069”"), ("zh", "整个模型认为是“\u20687\u2069”")],
)
def test_images_are_picked_by_name_and_told(
    open_app: Start, lang: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside: list[str] = []
    lines = look_for.lines
    monkeypatch.setattr(look_for, "lines", lambda *given: beside.extend(lines(*given)[1]) or lines(*given))
    app = open_app("attention", model="digits", lang=lang)
    assert app.selectbox(key="atlas-image").options == [*"0123456789"]
    assert not [field for field in app.text_input if field.key == "atlas-text"]
    app.selectbox(key="atlas-image").set_value("7").run()
    assert not app.exception
    assert app.session_state["atlas.view"].text == "7"
    assert any(told in line for line in beside)


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "This model reads images, and comes with none called “the cat”; “3” is shown."),
        ("zh", "这个模型读图像，但没有名为“the cat”的；现在显示“3”。"),
    ],
)
def test_a_text_in_a_link_to_images_is_left_out_in_one_sentence(
    open_app: Start, lang: str, said: str
) -> None:
    app = open_app("attention", model="digits", text="the cat", lang=lang)
    assert not app.exception
    assert said in html(app)


def test_from_images_to_words_and_back(open_app: Start) -> None:
    app = open_app("attention", model="digits", text="5", lang="en")
    app.selectbox(key="atlas-which-model-en").set_value("reverse").run()
    assert not app.exception
    assert app.text_input(key="atlas-text").value == "stressed"
    app.selectbox(key="atlas-which-model-en").set_value("digits").run()
    assert not app.exception
    assert "atlas-problem" not in html(app)
    assert app.selectbox(key="atlas-image").value == "3"


def test_another_model_opens_on_its_own_sentence_and_head(open_app: Start) -> None:
    app = open_app("attention", model="pocket", lang="en")
    assert app.session_state["atlas.view"].head == 0
    app.selectbox(key="atlas-which-model-en").set_value("dates").run()
    assert not app.exception
    view = app.session_state["atlas.view"]
    assert (view.text, view.kind, view.head) == ("June 3, 2025", "cross", 0)
