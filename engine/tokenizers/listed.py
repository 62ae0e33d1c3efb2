"""This project's own small vocabularies: a list of characters, or of words."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from engine.config import AtlasError
from engine.tokenizers.encoding import Encoding, Token
from engine.tokenizers.labels import shown
from engine.tokenizers.tokenizer import Tokenizer, whole

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
UNSPACED = (
    "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff，！？：；（）"  # kana, Chinese characters, their punctuation
)
MASK = "<mask>"  # one token wherever it is typed, in a vocabulary that lists it


class _ListedTokenizer(Tokenizer):
    """A vocabulary written out as a list, each piece once. Ids: four specials, then the list in its order.

    What is not in the list is looked up in its compatibility form, then in lower case (a full-width digit as
    the digit, a narrow blank as a blank, "É" as "é"); the label stays what was typed. Raises AtlasError for a piece
    that is listed twice.
    """

    kind: str
    joint: str
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    unknown_id: int = 3

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self.vocabulary = _once_each(vocabulary)
        self._pieces = [*SPECIALS, *self.vocabulary]
        self._ids = {piece: id for id, piece in enumerate(self.vocabulary, start=len(SPECIALS))}
        self.mask_id = self._ids.get(MASK)

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str, begin: bool = False) -> Encoding:
        bos = Token(self.bos_id, SPECIALS[self.bos_id], SPECIALS[self.bos_id], 0, 0, special=True)
        return Encoding(text, (*[bos] * begin, *(self._token(text, *span) for span in self.spans(text))))

    def ids(self, text: str) -> list[int]:
        return [self._id(text[start:end]) for start, end in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        if self.mask_id is None or MASK not in text:
            return list(self.cut(text))
        spans, at = [], 0
        for stretch in re.split(f"({MASK})", text):
            cuts = [(0, len(MASK))] if stretch == MASK else self.cut(stretch)
            spans += [(at + start, at + end) for start, end in cuts]
            at += len(stretch)
        return spans

    def decode(self, ids: Sequence[int]) -> str:
        known = (id for id in whole(ids) if 0 <= id < len(self) and not self.is_special(id))
        return self.joint.join(self._pieces[id] for id in known)

    def label(self, id: int) -> str:
        return self.piece(id) if self.is_special(id) else shown(self.piece(id))

    def piece(self, id: int) -> str:
        if not 0 <= id < len(self):
            raise self.no_such_id(id)
        return self._pieces[id]

    def is_special(self, id: int) -> bool:
        return 0 <= id < len(SPECIALS) or id == self.mask_id

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "vocabulary": self.vocabulary}, ensure_ascii=False, indent=1)

    def cut(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each token of a text without masks, in code points."""
        raise NotImplementedError

    def _token(self, text: str, start: int, end: int) -> Token:
        typed = text[start:end]
        id = self._id(typed)
        found = {"special": id == self.mask_id, "unknown": id == self.unknown_id}
        return Token(id, self._pieces[id], shown(typed), start, end, **found)

    def _id(self, typed: str) -> int:
        if typed in self._ids:
            return self._ids[typed]
        plain = unicodedata.normalize("NFKC", typed)
        forms = (plain, typed.lower(), plain.lower())
        return next((self._ids[form] for form in forms if form in self._ids), self.unknown_id)


def _once_each(vocabulary: Iterable[str]) -> list[str]:
    """Raises AtlasError for a piece that is listed twice: it would have two ids, and be read as one of them."""
    pieces: dict[str, None] = {}
    for piece in vocabulary:
        if piece in pieces:
            raise AtlasError(
                "the vocabulary lists {piece} twice", piece=json.dumps(piece, ensure_ascii=False)
            )
        pieces[piece] = None
    return [*pieces]


class CharacterTokenizer(_ListedTokenizer):
    """One token a character; a letter and the combining marks after it are one character."""

    kind, joint = "character", ""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        super().__init__(vocabulary)
        single = {piece: id for piece, id in self._ids.items() if len(piece) == 1}
        self._alone = {piece: id for piece, id in single.items() if not unicodedata.combining(piece)}

    def ids(self, text: str) -> list[int]:
        if self.mask_id is None or MASK not in text:
            with suppress(KeyError):  # most texts are known letters that nothing combines with
                return [self._alone[character] for character in text]
        return super().ids(text)

    def cut(self, text: str) -> Iterator[tuple[int, int]]:
        start = 0
        for index in range(1, len(text) + 1):
            if index == len(text) or not unicodedata.combining(text[index]):
                yield start, index
                start = index


class WordTokenizer(_ListedTokenizer):
    """One token a word or punctuation mark; blanks only separate.

    Chinese and Japanese have no blanks: the longest word that the vocabulary lists is cut off, else one character.
    """

    kind, joint = "word", " "

    def __init__(self, vocabulary: Iterable[str]) -> None:
        super().__init__(vocabulary)
        known = [piece for piece in self.vocabulary if re.fullmatch(f"[{UNSPACED}]+", piece)]
        longest_first = sorted(known, key=len, reverse=True)
        self._word = re.compile("|".join([*longest_first, f"[{UNSPACED}]", rf"[^\W{UNSPACED}]+", r"[^\w\s]"]))

    def cut(self, text: str) -> Iterator[tuple[int, int]]:
        return (match.span() for match in self._word.finditer(text))

    def decode(self, ids: Sequence[int]) -> str:
        """Words with a blank between, but none where Chinese or Japanese stands on either side."""
        return re.sub(f"(?<=[{UNSPACED}]) | (?=[{UNSPACED}])", "", super().decode(ids))
