"""Things a screen shows beside its figures. Text of visitors and models stands verbatim: never Markdown, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st


def problem(sentence: str) -> None:
    """One sentence about what cannot be shown, and why."""
    st.html(f'<p class="atlas-problem" role="alert" dir="auto">{escape(sentence)}</p>')


def notes(sentences: Sequence[str]) -> None:
    """Sentences the visitor should have read, above the page."""
    for sentence in sentences:
        st.html(f'<p class="atlas-note" role="status" dir="auto">{escape(sentence)}</p>')
