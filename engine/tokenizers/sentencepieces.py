"""Text in sentence pieces (Kudo & Richardson 2018), as the library of that name cuts it; ids may be a model's own.

A translator has one vocabulary, and rules of cutting for each of its two languages: what its encoder reads is cut by
`source`, what its decoder reads by `target`. For other models both are the same.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sentencepiece import SentencePieceProcessor

from engine.tokenizers.encoding import Encoding, Token
from engine.tokenizers.labels import shown
from engine.tokenizers.pretrained import refuse_half_characters
from engine.tokenizers.tokenizer import Tokenizer, whole

BLANK = "\u2581"  # how pieces write a blank


class SentencePieceTokenizer(Tokenizer):
    """Pieces, and </s> at the end of what is read.

    source, target: the content of .spm or .model files; ids: {piece: id}; specials: the pieces that stand for no text;
    whole: a pattern of what is one token wherever it is typed, such as the specials; unknown, end: pieces.
    Raises ValueError or RuntimeError for content that is no such model, KeyError for pieces that have no id.
    """

    def __init__(
        self,
        source: bytes,
        target: bytes,
        ids: Mapping[str, int],
        *,
        specials: Sequence[str],
        whole: str,
        unknown: str = "<unk>",
        end: str = "</s>",
        bos_id: int | None = None,
        eos_id: int | None = None,
        pad_id: int | None = None,
    ) -> None:
        self._source = SentencePieceProcessor.from_proto(source)
        self._target = self._source if target == source else SentencePieceProcessor.from_proto(target)
        self._ids = dict(ids)
        self._pieces = {id: piece for piece, id in self._ids.items()}
        self._specials = {self._ids[piece] for piece in specials}
        self._whole = re.compile(whole, re.DOTALL)
        self._end = self._ids[end]
        self.unknown_id: int = self._ids[unknown]
        self.bos_id, self.eos_id, self.pad_id = bos_id, eos_id, pad_id
        self._settings = {"specials": list(specials), "whole": whole, "unknown": unknown, "end": end}

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str, begin: bool = False) -> Encoding:
        """Raises AtlasError for text that is no Unicode, such as half of a surrogate pair."""
        refuse_half_characters(text)
        found = list(self._tokens(text, self._target if begin else self._source))
        first = [self._mark(self.bos_id, 0)] if begin and self.bos_id is not None else []
        reached = found[-1].end if found else 0
        last = [] if begin else [self._mark(self._end, reached)]
        return Encoding(text, (*first, *found, *last))

    def decode(self, ids: Sequence[int]) -> str:
        left_out = self._specials | {self.unknown_id}
        pieces = [self._pieces[id] for id in whole(ids) if id in self._pieces and id not in left_out]
        # a piece that only the other language has comes back as it is
        return self._target.decode_pieces(pieces).replace(BLANK, " ").strip()

    def label(self, id: int) -> str:
        piece = self.piece(id)
        return piece if self.is_special(id) else shown(piece.replace(BLANK, " ")) or piece

    def is_special(self, id: int) -> bool:
        return id in self._specials

    def piece(self, id: int) -> str:
        if id not in self._pieces:
            raise self.no_such_id(id)
        return self._pieces[id]

    def to_json(self) -> str:
        models = {"source": self._source, "target": self._target}
        content = {
            name: base64.b64encode(model.serialized_model_proto()).decode() for name, model in models.items()
        }
        marks = {"bos_id": self.bos_id, "eos_id": self.eos_id, "pad_id": self.pad_id}
        return json.dumps({"kind": "sentencepiece", **content, "ids": self._ids, **self._settings, **marks})

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> SentencePieceTokenizer:
        """Of what `to_json` wrote."""
        source, target = (base64.b64decode(values.pop(name)) for name in ("source", "target"))
        values.pop("kind")
        return cls(source, target, values.pop("ids"), **values)

    def _tokens(self, text: str, model: SentencePieceProcessor) -> Iterator[Token]:
        reached = 0
        for match in self._whole.finditer(text):
            yield from self._cut(text, reached, match.start(), model)
            reached = match.end()
            yield self._token(text, match[0], match.start(), reached)
        yield from self._cut(text, reached, len(text), model)

    def _cut(self, text: str, start: int, end: int, model: SentencePieceProcessor) -> Iterator[Token]:
        found = model.encode(text[start:end], return_type="offset_mapping")
        for piece, (left, right) in zip(found["pieces"], found["offsets"], strict=True):
            yield self._token(text, piece, start + left, start + right)

    def _token(self, text: str, piece: str, start: int, end: int) -> Token:
        id = self._ids.get(piece, self.unknown_id)
        special = self.is_special(id)
        typed = "" if special else shown(text[start:end])
        return Token(
            id, self._pieces[id], typed or self.label(id), start, end, special, unknown=id == self.unknown_id
        )

    def _mark(self, id: int, at: int) -> Token:
        return Token(id, self.piece(id), self.label(id), at, at, special=True)
