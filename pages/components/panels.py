"""What a screen shows beside its figures. Text of visitors and models stands as it is: never Markdown, LaTeX
or HTML.
"""

from __future__ import annotations

import inspect
import io
import keyword
import re
import textwrap
import tokenize
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.components.language import _, language

if TYPE_CHECKING:
    import pandas as pd

LESSONS = Path(__file__).parents[2] / "assets" / "lessons"


def problem(sentence: str) -> None:
    """One sentence about what cannot be shown, and why."""
    st.html(f'<p class="atlas-problem" role="alert" dir="auto">{escape(sentence)}</p>')


def notes(sentences: Sequence[str]) -> None:
    """Sentences the visitor should have read, above the page."""
    said = "".join(f'<p class="atlas-note" role="status" dir="auto">{escape(one)}</p>' for one in sentences)
    if said:
        st.html(f'<div class="atlas-notes">{said}</div>')


def statement(words: str) -> None:
    """The one large sentence of a screen."""
    st.html(f'<p class="atlas-statement">{escape(words)}</p>')


def heading(words: str) -> None:
    """A heading inside a screen; anything may stand in it."""
    st.html(f'<h2 class="atlas-heading" dir="auto">{escape(words)}</h2>')


def paragraph(words: str) -> None:
    """A quiet line of text; anything may stand in it."""
    st.html(f'<p class="atlas-quiet" dir="auto">{escape(words)}</p>')


def sample(words: str) -> None:
    """A line of text that a model reads or writes, letter under letter."""
    st.html(f'<p class="atlas-sample" dir="auto">{escape(words)}</p>')


def pair(source: str, target: str) -> None:
    """What is read and what is written for it, on one line; on two where they do not fit, the arrow with the target."""
    read = f'<span dir="auto">{escape(source)}</span> '
    written = f"→&nbsp;<bdi>{escape(target)}</bdi>"
    st.html(f'<p class="atlas-sample atlas-pair">{read}<span>{written}</span></p>')


def entry(title: str, summary: str = "", marked: bool = False) -> None:
    """One thing of a list, such as a model: its name, and a line about it."""
    here = " class='atlas-chosen'" if marked else ""
    said = f"<p dir='auto'>{escape(summary)}</p>" if summary else ""
    st.html(f"<div class='atlas-model'><h3{here} dir='auto'>{escape(title)}</h3>{said}</div>")


def plain(words: str) -> str:
    """Words for a label, which Streamlit would read as Markdown; they stand as they are."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!~$:|&])", r"\\\1", words)


def lesson(name: str) -> None:
    """The screen's short lesson, in the session's language. Our own words, so Markdown and equations are
    read.
    """
    with st.container(key=f"atlas-lesson-{name}"):
        st.markdown((LESSONS / language() / f"{name}.md").read_text("utf-8"))


def table(frame: pd.DataFrame, name: str, caption: str, rows: int = 50) -> None:
    """The first `rows` rows of a table as they are, and all of it as a CSV file called `name`.csv."""
    shown = frame.head(rows)
    head = "".join(f"<th scope='col'>{escape(str(column))}</th>" for column in frame.columns)
    body = "".join(
        "<tr>" + "".join(_cell(value) for value in values) + "</tr>"
        for values in shown.itertuples(index=False)
    )
    st.html(
        f"<div class='atlas-table' role='region' tabindex='0' aria-label='{escape(caption)}'><table>"
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    if len(frame) > rows:
        paragraph(
            _("The first {rows} of {all} rows; the file has all of them.").format(
                rows=rows, all=f"{len(frame):,}"
            )
        )
    csv_button(lambda: frame, name)


def csv_button(build: Callable[[], pd.DataFrame], name: str, label: str | None = None) -> None:
    """A button that makes the table when it is pressed, and downloads it."""
    st.download_button(
        label or _("Download CSV"), lambda: build().to_csv(index=False).encode("utf-8-sig"),
        file_name=f"{name}.csv", mime="text/csv", key=f"atlas-csv-{name}", type="tertiary", on_click="ignore",
    )  # fmt: skip


def _cell(value: Any) -> str:
    if isinstance(value, bool | str):
        return f"<td dir='auto'>{escape(str(value))}</td>"
    shown = (
        f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
    )
    return f"<td class='atlas-number'>{escape(shown)}</td>"


def tensor(name: str, axes: Mapping[str, int], values: Any, build: Callable[[], pd.DataFrame]) -> None:
    """A captured tensor: its name, its axes with their sizes, its range, and all its numbers as a CSV file.

    `values` is the tensor (anything with min, max, dtype); `build` makes its tidy table when somebody asks
    for it.
    """
    sizes = " · ".join(f"{axis} {size}" for axis, size in axes.items())
    span = _("from {low} to {high}").format(
        low=f"{float(values.min()):.4g}", high=f"{float(values.max()):.4g}"
    )
    dtype = str(values.dtype).removeprefix("torch.")
    st.html(
        f"<div class='atlas-tensor'><code>{escape(name)}</code><p>{escape(sizes)}</p>"
        f"<p>{escape(dtype)}, {escape(span)}</p></div>"
    )
    csv_button(build, name)


def source(thing: Any, label: str) -> None:
    """The source of a function or class as it is in the file. Each line that calls a tap, `self.scores(`,
    carries the tap's name in `data-tap`, so that the plot component can light the line of the beat on screen.
    """
    called = f"tabindex='0' role='region' aria-label='{escape(label)}'"
    st.html(f"<pre class='atlas-source' {called}>{_source(thing)}</pre>")


@lru_cache(maxsize=32)
def _source(thing: Any) -> str:
    lines = textwrap.dedent(inspect.getsource(thing)).splitlines()
    return "".join(_source_line(line, html) for line, html in zip(lines, marked(lines), strict=True))


def _source_line(line: str, html: str) -> str:
    taps = " ".join(re.findall(r"self\.(\w+)\(", line))
    return f"<code{f' data-tap={chr(39)}{escape(taps)}{chr(39)}' if taps else ''}>{html or ' '}</code>"


def marked(lines: Sequence[str]) -> list[str]:
    """Lines of Python, escaped, with comments, strings and keywords wrapped in spans."""
    found = [""] * len(lines)
    at = [0] * len(lines)  # up to which column each line has been written
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        style = _style(token)
        for row in range(token.start[0] - 1, min(token.end[0], len(lines))):
            start = token.start[1] if row == token.start[0] - 1 else 0
            end = token.end[1] if row == token.end[0] - 1 else len(lines[row])
            text = escape(lines[row][start:end], quote=False)
            found[row] += escape(lines[row][at[row] : start], quote=False)
            found[row] += f"<span class='atlas-{style}'>{text}</span>" if style and text else text
            at[row] = max(at[row], end)
    return found


def _style(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "comment"
    if token.type == tokenize.STRING:
        return "string"
    return "keyword" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""
