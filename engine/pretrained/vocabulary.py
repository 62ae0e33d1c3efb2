"""The tokenizer of a checkpoint as a `tokenizers.Tokenizer`: from tokenizer.json, or from a GGUF file's metadata."""

from __future__ import annotations

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from engine.config import AtlasError
from engine.pretrained.gguf_file import GgufFile

# How text is cut before the merges apply, by the name that GGUF files give it; "gpt-2" is GPT-2's own rule.
_CUTS: dict[str, list[pre_tokenizers.PreTokenizer]] = {
    "gpt-2": [pre_tokenizers.ByteLevel(add_prefix_space=False)],
    "smollm": [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)],
}
_CONTROL, _USER_DEFINED = 3, 4  # tokenizer.ggml.token_type


def from_folder(folder: Path) -> Tokenizer:
    """tokenizer.json, with the padding and cutting off that some files ask for switched off: a text stays as it is."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise AtlasError(
            "{path} has no tokenizer.json, without which text cannot become tokens: save the tokenizer there in its "
            "fast form.",
            path=str(folder),
        )
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception for every kind of damage
        raise AtlasError(
            "{path} cannot be read as a tokenizer ({reason}): fetch it again.", path=str(path), reason=str(error)
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def from_gguf(file: GgufFile) -> Tokenizer:
    """Builds the tokenizer that a GGUF file describes: byte-level BPE so far; others are refused by name."""
    kind = str(file.get("tokenizer.ggml.model", "(none)"))
    if kind != "gpt2":
        raise AtlasError(
            "{path} has a tokenizer of kind {kind}, and only byte-level BPE (gpt2) can be read from a GGUF file.",
            path=str(file.path), kind=kind,
        )  # fmt: skip
    pieces = file.get("tokenizer.ggml.tokens", [])
    merges = [tuple(merge.split(" ", 1)) for merge in file.get("tokenizer.ggml.merges", [])]
    tokenizer = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(_cuts(file))
    tokenizer.decoder = decoders.ByteLevel()
    _add_specials(tokenizer, pieces, file.get("tokenizer.ggml.token_type", []))
    if file.get("tokenizer.ggml.add_bos_token", False):
        _begin_with(tokenizer, pieces, int(file.get("tokenizer.ggml.bos_token_id", 0)))
    return tokenizer


def _cuts(file: GgufFile) -> list[pre_tokenizers.PreTokenizer]:
    name = str(file.get("tokenizer.ggml.pre", "gpt-2"))
    if name not in _CUTS:
        raise AtlasError(
            "{path} cuts text by the rule {name}, which is not known here (known: {known}): its tokens would be wrong.",
            path=str(file.path), name=name, known=", ".join(_CUTS),
        )  # fmt: skip
    return _CUTS[name]


def _add_specials(tokenizer: Tokenizer, pieces: list[str], kinds: list[int]) -> None:
    special = [piece for piece, kind in zip(pieces, kinds, strict=False) if kind == _CONTROL]
    own = [piece for piece, kind in zip(pieces, kinds, strict=False) if kind == _USER_DEFINED]
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in special])
    tokenizer.add_tokens([AddedToken(piece, special=False, normalized=False) for piece in own])


def _begin_with(tokenizer: Tokenizer, pieces: list[str], bos: int) -> None:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{pieces[bos]} $A", special_tokens=[(pieces[bos], bos)]
    )
