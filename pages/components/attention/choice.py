"""Which head, which query, which key: the controls of the Attention screen, and the walk they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.analysis.expected import Expected, class_told, expected_after
from engine.analysis.head_walk import HeadWalk, strongest_key, walk_head
from pages.components import controls, state
from pages.components.attention import reading, specimens

if TYPE_CHECKING:
    from engine.language_model import LanguageModel


@dataclass(frozen=True)
class Choice:
    """What was chosen, computed: `content` names it for caches, `expected` is what the model says next, `told` the
    class that it gives to the whole.
    """

    lm: LanguageModel
    walk: HeadWalk
    content: tuple
    specimen: specimens.Specimen | None
    expected: Expected | None
    told: Expected | None


def choose() -> Choice:
    """Draw the controls, read the text with the model, and follow the chosen head. Raises AtlasError."""
    read = reading.read()
    lm, trace, place = read.lm, read.trace, read.place
    queries, keys = read.words
    with read.row:
        query = controls.token("query", queries, specimens.opening(read.known.name).query)
        specimens.menu()
    focus = state.fit("key", len(keys), strongest_key(read.chain, place, query))
    return Choice(
        lm=lm,
        walk=walk_head(
            lm,
            trace,
            kind=place.kind,
            layer=place.layer,
            head=place.head,
            query=query,
            focus=focus,
            chain=read.chain,
        ),
        content=(*read.content, query, focus),
        specimen=specimens.shown(
            (read.known.name, read.text, place.kind, place.layer, place.head, query),
            trace.texts["decoder"].text if "cross" in lm.sites else read.target,
            read.edited,
        ),
        expected=expected_after(lm, trace, query) if place.stack == "decoder" else None,
        told=class_told(lm, trace),
    )
