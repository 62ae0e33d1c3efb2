"""What to look for beside the ledger: the specimen's own words, else what the numbers on screen say by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.expected import Expected
from engine.analysis.head_walk import HeadWalk
from engine.figures.matrix import MAX_IMAGE
from pages.components.attention.specimens import Specimen
from pages.components.language import N_, _, language

if TYPE_CHECKING:
    from engine.language_model import TextTrace

SINK = 0.5  # mean weight on the first key from which the lesson's word for it is used
NAMED = 6  # unreadable characters that a warning names
UNREADABLE = {
    "unknown": N_(
        "{model} does not know {texts}: it reads a stand-in there, so do not trust what it makes of them."
    ),
    "fragments": N_(
        "{model} knows {texts} only in pieces: the tokens over one line are the bytes of one character."
    ),
}
CROWD = 4  # queries from which resting on the first key is a habit
SHARE = 0.02  # weight below which a second key is not worth a sentence


def lines(
    walk: HeadWalk,
    specimen: Specimen | None,
    expected: Expected | None = None,
    told: Expected | None = None,
) -> tuple[str, list[str]]:
    """Heading and sentences, as plain text; every number in them is the walk's, or the model's expectation."""
    said = [specimen.look_for[language()]] if specimen else [reads_from(walk)]
    if walk.place.kind != "cross" and len(walk.query_tokens) >= CROWD and walk.first_key_share >= SINK:
        said.append(
            _("Queries rest on “{token}” ({share} on average): an attention sink, where idle heads go.")
            .format(token=apart(walk.key_tokens[0].label), share=f"{walk.first_key_share:.2f}")
        )  # fmt: skip
    if second := next((token.label for token in walk.key_tokens if token.segment), None):
        words = _(
            "The second text, in italics, begins at “{token}”, behind the dotted line: "
            "the model is told which is which."
        )
        said.append(words.format(token=apart(second)))
    if len(walk.shown) < len(walk.key_tokens):
        said.append(
            _("Columns show keys {first} to {last} of {total}; the matrix shows all. Click in it to move the window.")
            .format(first=walk.shown[0], last=walk.shown[-1], total=len(walk.key_tokens))
        )  # fmt: skip
        if max(walk.matrix.shape) > MAX_IMAGE:
            said.append(
                _("So many that a pixel is the largest weight of a block; a click finds the exact cell.")
            )
        said.append(_("Weight outside the window: {weight}.").format(weight=f"{walk.elsewhere:.3f}"))
    if expected:
        said.append(
            _("After “{query}” the whole model expects “{token}” ({share}).")
            .format(query=asker(walk), token=apart(expected.label), share=f"{expected.share:.2f}")
        )  # fmt: skip
    if told:
        said.append(
            _("The whole model tells: “{token}” ({share}).")
            .format(token=apart(told.label), share=f"{told.share:.2f}")
        )  # fmt: skip
    return _("What to look for"), [*said, _("A weight shows where a head reads, not why the model answers.")]


def warnings(trace: TextTrace, model: str) -> list[str]:
    """What this model cannot read in the texts on screen: characters it does not know, or knows only in pieces; and
    that it wrote without an end.
    """
    said = []
    if trace.cut is not None:
        words = _("The target that {model} writes by itself is cut after {count} tokens; it had not ended.")
        said.append(words.format(model=model, count=trace.cut))
    for kind, template in UNREADABLE.items():
        found = [p.text for text in trace.texts.values() for p in text.problems if p.kind == kind and p.text]
        if found:
            distinct = list(dict.fromkeys(found))
            more = " …" if len(distinct) > NAMED else ""
            quoted = ", ".join(f"“{apart(visible(text))}”" for text in distinct[:NAMED]) + more
            said.append(_(template).format(model=model, texts=quoted))
    return said


def apart(label: str) -> str:
    """A token inside a sentence: its direction of writing must not turn the sentence's."""
    return f"\u2068{label}\u2069"


def visible(text: str) -> str:
    """Characters that no eye sees are named, as the figure names their tokens."""
    from engine.tokenizers import shown  # brings a library with it that the first page does not wait for

    return shown(text)


def asker(walk: HeadWalk) -> str:
    return apart(walk.query_tokens[walk.query].label)


def reads_from(walk: HeadWalk) -> str:
    row = walk.matrix[walk.query]
    order = np.argsort(-row, kind="stable")[:2]
    first, second = (apart(walk.key_tokens[int(key)].label) for key in (*order, *order)[:2])
    if row[order[0]] == 0 and walk.visible[walk.query].any():
        return _("“{query}” reads from nothing: none of its scores is above 0.").format(query=asker(walk))
    if row[order[0]] == 0:
        return _("“{query}” may look at nothing: its row is all zeros.").format(query=asker(walk))
    if len(order) < 2 or row[order[1]] < SHARE:
        return _("“{query}” reads from “{first}” ({weight}).").format(
            query=asker(walk), first=first, weight=f"{row[order[0]]:.3f}"
        )
    return _("“{query}” reads mostly from “{first}” ({weight}), then from “{second}” ({weight2}).").format(
        query=asker(walk),
        first=first,
        weight=f"{row[order[0]]:.3f}",
        second=second,
        weight2=f"{row[order[1]]:.3f}",
    )
