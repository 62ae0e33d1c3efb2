"""What a model needs of its tokenizer, whatever the kind."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from engine.config import AtlasError
from engine.tokenizers.encoding import Encoding, Problem, Token


class Tokenizer(ABC):
    """What a model needs of its tokenizer. Ids that a vocabulary does not have are None.

    bos_id: of the token that a decoder's input begins with; mask_id: of the one that stands where a token is to be
    found; suppressed_ids: of those that its model never writes; unread_ids: of those that it reads in no text.
    """

    pad_id: int | None = None
    bos_id: int | None = None
    eos_id: int | None = None
    unknown_id: int | None = None
    mask_id: int | None = None
    suppressed_ids: tuple[int, ...] = ()
    unread_ids: tuple[int, ...] = ()

    @abstractmethod
    def __len__(self) -> int:
        """Number of ids, specials included."""

    @abstractmethod
    def encode(self, text: str, begin: bool = False) -> Encoding:
        """Tokens of a text; with `begin` a decoder's input, which starts with BOS where there is one."""

    def ids(self, text: str) -> list[int]:
        """The ids of `encode(text)`, without its tokens where that is faster: training asks many times a second."""
        return self.encode(text).ids

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where each token of `encode(text)` stands: (start, end), in code points."""
        return [(token.start, token.end) for token in self.encode(text).tokens]

    def encode_pair(self, first: str, second: str) -> Encoding | None:
        """Two texts to be read together, each token with its segment; None where no template joins two."""
        return None

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; specials, and ids that the vocabulary does not have, are left out.

        Raises AtlasError for what is no row of whole numbers.
        """

    @abstractmethod
    def label(self, id: int) -> str:
        """What a screen shows for an id that stands in no text, such as a prediction."""

    @abstractmethod
    def piece(self, id: int) -> str:
        """An id's name in the vocabulary. Raises AtlasError for one that it does not have."""

    @abstractmethod
    def is_special(self, id: int) -> bool:
        """Whether an id stands for no text, as the end of one does."""

    @abstractmethod
    def to_json(self) -> str:
        """Everything `from_json` needs."""

    def problems(self, text: str | Encoding) -> list[Problem]:
        """What the model cannot read in a text."""
        return (self.encode(text) if isinstance(text, str) else text).problems

    def written(self, ids: Sequence[int]) -> Encoding:
        """What a model wrote, as its decoder reads it: these very ids, after BOS where there is one.

        Cutting their text again may give others: what was written in two pieces is often one, and specials are no text.
        """
        text = self.decode(ids)
        again = self.encode(text, begin=True)
        begins = [] if self.bos_id is None else [self.bos_id]
        if again.ids == [*begins, *ids]:
            return again
        return Encoding(text, tuple(self._spread([*begins, *ids], text)))

    def _spread(self, ids: Sequence[int], text: str) -> Iterator[Token]:
        """Each id as a token that stands where the text grows by it."""
        reached = 0
        for count, id in enumerate(ids, start=1):
            end = min(max(reached, len(self.decode(ids[:count]))), len(text))
            yield Token(id, *self.names(id), reached, end, self.is_special(id))
            reached = end

    def names(self, id: int) -> tuple[str, str]:
        """Piece and label of what a model predicts, whose ids may be more than its vocabulary's: those are numbers."""
        try:
            return self.piece(id), self.label(id)
        except AtlasError:
            return f"[{id}]", f"[{id}]"

    def no_such_id(self, id: int) -> AtlasError:
        return AtlasError("id {id} is not among the {limit} of this vocabulary", id=id, limit=len(self))


def whole(ids: Any) -> list[int]:
    """Raises AtlasError for ids that are no whole numbers."""
    try:
        return [operator.index(id) for id in ids]
    except TypeError:
        raise AtlasError("ids are a row of whole numbers, not {ids}", ids=repr(ids)[:80]) from None
