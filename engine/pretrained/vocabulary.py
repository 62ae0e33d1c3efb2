"""The tokenizer of a checkpoint, from its tokenizer.json or from a GGUF file's metadata.

Offsets count characters of the text as it was typed; a leading blank belongs to its word.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from engine.config import AtlasError
from engine.pretrained.gguf_tokenizers import KINDS

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile


def from_folder(folder: Path) -> Tokenizer:
    """tokenizer.json, without the padding and cutting off that some files ask for."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise AtlasError(
            "{path} has no tokenizer.json, without which text cannot become tokens: save the tokenizer "
            "there in its fast form.",
            path=str(folder),
        )
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception for every kind of damage
        raise AtlasError(
            "{path} cannot be read as a tokenizer ({reason}): fetch it again.",
            path=str(path),
            reason=str(error),
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def from_gguf(file: GgufFile) -> Tokenizer:
    """Builds the tokenizer that a GGUF file describes; raises AtlasError for unknown kinds and rules."""
    kind = str(file.get("tokenizer.ggml.model", "(none)"))
    if kind not in KINDS:
        raise AtlasError(
            "{path} has a tokenizer of kind {kind}, which is not known here (known: {known}).",
            path=str(file.path), kind=kind, known=", ".join(KINDS),
        )  # fmt: skip
    try:
        return KINDS[kind](file, file.get("tokenizer.ggml.tokens", []))
    except AtlasError:
        raise
    except Exception as error:  # plain Exception from the library; IndexError and the like from us
        raise AtlasError(
            "The metadata of {path} does not describe a tokenizer ({reason}): fetch or convert the file "
            "again.",
            path=str(file.path), reason=str(error).splitlines()[0] if str(error) else type(error).__name__,
        ) from error  # fmt: skip


def special_ids(file: GgufFile) -> dict[str, Any]:
    """The ids of the tokens that begin a decoder's input, end a text and fill it up, each None where not named."""
    begins = file.get("tokenizer.ggml.bos_token_id")
    return {
        "bos_id": file.get(f"{file.architecture}.decoder_start_token_id", begins),
        "eos_id": file.get("tokenizer.ggml.eos_token_id"),
        "pad_id": file.get("tokenizer.ggml.padding_token_id"),
    }
