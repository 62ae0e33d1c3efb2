"""What a run writes by now: held-out examples with what is right, mistakes marked by more than a colour."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from engine.analysis.mistakes import mistakes
from engine.training.runs.metrics import Metrics
from pages.components import panels
from pages.components.language import _

MARKS = {"right": "{}", "wrong": "<u>{}</u>", "missing": "<s>{}</s>"}
PIXEL = 5  # side on screen


def show(metrics: Metrics) -> None:
    """The samples of the latest evaluation."""
    panels.heading(_("What the model writes now"))
    if not metrics.evaluations:
        panels.paragraph(_("The first held-out examples come with the first evaluation."))
        return
    last = metrics.evaluations[-1]
    words = _("After step {step}; underlined: wrong, struck out: missing.")
    panels.paragraph(words.format(step=f"{last['step']:,}"))
    label, rows = escape(_("Samples")), "".join(map(row, last["evaluation"].get("samples", ())))
    head = "".join(f"<th scope='col'>{escape(word)}</th>" for word in ("", _("source"), _("written")))
    st.html(
        f"<div class='atlas-table atlas-samples' role='region' tabindex='0' aria-label='{label}'>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def row(sample: dict[str, Any]) -> str:
    """A sign, the source, and what was written with its mistakes."""
    right = sample["written"] == sample["target"]
    written = "".join(
        MARKS[piece.verdict].format(escape(piece.text))
        for piece in mistakes(sample["written"], sample["target"])
    )
    verdict = escape(_("right") if right else _("wrong"))
    sign = f"<span role='img' aria-label='{verdict}'>{'✓' if right else '✗'}</span>"
    return (
        f"<tr><td>{sign}</td><td dir='auto'>{source(sample['source'])}</td><td dir='auto'>{written}</td></tr>"
    )


def source(given: str | Sequence[Sequence[float]]) -> str:
    """A text as it is, an image as one."""
    if isinstance(given, str):
        return escape(given)
    height, width = len(given), len(given[0])
    squares = "".join(
        f"<rect x='{x}' y='{y}' width='1' height='1' fill-opacity='{value:.2f}'/>"
        for y, row in enumerate(given)
        for x, value in enumerate(row)
        if value
    )
    drawing = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' shape-rendering='crispEdges'>"
        f"<rect width='{width}' height='{height}' fill='#fff'/>{squares}</svg>"
    )
    alt, data = escape(_("an image")), base64.b64encode(drawing.encode()).decode()
    size = f"width='{PIXEL * width}' height='{PIXEL * height}'"
    return f"<img alt='{alt}' {size} src='data:image/svg+xml;base64,{data}'>"
