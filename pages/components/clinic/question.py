"""One question: first a guess, then what is so, and why."""

from __future__ import annotations

from functools import partial
from html import escape

import streamlit as st

from engine.clinic.case import Question
from pages.components import panels
from pages.components.language import _

LETTERS = "ABCD"
_GUESSES = "atlas.clinic.guesses"


def show(name: str, question: Question) -> None:
    """Answers to choose from, and after the choice which of them is right; name: by which the guess is kept."""
    panels.heading(_("Before you go on: what do you expect?"))
    guesses: dict[str, int] = st.session_state.setdefault(_GUESSES, {})
    text(question)
    with st.container(key="atlas-clinic-answers"):
        if (guess := guesses.get(name)) is None:
            for at, answer in enumerate(question.answers):
                st.button(
                    panels.plain(_(answer)), key=f"atlas-answer-{name}-{at}", width="stretch",
                    on_click=partial(guesses.update, {name: at}),
                )  # fmt: skip
            return
        revealed(question, guess)
        st.button(
            _("Ask me again"), key="atlas-answer-again", type="tertiary",
            on_click=partial(_forget, name),
        )  # fmt: skip


def _forget(name: str) -> None:
    st.session_state[_GUESSES].pop(name, None)


def asked(question: Question) -> None:
    """For an audience: the question and its answers, to be answered aloud."""
    text(question)
    items = "".join(answer(question, at) for at in range(len(question.answers)))
    st.html(f"<ul class='atlas-answers'>{items}</ul>")


def text(question: Question) -> None:
    st.html(f"<p class='atlas-question' dir='auto'>{escape(_(question.text))}</p>")


def revealed(question: Question, guess: int | None = None) -> None:
    """Which answer is right, which one was guessed, and why."""
    verdict = "" if guess is None else _("Right.") if guess == question.right else _("Not so.")
    items = "".join(answer(question, at, question.right, guess) for at in range(len(question.answers)))
    why = f"<p class='atlas-why' role='status' dir='auto'><b>{escape(verdict)}</b> {escape(_(question.why))}</p>"
    st.html(f"<ul class='atlas-answers'>{items}</ul>{why}")


def answer(question: Question, at: int, right: int | None = None, guess: int | None = None) -> str:
    """One answer with its letter; once it is known, with a sign and in words what it is."""
    known = right is not None
    sign = LETTERS[at] if not known else "✓" if at == right else "✗" if at == guess else "·"
    style = "" if not known else "right" if at == right else "wrong" if at == guess else "other"
    guessed = escape(_("your guess"))
    said = f" <small>{guessed}</small>" if at == guess else ""
    return (
        f"<li class='atlas-answer-{style or 'open'}' dir='auto'><i aria-hidden='true'>{sign}</i>"
        f"<span>{escape(_(question.answers[at]))}{said}</span></li>"
    )
