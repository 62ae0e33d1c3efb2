"""The tokenizer of a checkpoint, from its tokenizer.json or from a GGUF file's metadata.

GGUF names three kinds: gpt2 (byte-level BPE), llama (SentencePiece's BPE, whose merges follow from the
scores of the pieces) and bert (WordPiece). Offsets count characters of the text as it was typed; a leading
blank belongs to its word.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from engine.config import AtlasError

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

BLANK = "\u2581"  # how SentencePiece writes a blank
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4  # tokenizer.ggml.token_type


class _Rule(NamedTuple):
    """How text is cut before byte-level merges apply.

    normal: what text becomes before; whole: what is a piece as it stands needs no merges to be one; begins: BOS stands
    before a text unless the file says otherwise.
    """

    cuts: list[pre_tokenizers.PreTokenizer]
    normal: normalizers.Normalizer | None = None
    whole: bool = False
    begins: bool = False


def _pattern(digits: str) -> list[pre_tokenizers.PreTokenizer]:
    """The rule of GPT-4 and what follows it; they differ in how many digits may stay together."""
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        + digits
        + r"|\x20?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    return [
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]


# By the name that GGUF files give them; "gpt-2" is GPT-2's own rule, "llama-bpe" LLaMA 3's.
_RULES = {
    "gpt-2": _Rule([pre_tokenizers.ByteLevel(add_prefix_space=False)]),
    "smollm": _Rule([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]),
    "qwen2": _Rule(_pattern(""), normal=normalizers.NFC()),
    "llama-bpe": _Rule(_pattern("{1,3}"), whole=True, begins=True),
}  # fmt: skip


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
    if kind not in _BUILDERS:
        raise AtlasError(
            "{path} has a tokenizer of kind {kind}, which is not known here (known: {known}).",
            path=str(file.path), kind=kind, known=", ".join(_BUILDERS),
        )  # fmt: skip
    try:
        return _BUILDERS[kind](file, file.get("tokenizer.ggml.tokens", []))
    except AtlasError:
        raise
    except Exception as error:  # plain Exception from the library; IndexError and the like from us
        raise AtlasError(
            "The metadata of {path} does not describe a tokenizer ({reason}): fetch or convert the file "
            "again.",
            path=str(file.path), reason=str(error).splitlines()[0] if str(error) else type(error).__name__,
        ) from error  # fmt: skip


def special_ids(file: GgufFile) -> dict[str, Any]:
    """The ids of the tokens that begin a text, end it and fill it up, each None where the file names none."""
    return {
        "bos_id": file.get("tokenizer.ggml.bos_token_id"),
        "eos_id": file.get("tokenizer.ggml.eos_token_id"),
        "pad_id": file.get("tokenizer.ggml.padding_token_id"),
    }


def _byte_level(file: GgufFile, pieces: list[str]) -> Tokenizer:
    """Byte-level BPE (Radford et al. 2019): a character for each byte, merges in the order of their rank."""
    name = str(file.get("tokenizer.ggml.pre", "gpt-2"))
    if name not in _RULES:
        raise AtlasError(
            "{path} cuts text by the rule {name}, which is not known here (known: {known}): its tokens "
            "would be wrong.",
            path=str(file.path), name=name, known=", ".join(_RULES),
        )  # fmt: skip
    merges = [_two(merge) for merge in file.get("tokenizer.ggml.merges", [])]
    rule = _RULES[name]
    tokenizer = Tokenizer(models.BPE(vocab=_numbered(pieces), merges=merges, ignore_merges=rule.whole))
    tokenizer.normalizer = rule.normal
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(rule.cuts)
    tokenizer.decoder = decoders.ByteLevel()
    _add_specials(tokenizer, file, pieces)
    _begin_with_bos(tokenizer, file, pieces, default=rule.begins)
    return tokenizer


def _sentencepiece(file: GgufFile, pieces: list[str]) -> Tokenizer:
    """SentencePiece's BPE (Kudo & Richardson 2018), whose merges follow from the scores of the pieces.

    The neighbours whose joint piece scores highest merge first; a character without a piece becomes bytes.
    """
    known, scores = _numbered(pieces), file.get("tokenizer.ggml.scores", [])
    ranked = sorted(range(len(pieces)), key=lambda i: -scores[i])
    merges = [
        (pieces[i][:cut], pieces[i][cut:])
        for i in ranked
        for cut in range(1, len(pieces[i]))
        if pieces[i][:cut] in known and pieces[i][cut:] in known
    ]
    unknown = pieces[int(file.get("tokenizer.ggml.unknown_token_id", 0))]
    tokenizer = Tokenizer(models.BPE(known, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    blanks: list[normalizers.Normalizer] = [normalizers.Replace(" ", BLANK)]
    strip: list[decoders.Decoder] = []
    if file.get("tokenizer.ggml.add_space_prefix", True):
        blanks.insert(0, normalizers.Prepend(BLANK))
        strip.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(blanks)
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace(BLANK, " "), decoders.ByteFallback(), decoders.Fuse(), *strip,
    ])  # fmt: skip
    _add_specials(tokenizer, file, pieces)
    _begin_with_bos(tokenizer, file, pieces, default=True)
    return tokenizer


def _wordpiece(file: GgufFile, stored: list[str]) -> Tokenizer:
    """WordPiece (Schuster & Nakajima 2012; BERT).

    GGUF marks the pieces that begin a word, BERT those that do not.
    """
    pieces = [_as_bert_writes(piece) for piece in stored]
    unknown = pieces[int(file.get("tokenizer.ggml.unknown_token_id", 100))]
    tokenizer = Tokenizer(
        models.WordPiece(_numbered(pieces), unk_token=unknown, max_input_chars_per_word=100)
    )
    words = "".join(piece for piece in pieces if not _in_brackets(piece))
    lowercase = words == words.lower()  # a vocabulary without capitals was made from text without
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(
        [piece for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if piece in pieces]
    )
    begin = int(file.get("tokenizer.ggml.cls_token_id", file.get("tokenizer.ggml.bos_token_id", 101)))
    end = int(file.get("tokenizer.ggml.seperator_token_id", 102))  # spelt so in the format
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{pieces[begin]} $A {pieces[end]}",
        pair=f"{pieces[begin]} $A {pieces[end]} $B:1 {pieces[end]}:1",
        special_tokens=[(pieces[begin], begin), (pieces[end], end)],
    )
    return tokenizer


_BUILDERS = {"gpt2": _byte_level, "llama": _sentencepiece, "bert": _wordpiece}


def _numbered(pieces: list[str]) -> dict[str, int]:
    if not pieces or len(set(pieces)) < len(pieces):
        raise ValueError("no pieces, or the same piece twice")
    return {piece: i for i, piece in enumerate(pieces)}


def _two(merge: str) -> tuple[str, str]:
    first, second = merge.split(" ", 1)
    return first, second


def _in_brackets(piece: str) -> bool:
    return re.fullmatch(r"\[.*\]", piece) is not None


def _as_bert_writes(piece: str) -> str:
    if _in_brackets(piece):
        return piece
    return piece[1:] if piece.startswith(BLANK) else f"##{piece}"


def _add_specials(tokenizer: Tokenizer, file: GgufFile, pieces: list[str]) -> None:
    kinds = dict(zip(pieces, file.get("tokenizer.ggml.token_type", []), strict=False))
    special = [piece for piece, kind in kinds.items() if kind in (_UNKNOWN, _CONTROL)]
    own = [piece for piece, kind in kinds.items() if kind == _USER_DEFINED]
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in special])
    tokenizer.add_tokens([AddedToken(piece, special=False, normalized=False) for piece in own])


def _begin_with_bos(tokenizer: Tokenizer, file: GgufFile, pieces: list[str], *, default: bool) -> None:
    """Puts the first token before every text, where the file or else the kind of tokenizer asks for it."""
    bos = file.get("tokenizer.ggml.bos_token_id")
    if bos is not None and file.get("tokenizer.ggml.add_bos_token", default):
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{pieces[bos]} $A", special_tokens=[(pieces[bos], bos)]
        )
