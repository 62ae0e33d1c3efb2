"""Text to learn to write: Python's help topics, which every Python has, or a visitor's own file.

The last tenth of a text is held out, never seen in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.config import AtlasError
from engine.training.tasks.text_file import read_text

FEWEST_CHARACTERS = 1_000


@dataclass(frozen=True)
class Corpus:
    training: str
    held_out: str


@lru_cache(maxsize=1)
def help_topics() -> Corpus:
    """What help("topics") of this Python tells, in alphabetical order of the topics; the last tenth held out."""
    from pydoc_data.topics import topics

    texts = [topics[name] for name in sorted(topics)]
    kept = len(texts) * 9 // 10
    return Corpus("\n".join(texts[:kept]), "\n".join(texts[kept:]))


def text_of(path: str | Path) -> Corpus:
    """A text file in UTF-8; the last tenth of its characters held out.

    Raises AtlasError, with the line where there is one, for a file that is missing, too large, too short, or no text.
    """
    text = read_text(path)
    if len(text) < FEWEST_CHARACTERS:
        raise AtlasError(
            "{path} has {count} characters, and at least {limit} are needed to train on",
            path=path, count=len(text), limit=FEWEST_CHARACTERS,
        )  # fmt: skip
    kept = len(text) * 9 // 10
    return Corpus(text[:kept], text[kept:])
