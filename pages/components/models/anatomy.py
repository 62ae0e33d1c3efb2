"""One model taken apart: parameters per part, settings, card, and whether it computes what it should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st
from streamlit.components.v2 import component

from pages.components import library, panels, resources
from pages.components.language import _

if TYPE_CHECKING:
    from engine.language_model import LanguageModel
    from engine.verify import Check

_ASSETS = Path(__file__).parents[3] / "assets"

_reveal = component("atlas_reveal", js=(_ASSETS / "reveal.js").read_text("utf-8"), isolate_styles=False)


def show(known: library.Known) -> None:
    """The chosen model in four tabs. Raises AtlasError when it cannot be opened."""
    _reveal(key="atlas-reveal", data=known.name, height=1)
    panels.heading(known.title)
    with st.spinner(_("Reading {title} …").format(title=known.title)):
        model = resources.model(known.name)
    parts, settings, card, verify = st.tabs(
        [_("Parameters"), _("Settings"), _("Card"), _("Verify")], key="atlas-anatomy"
    )
    with parts:
        panels.table(parameters(model), f"{known.name}-parameters", _("Parameters of each part"))
    with settings:
        panels.table(
            pairs(model.config.model_dump()), f"{known.name}-settings", _("Settings of the model"), rows=80
        )
    with card:
        panels.table(pairs(model.card), f"{known.name}-card", _("Where the model comes from"), rows=80)
    with verify:
        _verification(known)


def parameters(model: LanguageModel) -> pd.DataFrame:
    """part, parameters, share: one row a part, and their sum."""
    counts = model.parameters_by_part()
    total = sum(counts.values())
    rows = [(part, count, f"{count / total:.1%}") for part, count in counts.items()]
    return pd.DataFrame([*rows, (_("all"), total, "100%")], columns=[_("part"), _("parameters"), _("share")])


def pairs(values: Mapping[str, Any]) -> pd.DataFrame:
    """name, value: nested settings as one list with dotted names."""
    rows = [(name, "–" if value is None else str(value)) for name, value in _flat(values)]
    return pd.DataFrame(rows, columns=[_("name"), _("value")])


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _verification(known: library.Known) -> None:
    """A button, because it takes seconds on a large model; then the table, for every session from then on."""
    panels.paragraph(_("Runs the model on a sentence and checks what must hold for every Transformer."))
    asked = f"atlas-verified-{known.name}"
    ask = partial(st.session_state.update, {asked: True})
    st.button(_("Verify"), key=f"atlas-verify-{known.name}", on_click=ask)
    if st.session_state.get(asked):
        with st.spinner(_("Verifying {title} …").format(title=known.title)):
            checks = resources.verified(known.name)
        panels.table(verdicts(checks), f"{known.name}-checks", _("Checks of the model"))


def verdicts(checks: list[Check]) -> pd.DataFrame:
    """check, worst difference, bound, verdict: one row a check."""
    rows = [
        (_(check.name), size(check.worst), size(check.bound), _("holds") if check.ok else _("fails"))
        for check in checks
    ]
    return pd.DataFrame(rows, columns=[_("check"), _("worst difference"), _("bound"), _("verdict")])


def size(deviation: float) -> str:
    """A deviation with two digits; what is exactly nothing says so."""
    return f"{deviation:.1e}" if deviation else "0"
