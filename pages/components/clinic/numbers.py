"""The numbers that give a case away, broken beside mended: the telling one large, then the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import pandas as pd
import streamlit as st

from engine.analysis.evidence import Measure
from engine.figures.theme import number
from pages.components import panels
from pages.components.language import _


def show(measures: Sequence[Measure], case: str) -> None:
    """A table, and the same as a file."""
    table(measures)
    panels.csv_button(lambda: frame(measures), f"clinic-{case}")


def table(measures: Sequence[Measure]) -> None:
    """One row a quantity; units where there are any."""
    caption, units = escape(_("What both measure")), any(one.unit for one in measures)
    sides = [("", ""), ("broken", f"✗ {_('broken')}"), ("mended", f"✓ {_('mended')}")]
    sides += [("", _("unit"))] if units else []
    head = "".join(
        f"<th scope='col'{f' class=atlas-{side}' if side else ''}>{escape(word)}</th>" for side, word in sides
    )
    rows = "".join(row(one, units) for one in measures)
    st.html(
        f"<div class='atlas-table atlas-measures' role='region' tabindex='0' aria-label='{caption}'><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def row(measure: Measure, units: bool) -> str:
    cells = "".join(
        f"<td class='atlas-{side} {kind(value)}' dir='auto'>{escape(said(value))}</td>"
        for side, value in (("broken", measure.broken), ("mended", measure.mended))
    )
    label = f"<th scope='row' dir='auto'>{escape(_(measure.label))}</th>"
    unit = f"<td class='atlas-unit'>{escape(_(measure.unit))}</td>" if units else ""
    return f"<tr>{label}{cells}{unit}</tr>"


def kind(value: float | str | None) -> str:
    """How a value is set: an error as words, what is no number apart from numbers."""
    if isinstance(value, str):
        return "atlas-words"
    return "atlas-number" if value is None or math.isfinite(value) else "atlas-number atlas-no-number"


def said(value: float | str | None) -> str:
    """Four digits; whole numbers whole."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}".replace("-", "−")
    digits = number(float(value), 4)
    return digits if "e" in digits or "." not in digits else digits.rstrip("0").rstrip(".")


def frame(measures: Sequence[Measure]) -> pd.DataFrame:
    """Every digit of them."""
    rows = [(_(one.label), one.broken, one.mended, _(one.unit)) for one in measures]
    return pd.DataFrame(rows, columns=pd.Index([_("quantity"), _("broken"), _("mended"), _("unit")]))
