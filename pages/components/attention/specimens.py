"""Sentences that show something, from assets/specimens.json: measured with the models they name."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import streamlit as st
from pydantic import BaseModel, ConfigDict

from pages.components import library, state
from pages.components.language import Language, _, language

FILE = Path(__file__).parents[3] / "assets" / "specimens.json"


class Specimen(BaseModel):
    """One head on one sentence, and what to look for, in both languages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    model: str
    text: str
    target: str | None = None
    kind: str | None
    layer: int
    head: int
    query: int
    key: int
    weight: float
    phenomenon: dict[Language, str]
    look_for: dict[Language, str]

    @property
    def place(self) -> tuple:
        """What has to be on screen for `look_for` to be about it."""
        return self.model, self.text, self.kind, self.layer, self.head, self.query


@lru_cache(maxsize=1)
def specimens() -> tuple[Specimen, ...]:
    return tuple(Specimen(**entry) for entry in json.loads(FILE.read_text("utf-8")))


def opening(model: str) -> Specimen:
    """Where a model's screen opens: its first specimen, in the reader's script where there is one.

    A model of the visitor's own starts with the first specimen's sentence, at its first head.
    """
    own = [specimen for specimen in specimens() if specimen.model == model]
    chinese = [specimen for specimen in own if any("\u4e00" <= c <= "\u9fff" for c in specimen.text)]
    found = next(iter(chinese if language() == "zh" and chinese else own), None)
    return found or specimens()[0].model_copy(update={"kind": None, "layer": 0, "head": 0, "query": 1})


def shown(place: tuple, target: str | None, edited: str | None) -> Specimen | None:
    """The specimen that is on screen, if one is: (model, text, kind, layer, head, query), with its own target and the
    model's own weights.
    """
    found = next((specimen for specimen in specimens() if specimen.place == place), None)
    return found if found and not edited and found.target == target else None


def menu() -> None:
    """Specimens of the models that are here, one click away, each with what it shows."""
    here = {known.name: known.title for known in library.present()}
    choices = {specimen.id: specimen for specimen in specimens() if specimen.model in here}
    key = f"atlas-specimens-{language()}"  # its options' words are the language's

    def words(chosen: str) -> str:
        specimen = choices[chosen]
        return (
            f"{specimen.phenomenon[language()]}: {state.shorten(specimen.text, 56)} · {here[specimen.model]}"
        )

    def show() -> None:
        parts = {"model", "text", "kind", "layer", "head", "query", "key"}  # the target it writes itself
        state.update(
            **choices[st.session_state[key]].model_dump(include=parts), target=None, second=None, weights=None
        )

    st.menu_button(_("Examples"), list(choices), key=key, format_func=words, on_click=show)
