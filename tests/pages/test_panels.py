"""Panels show text as it is, on every surface."""

from __future__ import annotations

import html as entities

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.components import panels

HOSTILE = [
    "<b>x</b>",
    "</script><script>alert(1)</script>",
    "$5 and $6",
    "**bold**",
    "&amp;",
    "שלום 123",
    ":red[x]",
    "`code`",
    "[a](http://b)",
    "'\"",
    "\u2028",
    "[x]{.y}",
    "{name}",
]


def page(text: str) -> None:
    import numpy as np
    import pandas as pd

    from pages.components import panels

    frame = pd.DataFrame({text: [text, 1, 0.25]})
    panels.problem(text)
    panels.notes([text])
    panels.heading(text)
    panels.statement(text)
    panels.paragraph(text)
    panels.table(frame, "t", text)
    panels.tensor(text, {"batch": 1, "head": 9}, np.zeros((1, 9), np.float32), lambda: frame)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_stands_as_it_is(text: str) -> None:
    app = AppTest.from_function(page, args=(text,)).run()
    assert not app.exception
    assert not app.markdown
    bodies = [element.proto.body for element in app.get("html")]
    assert len(bodies) == 7
    for body in bodies:
        assert entities.escape(text) in body
        assert "<script" not in body
        assert "<b>" not in body


def pair(source: str, target: str) -> None:
    from pages.components import panels

    panels.pair(source, target)


def test_an_arrow_between_two_texts_stays_with_the_second() -> None:
    (told,) = AppTest.from_function(pair, args=("<b>", "a & b")).run().get("html")
    assert told.proto.body == (
        '<p class="atlas-sample atlas-pair"><span dir="auto">&lt;b&gt;</span> '
        "<span>→&nbsp;<bdi>a &amp; b</bdi></span></p>"
    )


def test_a_long_table_shows_its_beginning_and_says_so() -> None:
    def long() -> None:
        import pandas as pd

        from pages.components import panels

        panels.table(pd.DataFrame({"n": range(60)}), "t", "numbers", rows=50)

    app = AppTest.from_function(long).run()
    bodies = [element.proto.body for element in app.get("html")]
    assert bodies[0].count("<tr>") == 51
    assert "50" in bodies[1]
    assert "60" in bodies[1]


def test_a_cell_has_its_thousands_and_four_digits() -> None:
    assert ">30,000<" in panels._cell(30000)
    assert ">0.1235<" in panels._cell(0.12345678)
    assert ">0.75<" in panels._cell(np.float32(0.75))
    assert ">True<" in panels._cell(True)


def example(self: object) -> str:
    """Two
    lines < & >."""
    text = self.scores("a < b")  # type: ignore[attr-defined]  # a comment
    return text if text else f"{text!r}"


def test_source_is_the_file_line_for_line_with_its_taps() -> None:
    import inspect
    import re

    lines = inspect.getsource(example).splitlines()
    marked = panels.marked(lines)
    plain = [entities.unescape(re.sub(r"<[^>]+>", "", line)) for line in marked]
    assert plain == lines
    shown = [panels._source_line(line, html) for line, html in zip(lines, marked, strict=True)]
    assert [number for number, line in enumerate(shown) if "data-tap='scores'" in line] == [3]
