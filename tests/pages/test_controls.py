"""Controls show the view and change it; what the model does not have is clamped, one choice is not drawn."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from pages.components import state
from pages.components.state import ViewState


def page(model: dict, text: str, params: dict[str, str]) -> None:
    import streamlit as st

    from pages.components import controls, state

    if "atlas.view" not in st.session_state:
        st.query_params.update(params)
    state.enter("attention")
    model = st.session_state.get("smaller", model)
    controls.text(text)
    controls.kind(model["kinds"])
    controls.layer(model["layers"], 2)
    controls.token("query", model["labels"], 1)
    for note in state.notes():
        st.text(str(note))


def open_page(text: str = "hi", params: dict[str, str] | None = None, **given: Any) -> AppTest:
    model = {"layers": 6, "labels": ["the", "cat", "the"], "kinds": ["self", "masked"]} | given
    arguments = {"model": model, "text": text, "params": params or {}}
    return AppTest.from_function(page, kwargs=arguments).run()


def view(app: AppTest) -> ViewState:
    return app.session_state["atlas.view"]


def test_what_the_page_chose_is_in_the_view_and_so_in_the_link() -> None:
    app = open_page()
    assert not app.exception
    assert (view(app).layer, view(app).query, view(app).kind, view(app).text) == (2, 1, "self", "hi")
    assert not app.text


def test_the_link_wins_over_the_defaults_and_the_widget_over_the_link() -> None:
    app = open_page(params={"layer": "4", "lang": "en"})
    assert app.selectbox(key="atlas-layer").value == 4
    app.selectbox(key="atlas-layer").set_value(5).run()
    assert view(app).layer == 5
    assert app.selectbox(key="atlas-layer").value == 5


def test_beyond_the_last_layer_the_last_is_shown_and_said() -> None:
    app = open_page(params={"layer": "99", "lang": "en"})
    assert view(app).layer == 5
    assert [note.value for note in app.text] == [
        "The link's “layer” is 99; the nearest there is, 5, is shown."
    ]


def test_a_smaller_model_clamps_without_a_word() -> None:
    app = open_page(layers=30, labels=["a"] * 20, params={"layer": "29", "query": "19", "lang": "en"})
    app.session_state["smaller"] = {"layers": 2, "labels": ["a", "b"], "kinds": ["cross"]}
    app.selectbox(key="atlas-query").set_value(18).run()
    assert not app.exception
    assert (view(app).layer, view(app).query, view(app).kind) == (1, 1, "cross")
    assert not app.text


def test_one_choice_is_not_drawn() -> None:
    app = open_page(layers=1, labels=["a"], kinds=["self"])
    assert not app.exception
    assert not app.selectbox
    assert not app.button_group


def test_words_that_occur_twice_are_two_choices() -> None:
    app = open_page()
    options = app.selectbox(key="atlas-query").options
    assert len(set(options)) == 3
    app.selectbox(key="atlas-query").set_value(2).run()
    assert view(app).query == 2


def test_a_word_read_from_right_to_left_does_not_turn_its_number_around() -> None:
    """Each label is isolated, numbers come first, and tokens are listed in the order of the text."""
    options = open_page(labels=["abc", "שלום", "123", "(עולם)"]).selectbox(key="atlas-query").options
    assert options == ["0 \u2068abc\u2069", "1 \u2068שלום\u2069", "2 \u2068123\u2069", "3 \u2068(עולם)\u2069"]


def test_typing_another_sentence_forgets_the_tokens_of_the_last() -> None:
    app = open_page(params={"query": "2", "key": "1", "target": "old", "lang": "en"})
    app.text_input(key="atlas-text").set_value("$5 **and** <b>").run()
    assert view(app).text == "$5 **and** <b>"
    assert view(app).target is None
    assert view(app).key is None


def test_a_line_break_has_a_sign_in_the_field_and_is_one_in_the_text() -> None:
    app = open_page(params={"text": "a\nb", "lang": "en"})
    assert app.text_input(key="atlas-text").value == "a⏎b"
    app.text_input(key="atlas-text").set_value("a⏎c").run()
    assert view(app).text == "a\nc"


def test_control_characters_that_are_typed_are_left_out() -> None:
    app = open_page()
    app.text_input(key="atlas-text").set_value("a\x00b").run()
    assert view(app).text == "ab"


def test_a_text_too_long_for_a_link_is_shown_and_said() -> None:
    app = open_page(text="word " * 800)
    assert app.text_input(key="atlas-text").value == "word " * 800
    assert "4,000" in app.text[0].value
    assert "2,000" in app.text[0].value
    assert "text" not in state.write(view(app))
    app.text_input(key="atlas-text").set_value("short").run()
    assert not app.text


def test_a_kind_the_model_does_not_have_is_said() -> None:
    app = open_page(kinds=["masked"], params={"kind": "cross", "lang": "en"})
    assert view(app).kind == "masked"
    assert "cross" in app.text[0].value
