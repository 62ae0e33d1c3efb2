"""The four kinds of tokenizers that GGUF files describe, rebuilt with the `tokenizers` library.

gpt2    byte-level BPE
llama   SentencePiece's BPE, whose merges follow from the scores of the pieces
t5      SentencePiece's Unigram
bert    WordPiece
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from engine.config import AtlasError
from engine.pretrained.cutting import RULES

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

BLANK = "\u2581"  # how SentencePiece writes a blank

# tokenizer.ggml.token_type
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)


def _byte_level(file: GgufFile, pieces: list[str]) -> Tokenizer:
    """Byte-level BPE (Radford et al. 2019): a character for each byte, merges in the order of their rank."""
    name = str(file.get("tokenizer.ggml.pre", "gpt-2"))
    if name not in RULES:
        raise AtlasError(
            "{path} cuts text by the rule {name}, which is not known here (known: {known}): its tokens "
            "would be wrong.",
            path=str(file.path), name=name, known=", ".join(RULES),
        )  # fmt: skip
    merges = [_two(merge) for merge in file.get("tokenizer.ggml.merges", [])]
    rule = RULES[name]
    tokenizer = Tokenizer(models.BPE(vocab=_numbered(pieces), merges=merges, ignore_merges=rule.whole))
    tokenizer.normalizer = rule.normal
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(rule.cuts)
    tokenizer.decoder = decoders.ByteLevel()
    _add_specials(tokenizer, file, pieces)
    _frame(tokenizer, file, pieces, begins=rule.begins, ends=rule.framed, doubled=rule.framed)
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
    _write_blanks(tokenizer, file, [])
    _add_specials(tokenizer, file, pieces)
    _frame(tokenizer, file, pieces, begins=True)
    return tokenizer


def _unigram(file: GgufFile, stored: list[str]) -> Tokenizer:
    """SentencePiece's Unigram (Kudo 2018): of all ways to cut a text, the one whose pieces score highest together.

    Converters fill the list up to the number of the model's rows; what they fill it with are no pieces. The library
    takes what looks like one character as a whole where SentencePiece would normalize a second accent by itself.
    """
    kinds, scores = file.get("tokenizer.ggml.token_type", []), file.get("tokenizer.ggml.scores", [])
    count = max(i for i, kind in enumerate(kinds) if kind != _UNUSED) + 1
    pieces, kinds = stored[:count], kinds[:count]
    _numbered(pieces)
    # only normal pieces are found by their scores, and what is unknown costs more than the lowest of these
    lowest = min(score for score, kind in zip(scores, kinds, strict=False) if kind == _NORMAL)
    scored = [
        (piece, score if kind == _NORMAL else lowest)
        for piece, score, kind in zip(pieces, scores, kinds, strict=False)
    ]
    unknown = int(file.get("tokenizer.ggml.unknown_token_id", kinds.index(_UNKNOWN)))
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=unknown, byte_fallback=_BYTE in kinds))
    normal: list[normalizers.Normalizer] = []
    if rules := file.get("tokenizer.ggml.precompiled_charsmap"):
        normal.append(_precompiled(bytes(rules)))
    if file.get("tokenizer.ggml.remove_extra_whitespaces", True):
        normal += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    _write_blanks(tokenizer, file, normal)
    _add_specials(tokenizer, file, pieces)
    _frame(tokenizer, file, pieces, ends=True)
    return tokenizer


def _precompiled(rules: bytes) -> normalizers.Normalizer:
    """SentencePiece's rules of normalization: the size of a trie, the trie, and what its leaves stand for.

    Raises ValueError for what is no such thing, of which the library would find out in the middle of a text.
    """
    size = int.from_bytes(rules[:4], "little")
    if not 1024 <= size < len(rules) - 4 or size % 1024:
        raise ValueError("its rules of normalization are damaged")
    return normalizers.Precompiled(rules)


def _write_blanks(tokenizer: Tokenizer, file: GgufFile, before: list[normalizers.Normalizer]) -> None:
    """As SentencePiece does it, which puts one before a text unless told otherwise; `before`: what is done first."""
    blanks: list[normalizers.Normalizer] = [normalizers.Replace(" ", BLANK)]
    strip: list[decoders.Decoder] = []
    if file.get("tokenizer.ggml.add_space_prefix", True):
        blanks.insert(0, normalizers.Prepend(BLANK))
        strip.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence([*before, *blanks])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace(BLANK, " "), decoders.ByteFallback(), decoders.Fuse(), *strip,
    ])  # fmt: skip


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


KINDS = {"gpt2": _byte_level, "llama": _sentencepiece, "t5": _unigram, "bert": _wordpiece}


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
    """Control pieces and whole words; a mask takes the blank before it, as RoBERTa's does."""
    kinds = dict(zip(pieces, file.get("tokenizer.ggml.token_type", []), strict=False))
    mask = file.get("tokenizer.ggml.mask_token_id")
    special = [piece for piece, kind in kinds.items() if kind in (_UNKNOWN, _CONTROL)]
    own = [piece for piece, kind in kinds.items() if kind == _USER_DEFINED]
    tokenizer.add_special_tokens([
        AddedToken(piece, special=True, normalized=False, lstrip=mask is not None and piece == pieces[mask])
        for piece in special
    ])  # fmt: skip
    tokenizer.add_tokens([AddedToken(piece, special=False, normalized=False) for piece in own])


def _frame(
    tokenizer: Tokenizer,
    file: GgufFile,
    pieces: list[str],
    *,
    begins: bool = False,
    ends: bool = False,
    doubled: bool = False,
) -> None:
    """Puts the first token before every text and the last one behind it, where the file or else its kind asks for it.

    ends: texts are read whole, so that they have a last token; doubled: of two texts the first has it twice.
    """
    first = _mark(file, pieces, "bos", default=begins)
    last = _mark(file, pieces, "eos", default=True) if ends else []
    if not first and not last:
        return
    between = [*last, *last] if file.get("tokenizer.ggml.add_sep_token", doubled) else last
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[*first, "$A", *last],
        pair=[*first, "$A", *between, "$B", *last] if last else None,
        special_tokens=[(piece, pieces.index(piece)) for piece in {*first, *last}],
    )


def _mark(file: GgufFile, pieces: list[str], name: str, *, default: bool) -> list[str]:
    id = file.get(f"tokenizer.ggml.{name}_token_id")
    return [pieces[id]] if id is not None and file.get(f"tokenizer.ggml.add_{name}_token", default) else []
