"""From a tokenizer.json to the tokenizer it describes."""

from __future__ import annotations

import json
from typing import Any

import tokenizers

from engine.config import AtlasError
from engine.tokenizers.listed import SPECIALS, CharacterTokenizer, WordTokenizer
from engine.tokenizers.pretrained import PretrainedTokenizer
from engine.tokenizers.tokenizer import Tokenizer


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
            # a library that few models need
            from engine.tokenizers.sentencepieces import SentencePieceTokenizer

            return SentencePieceTokenizer.from_values(values)
        case _:
            library = tokenizers.Tokenizer.from_str(text)
            ours = [library.id_to_token(id) for id in range(3)] == [*SPECIALS[:3]]
            return PretrainedTokenizer.own(library) if ours else PretrainedTokenizer(library)


def _listed(vocabulary: Any) -> list[str]:
    if not isinstance(vocabulary, list) or not all(isinstance(piece, str) for piece in vocabulary):
        raise AtlasError("the vocabulary of a tokenizer.json is a list of texts")
    return vocabulary
