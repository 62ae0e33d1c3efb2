"""Translators of one's own on the main screen: three kinds of attention, and a target that they write themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.components import library
from tests.engine.pretrained import translators
from tests.pages.test_frame import html


@pytest.mark.parametrize("family", ["t5", "marian"])
def test_every_kind_of_attention_is_shown_in_both_languages(
    open_app: Callable[..., AppTest], family: str, tmp_path: Path
) -> None:
    known = library.open_path(str(translators.saved_with_pieces(family, tmp_path / family)))
    for kind, lang in {"self": "en", "masked": "zh", "cross": "en"}.items():
        app = open_app("attention", model=known.name, text="the cat sat", kind=kind, lang=lang)
        assert not app.exception
        assert "atlas-problem" not in html(app)
        assert app.session_state["atlas.view"].kind == kind
        assert app.text_input(key="atlas-target").value == ""


@pytest.mark.parametrize(
    ("lang", "said"),
    [("en", "cut after 64 tokens; it had not ended."), ("zh", "在 64 个词元处截断；它还没有写完。")],
)
def test_a_target_without_an_end_is_cut_and_the_screen_says_so(
    open_app: Callable[..., AppTest], lang: str, said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "t5"
    folder.mkdir()
    translators.save_t5_pieces(folder)
    theirs = translators.t5(vocab_size=160)
    theirs.shared.weight.data[1] = 0  # the token that ends is never the likeliest
    theirs.save_pretrained(folder)
    known = library.open_path(str(folder))
    app = open_app("attention", model=known.name, text="the cat sat", lang=lang)
    assert said in html(app)
    app.text_input(key="atlas-target").set_value("the").run()
    assert said not in html(app)
