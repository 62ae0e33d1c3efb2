"""Two listings beside each other, line by line, as they are run; lines that differ are marked by more than a colour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from html import escape

import streamlit as st

from engine.clinic.case import Case
from pages.components import panels
from pages.components.language import _

Line = tuple[str, bool]  # what stands in it, as HTML; whether the other listing has another


def show(case: Case) -> None:
    broken, mended = aligned(*case.listings)
    columns = listing("broken", f"✗ {_('broken')}", broken) + listing("mended", f"✓ {_('mended')}", mended)
    st.html(f"<div class='atlas-listings' style='--lines: {len(broken)}'>{columns}</div>")


def listing(side: str, name: str, lines: Sequence[Line | None]) -> str:
    """One of the two. Where the other has lines that this one has not, it has a gap."""
    body = "".join(
        "<code class='atlas-gap'> </code>"
        if line is None
        else f"<code{' class=atlas-differs' if line[1] else ''}>{line[0] or ' '}</code>"
        for line in lines
    )
    return (
        f"<figure class='atlas-{side}'><figcaption>{escape(name)}</figcaption>"
        f"<pre class='atlas-source' tabindex='0' role='region' aria-label='{escape(name)}'>{body}</pre></figure>"
    )


@lru_cache(maxsize=64)
def aligned(broken: str, mended: str) -> tuple[list[Line | None], list[Line | None]]:
    """The lines of both so that equal ones stand side by side; a listing's own name makes no difference."""
    texts = broken.splitlines(), mended.splitlines()
    html = [panels.marked(lines) for lines in texts]
    compared = [nameless(lines) for lines in texts]
    columns: tuple[list[Line | None], list[Line | None]] = ([], [])
    for kind, *spans in SequenceMatcher(None, *compared, autojunk=False).get_opcodes():
        bounds = spans[:2], spans[2:]
        longest = max(end - start for start, end in bounds)
        for column, lines, (start, end) in zip(columns, html, bounds, strict=True):
            column += [(line, kind != "equal") for line in lines[start:end]]
            column += [None] * (longest - (end - start))
    return columns


def nameless(lines: Sequence[str]) -> list[str]:
    """The lines with the name that they define taken out, without which both begin alike."""
    found = re.search(r"(?:def|class) (\w+)", "\n".join(lines))
    return [re.sub(rf"\b{found[1]}\b", "", line) if found else line for line in lines]
