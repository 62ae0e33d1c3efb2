"""What to look for beside the ledger: the specimen's own words, else what the numbers on screen say by themselves."""

from __future__ import annotations

import numpy as np

from engine.analysis.head_walk import HeadWalk
from pages.components.language import _, language
from pages.components.specimens import Specimen

SINK = 0.5  # mean weight on the first key from which the lesson's word for it is used
SHARE = 0.02  # weight below which a second key is not worth a sentence


def lines(walk: HeadWalk, specimen: Specimen | None) -> tuple[str, list[str]]:
    """Heading and sentences, as plain text; every number in them is the walk's."""
    said = [specimen.look_for[language()]] if specimen else [reads_from(walk)]
    if walk.first_key_share >= SINK:
        said.append(
            _("Queries rest on “{token}” ({share} on average): an attention sink, where idle heads go.")
            .format(token=walk.key_tokens[0].label, share=f"{walk.first_key_share:.2f}")
        )  # fmt: skip
    if len(walk.shown) < len(walk.key_tokens):
        said.append(
            _("Columns show keys {first} to {last} of {total}; the matrix shows all. Click in it to move the window.")
            .format(first=walk.shown[0], last=walk.shown[-1], total=len(walk.key_tokens))
        )  # fmt: skip
        said.append(_("Weight outside the window: {weight}.").format(weight=f"{walk.elsewhere:.3f}"))
    return _("What to look for"), [*said, _("A weight shows where a head reads, not why the model answers.")]


def reads_from(walk: HeadWalk) -> str:
    row = walk.matrix[walk.query]
    order = np.argsort(-row, kind="stable")[:2]
    first, second = (walk.key_tokens[int(key)].label for key in (*order, *order)[:2])
    asker = walk.query_tokens[walk.query].label
    if row[order[0]] == 0:
        return _("“{query}” may look at nothing: its row is all zeros.").format(query=asker)
    if len(order) < 2 or row[order[1]] < SHARE:
        return _("“{query}” reads from “{first}” ({weight}).").format(
            query=asker, first=first, weight=f"{row[order[0]]:.3f}"
        )
    return _("“{query}” reads mostly from “{first}” ({weight}), then from “{second}” ({weight2}).").format(
        query=asker, first=first, weight=f"{row[order[0]]:.3f}", second=second, weight2=f"{row[order[1]]:.3f}"
    )
