"""Text to tokens and back. Every token knows where it stands in the text, in code points.

CharacterTokenizer, WordTokenizer    this project's own small vocabularies, JSON both ways
PretrainedTokenizer                  wraps the `tokenizers` library for real checkpoints
SentencePieceTokenizer               in sentencepieces.py: for translators, which cut each language by rules of its own

A token has a `piece`, its name in the vocabulary ("Ġanimal", "##ing"), and a `label`, what a screen shows:
the text it stands for, as typed. Pieces of one character show their bytes.
"""

from __future__ import annotations

import codecs
import json
import operator
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import tokenizers

from engine.config import AtlasError


@dataclass(frozen=True)
class Token:
    """One token of a text, standing for `text[start:end]`; a special that nobody typed stands for nothing.

    `part_of_character` marks one of several tokens that make up a single character; `segment` says which of two texts
    read together it belongs to, as the model is told.
    """

    id: int
    piece: str
    label: str
    start: int
    end: int
    special: bool = False
    part_of_character: bool = False
    unknown: bool = False
    segment: int = 0


@dataclass(frozen=True)
class Problem:
    """A stretch of text, text[start:end], that the model cannot read: kind is "unknown" or "fragments"."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Encoding:
    """A text and its tokens, specials included; of two texts read together, both with a blank between them."""

    text: str
    tokens: tuple[Token, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]

    @property
    def segments(self) -> list[int]:
        return [token.segment for token in self.tokens]

    @property
    def pieces(self) -> list[str]:
        return [token.piece for token in self.tokens]

    @property
    def labels(self) -> list[str]:
        return [token.label for token in self.tokens]

    @cached_property
    def groups(self) -> tuple[range, ...]:
        """Token indices that belong together, one range for each character that several tokens make up."""
        starts: list[int] = []
        ends: list[int] = []
        for index, token in enumerate(self.tokens):
            if not token.part_of_character:
                continue
            if ends and ends[-1] == index and token.start < self.tokens[index - 1].end:
                ends[-1] = index + 1
            else:
                starts.append(index)
                ends.append(index + 1)
        return tuple(range(start, end) for start, end in zip(starts, ends, strict=True))

    @property
    def problems(self) -> list[Problem]:
        """What the model cannot read here: unknown tokens, and characters that fell into fragments."""
        found = [("unknown", token.start, token.end) for token in self.tokens if token.unknown]
        for group in self.groups:
            found.append(("fragments", self.tokens[group[0]].start, self.tokens[group[-1]].end))
        return [
            Problem(kind, self.text[a:b].strip(), a, b) for kind, a, b in sorted(found, key=lambda it: it[1])
        ]


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


def from_json(text: str) -> Tokenizer:
    """The tokenizer of a tokenizer.json: one of ours, or one of the `tokenizers` library.

    Raises AtlasError for a text that describes none.
    """
    try:
        return _described(text, json.loads(text))
    except AtlasError:
        raise
    except Exception as error:  # the library raises plain Exception for every kind of damage
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise AtlasError("this is not the text of a tokenizer.json: {what}", what=what) from None


def _described(text: str, values: Any) -> Tokenizer:
    if not isinstance(values, dict):
        raise AtlasError("a tokenizer.json holds one object, not {kind}", kind=type(values).__name__)
    match values.get("kind"):
        case "character":
            return CharacterTokenizer(_listed(values["vocabulary"]))
        case "word":
            return WordTokenizer(_listed(values["vocabulary"]))
        case "sentencepiece":
            from engine.sentencepieces import SentencePieceTokenizer  # a library that few models need

            return SentencePieceTokenizer.from_values(values)
        case _:
            library = tokenizers.Tokenizer.from_str(text)
            ours = [library.id_to_token(id) for id in range(3)] == [*SPECIALS[:3]]
            return PretrainedTokenizer.own(library) if ours else PretrainedTokenizer(library)


def _listed(vocabulary: Any) -> list[str]:
    if not isinstance(vocabulary, list) or not all(isinstance(piece, str) for piece in vocabulary):
        raise AtlasError("the vocabulary of a tokenizer.json is a list of texts")
    return vocabulary


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


def whole(ids: Any) -> list[int]:
    """Raises AtlasError for ids that are no whole numbers."""
    try:
        return [operator.index(id) for id in ids]
    except TypeError:
        raise AtlasError("ids are a row of whole numbers, not {ids}", ids=repr(ids)[:80]) from None


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
        return shown(self._readable(piece)) or piece

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

    def _readable(self, piece: str) -> str:
        """The text of a piece: markers of blanks and word parts undone, incomplete characters as bytes."""
        if self._bytes and not set(piece) - _BYTE_OF.keys():
            return bytes(_BYTE_OF[char] for char in piece).decode("utf-8", errors="bytes-in-brackets")
        if match := re.fullmatch("<0x([0-9A-F]{2})>", piece):  # the byte fallback of SentencePiece
            return bytes.fromhex(match[1]).decode("utf-8", errors="bytes-in-brackets")
        return piece.removeprefix("##").replace("▁", " ")


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


def shown(text: str) -> str:
    """Text as a label: without its leading blank, and with a sign for what would be invisible."""
    text = text.removeprefix(" ") or text
    if not text.strip():
        text = text.replace(" ", "␣")
    text = text.replace("\n", "⏎").replace("\t", "⇥")
    if text and unicodedata.combining(text[0]):
        return "◌" + text  # a mark alone needs something to sit on
    if text and not any(char.isprintable() for char in text):
        return "".join(f"U+{ord(char):04X}" for char in text)
    return text


def _byte_alphabet() -> dict[str, int]:
    """Byte-level BPE writes a byte as one visible character, itself or from 256 on (Radford et al. 2019)."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    invisible = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + i): byte for i, byte in enumerate(invisible)}


def _bytes_in_brackets(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"<{byte:02x}>" for byte in error.object[error.start : error.end]), error.end


_BYTE_OF = _byte_alphabet()
codecs.register_error("bytes-in-brackets", _bytes_in_brackets)
