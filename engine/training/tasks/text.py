"""Text as people write it: to be gone on with (Text), or to be filled in (MaskedText).

Examples are stretches of the text that begin anywhere, `window` tokens long at most.
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from engine.config import N_, AtlasError, Settings
from engine.tokenizers import Tokenizer
from engine.training.examples import Example
from engine.training.tasks.corpus import Corpus, help_topics, text_of
from engine.training.tasks.cuts import Characters, Cut
from engine.training.tasks.task import Kind

FEWEST = 16  # tokens of a part, training or held out
LOOKED_AT = 5_000  # characters of a part, when tokens are counted


def refuse_few(tokens: int) -> None:
    """Raises AtlasError: one piece may hold all of a text that repeats itself, and then nothing follows on anything."""
    if tokens < FEWEST:
        raise AtlasError(
            "a part of the text has only {count} tokens when it is cut into pieces, and at least {limit} are needed; "
            "cut it letter by letter",
            count=tokens, limit=FEWEST,
        )  # fmt: skip


class Stretches:
    """Stretches of one text, counted in tokens."""

    def __init__(self, text: str, tokenizer: Tokenizer, window: int) -> None:
        self.text, self.tokenizer, self.window = text, tokenizer, window
        self.cuts = [start for start, _ in tokenizer.spans(text)] + [len(text)]

    def any(self, generator: random.Random) -> str:
        return self.at(generator.randrange(max(1, len(self.cuts) - self.window)))

    def at(self, token: int) -> str:
        """As much as fits from that token on. Cut out, a text may have other pieces than it had in its place."""
        last = min(token + self.window, len(self.cuts) - 1)
        while len(self.tokenizer.ids(self.text[self.cuts[token] : self.cuts[last]])) > self.window:
            last -= 1
        return self.text[self.cuts[token] : self.cuts[last]]


class _OfCorpus(Settings):
    """What both tasks share. path: a text file of one's own; None for Python's help topics.

    The file is read when it is first needed, so that settings can be looked at without it.
    """

    name: str
    mask: ClassVar[bool] = False

    path: str | None = Field(default=None, title=N_("Text file"))
    cut: Cut = Field(default=Characters(), title=N_("Cut into"))
    window: int = Field(default=64, ge=8, le=512, title=N_("Tokens read together"))

    @cached_property
    def corpus(self) -> Corpus:
        """Raises AtlasError for a file that cannot be trained on."""
        return help_topics() if self.path is None else text_of(self.path)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Raises AtlasError where the text is not cut into enough."""
        tokenizer = self.cut.tokenizer(self.corpus, self.mask)
        for part in (self.corpus.training, self.corpus.held_out):
            refuse_few(len(tokenizer.ids(part[:LOOKED_AT])))
        return tokenizer

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        return [self.example(self._training.any(generator)) for _ in range(count)]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        generator = random.Random(f"{self.name} {seed}")
        return {"held_out": [self.example(self._held_out.any(generator)) for _ in range(count)]}

    def example(self, text: str) -> Example:
        raise NotImplementedError

    @cached_property
    def _training(self) -> Stretches:
        return Stretches(self.corpus.training, self.tokenizer, self.window)

    @cached_property
    def _held_out(self) -> Stretches:
        return Stretches(self.corpus.held_out, self.tokenizer, self.window)


class Text(_OfCorpus):
    name: Literal["text"] = "text"
    title: ClassVar[str] = N_("Text")
    summary: ClassVar[str] = N_("Text is gone on with: Python's help, or a file of your own.")
    kind: ClassVar[Kind] = "language"

    @property
    def max_source(self) -> int:
        return 0

    @property
    def max_target(self) -> int:
        return self.window

    def example(self, text: str) -> Example:
        return Example("", text)


class MaskedText(_OfCorpus):
    """Some tokens of a text are to be found from those on both sides (Devlin et al. 2018)."""

    name: Literal["masked_text"] = "masked_text"
    title: ClassVar[str] = N_("Masked text")
    summary: ClassVar[str] = N_("Hidden tokens of a text are found from those on both sides.")
    kind: ClassVar[Kind] = "fill"
    mask: ClassVar[bool] = True

    hidden_share: float = Field(default=0.15, ge=0.05, le=0.5, title=N_("Share of hidden tokens"))

    @property
    def max_source(self) -> int:
        return self.window

    @property
    def max_target(self) -> int:
        return self.window

    def example(self, text: str) -> Example:
        return Example(text, text)
