"""Cut a line: a query may no longer look at some keys, in every head of one kind of attention, or in one alone.

The masked scores are edited to minus infinity there, so that the weight goes to the other keys. Axes: batch, head,
query, key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.analysis.head_place import HeadPlace, check, locate, token_rows
from engine.config import N_, AtlasError
from engine.edits import cut_lines
from engine.training.probe import Places, Probe

UNSAID = N_("What the encoder reads is said by the decoder alone: choose one of its heads to cut a line of.")

if TYPE_CHECKING:
    from engine.capture import Edit
    from engine.language_model import LanguageModel, TextTrace


@dataclass(frozen=True)
class Said:
    """The likeliest token with every line, and without the cut ones; probabilities 0 to 1.

    kept: what is left of the first one's probability.
    """

    whole: str
    share: float
    cut: str
    cut_share: float
    kept: float


@dataclass(frozen=True)
class Cut:
    """said: after each query, in their order. Those before the query that was cut cannot have changed."""

    query: int
    keys: frozenset[int]
    queries: tuple[str, ...]
    read: tuple[str, ...]
    said: tuple[Said, ...]

    def __post_init__(self) -> None:
        assert len(self.said) == len(self.queries)


def cut(
    lm: LanguageModel,
    probe: Probe,
    kind: str,
    query: int,
    keys: frozenset[int],
    only: HeadPlace | None = None,
) -> Cut:
    """A text read with and without some lines of one query. only: cut in this head instead of in all of them.

    Raises AtlasError for a kind of attention, query or key that is not there, for a model that says no tokens, and for
    attention at whose queries none are said.
    """
    if not says(lm, kind):
        raise AtlasError(UNSAID)
    whole = lm.trace(probe.text, probe.target, names=["logits"])
    queries, read = token_rows(whole, locate(lm, kind, 0, 0))
    check(query, len(queries), "query")
    for key in keys:
        check(key, len(read), "key")
    edits = cutting(lm, kind, [{query: keys}], only)
    without = lm.trace(probe.text, probe.target, names=["logits"], edits=edits)
    return Cut(query, keys, tuple(queries.labels), tuple(read.labels), tuple(both(lm, whole, without)))


def says(lm: LanguageModel, kind: str) -> bool:
    """Whether the queries of this attention are where tokens are said: not in an encoder before a decoder."""
    return kind not in lm.sites or lm.sites[kind].stack == [*lm.config.stacks][-1]


def both(lm: LanguageModel, whole: TextTrace, without: TextTrace) -> list[Said]:
    before, after = (trace.logits[0].cpu().double().softmax(-1) for trace in (whole, without))
    found = []
    for one, other in zip(before, after, strict=True):
        first, second = int(one.argmax()), int(other.argmax())
        found.append(
            Said(
                whole=lm.tokenizer.names(first)[1], share=float(one[first]),
                cut=lm.tokenizer.names(second)[1], cut_share=float(other[second]), kept=float(other[first]),
            )
        )  # fmt: skip
    return found


def cutting(
    lm: LanguageModel, kind: str, lines: Sequence[Places], only: HeadPlace | None = None
) -> dict[str, Edit]:
    """The edits that cut lines, given for each text of a batch: query -> keys."""
    site = lm.sites[kind]
    layers = range(lm.config.stacks[site.stack].n_layers) if only is None else [only.layer]
    edit = cut_lines(lines, None if only is None else only.head)
    return {f"{site.path(layer)}.masked": edit for layer in layers}
