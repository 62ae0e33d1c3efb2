"""Tokenizers of the `tokenizers` library, for real checkpoints and for pieces that were learned here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import tokenizers

from engine.config import AtlasError
from engine.tokenizers.encoding import Encoding, Token
from engine.tokenizers.labels import readable, shown
from engine.tokenizers.listed import MASK
from engine.tokenizers.tokenizer import Tokenizer, whole

COUNTED = 2**32  # ids that the library can take, whether or not a vocabulary has them
REMEMBERED = 1024  # texts whose ids are asked for again: when one is drawn, and when it is learned from


class PretrainedTokenizer(Tokenizer):
    """A tokenizer of the `tokenizers` library, with the labels and groups that a screen needs."""

    def __init__(
        self,
        library: tokenizers.Tokenizer,
        *,
        bos_id: int | None = None,
        eos_id: int | None = None,
        pad_id: int | None = None,
    ) -> None:
        self._library = library
        self._bytes = isinstance(library.decoder, tokenizers.decoders.ByteLevel)
        self._added = library.get_added_tokens_decoder()
        self.bos_id, self.eos_id, self.pad_id = bos_id, eos_id, pad_id
        # a Unigram model keeps the number of what is unknown to itself; its name is always this
        by_name = "<unk>" if isinstance(library.model, tokenizers.models.Unigram) else None
        unknown = getattr(library.model, "unk_token", by_name)
        self.unknown_id = None if unknown is None else library.token_to_id(unknown)
        names = {piece.content: id for id, piece in self._added.items()}
        self.mask_id = names.get(MASK, names.get("[MASK]"))
        self._remembered = lru_cache(maxsize=REMEMBERED)(lambda text: tuple(library.encode(text).ids))

    @classmethod
    def own(cls, library: tokenizers.Tokenizer) -> PretrainedTokenizer:
        """One that was made here, as its first three pieces show; others are told their ids by their model's files."""
        return cls(library, pad_id=0, bos_id=1, eos_id=2)

    def __len__(self) -> int:
        return self._library.get_vocab_size()

    def encode(self, text: str, begin: bool = False) -> Encoding:
        """Raises AtlasError for text that is no Unicode, such as half of a surrogate pair."""
        refuse_half_characters(text)
        encoded = self._library.encode(text, add_special_tokens=not begin)
        ids, spans = list(encoded.ids), _without_added_blank(encoded.tokens, encoded.offsets)
        if begin and self.bos_id is not None:
            ids, spans = [self.bos_id, *ids], [(0, 0), *spans]
        return Encoding(text, tuple(self._tokens(text, ids, spans)))

    def ids(self, text: str) -> list[int]:
        """Raises AtlasError for text that is no Unicode, such as half of a surrogate pair."""
        refuse_half_characters(text)
        return list(self._remembered(text))

    def spans(self, text: str) -> list[tuple[int, int]]:
        refuse_half_characters(text)
        encoded = self._library.encode(text)
        return _without_added_blank(encoded.tokens, encoded.offsets)

    def encode_pair(self, first: str, second: str) -> Encoding | None:
        """Raises AtlasError for text that is no Unicode, such as half of a surrogate pair."""
        refuse_half_characters(first)
        refuse_half_characters(second)
        encoded = self._library.encode(first, second)
        if None not in encoded.sequence_ids:  # nothing stands before, between or behind the texts
            return None
        shifts = [len(first) + 1 if sequence == 1 else 0 for sequence in encoded.sequence_ids]
        spans = _without_added_blank(encoded.tokens, encoded.offsets)
        placed = [(start + shift, end + shift) for (start, end), shift in zip(spans, shifts, strict=True)]
        text = f"{first} {second}"
        tokens = self._tokens(text, list(encoded.ids), placed)
        return Encoding(text, tuple(map(_in_segment, tokens, encoded.type_ids)))

    def decode(self, ids: Sequence[int]) -> str:
        return self._library.decode([id for id in whole(ids) if 0 <= id < COUNTED], skip_special_tokens=True)

    def label(self, id: int) -> str:
        piece = self.piece(id)
        if self.is_special(id):
            return piece
        return shown(readable(piece, self._bytes)) or piece

    def to_json(self) -> str:
        return self._library.to_str()

    def _tokens(self, text: str, ids: list[int], spans: list[tuple[int, int]]) -> Iterator[Token]:
        reached = 0  # a special that nobody typed stands where the text has got to
        for index, (id, (start, end)) in enumerate(zip(ids, spans, strict=True)):
            special = self.is_special(id)
            fragment = not special and any(_overlap(spans[index], near) for near in _neighbours(spans, index))
            if start == end:
                start = end = reached
            reached = end
            typed = shown(text[start:end])
            label = self.label(id) if special or fragment or not typed else typed
            yield Token(id, self.piece(id), label, start, end, special, fragment, id == self.unknown_id)

    def piece(self, id: int) -> str:
        piece = self._library.id_to_token(id) if 0 <= id < COUNTED else None
        if piece is None:
            raise self.no_such_id(id)
        return piece

    def is_special(self, id: int) -> bool:
        return id in self._added and self._added[id].special and id != self.unknown_id


def _in_segment(token: Token, segment: int) -> Token:
    return replace(token, segment=segment)


def refuse_half_characters(text: str) -> None:
    """Raises AtlasError for half of a surrogate pair, which no encoding can write."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AtlasError("the text has no character at position {start}", start=error.start) from None


def _without_added_blank(pieces: list[str], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The blank that SentencePiece puts before a text stands nowhere; the library puts it on the first character."""
    added = [piece == "▁" and _overlap(*pair) for piece, pair in zip(pieces, pairwise(spans), strict=False)]
    return [
        (start, start if blank else end) for blank, (start, end) in zip([*added, False], spans, strict=False)
    ]


def _neighbours(spans: list[tuple[int, int]], index: int) -> list[tuple[int, int]]:
    return [*spans[max(0, index - 1) : index], *spans[index + 1 : index + 2]]


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
