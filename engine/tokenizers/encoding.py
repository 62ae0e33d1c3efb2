"""A text in tokens: each knows where it stands, in code points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


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
