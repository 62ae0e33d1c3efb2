"""What a case's evidence shows below its numbers: curves and matrices as figures, writings as a table."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.analysis.evidence import Curves, Grid, Panel, Writing, Writings
from engine.analysis.mistakes import mistakes
from engine.figures.clinic.pair import FORMS
from engine.figures.clinic.panels import panel_spec
from engine.figures.theme import THEMES
from pages.components import panels, state
from pages.components.language import _, language
from pages.components.plot import kept, plot, room, sheet, theme_name
from pages.components.training.samples import MARKS

BLANKS = str.maketrans({" ": "␣", "\n": "↵\n"})


def show(panel: Panel, index: int, stamp: tuple[str, float]) -> None:
    """The panel of that number, of the case and measurement that `stamp` tells."""
    if isinstance(panel, Writings):
        with st.container(key=f"atlas-clinic-writings-{index}"):
            writings(panel)
    else:
        figure(panel, index, stamp)


def figure(panel: Curves | Grid, index: int, stamp: tuple[str, float]) -> None:
    """In the place where an earlier one of the same number stood, and changes."""
    key = f"atlas-clinic-panel-{index}"
    form, theme = "talk" if state.view().talk else room(key), theme_name()
    drawn = kept(
        key, (stamp, form, theme, language()),
        lambda: sheet(panel_spec(panel, theme=THEMES[theme], form=FORMS[form], translate=_)),
    )  # fmt: skip
    label = _("{quantity}, broken beside mended").format(quantity=_(panel.quantity))
    plot(drawn, key=key, label=label, name=f"{stamp[0]}-{index + 1}")


def writings(panel: Writings) -> None:
    """What both write for the same prompts; mistakes are marked where one answer is right."""
    panels.heading(_(panel.label))
    known = any(one.expected is not None for one in panel.examples)
    if known:
        panels.paragraph(_("Underlined: wrong, struck out: missing."))
    sides = (
        ("", _("prompt")), ("broken", f"✗ {_('broken')}"), ("mended", f"✓ {_('mended')}"),
        *([("", _("right answer"))] if known else []),
    )  # fmt: skip
    head = "".join(
        f"<th scope='col'{f' class=atlas-{side}' if side else ''}>{escape(word)}</th>" for side, word in sides
    )
    rows = "".join(row(one, known) for one in panel.examples)
    label = escape(_(panel.label))
    st.html(
        f"<div class='atlas-table atlas-writings' role='region' tabindex='0' aria-label='{label}'>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def row(one: Writing, known: bool) -> str:
    cells = [escape(one.prompt), *(marked(text, one.expected) for text in (one.broken, one.mended))]
    if known:
        cells.append(escape(seen(one.expected or "", one.expected or "")))
    return f"<tr>{''.join(f'<td dir=auto>{cell}</td>' for cell in cells)}</tr>"


def marked(text: str, expected: str | None) -> str:
    """As it was written, with its mistakes; a sign where nothing was."""
    if expected is None:
        return escape(seen(text, text)) or "∅"
    whole = text + expected
    pieces = [(piece.verdict, escape(seen(piece.text, whole))) for piece in mistakes(text, expected)]
    return "".join(MARKS[verdict].format(words) for verdict, words in pieces) or "∅"


def seen(text: str, whole: str) -> str:
    """The text; where the whole that it is part of is blanks alone, these are to be seen."""
    return text if whole.strip() else text.translate(BLANKS)
