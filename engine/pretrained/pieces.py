"""Tokenizers that a folder keeps as SentencePiece models: Marian's two and their shared vocabulary, and T5's one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.config import AtlasError
from engine.pretrained.weights import read_json

if TYPE_CHECKING:
    from engine.tokenizers.sentencepieces import SentencePieceTokenizer

Read = Callable[[Path, Mapping[str, "int | None"]], "SentencePieceTokenizer"]

MARIAN = ("source.spm", "target.spm", "vocab.json")
T5 = "spiece.model"
_SENTINELS = 100  # <extra_id_99> to <extra_id_0>, in this order: they stand for gaps in a text


def marian(folder: Path, marks: Mapping[str, int | None]) -> SentencePieceTokenizer:
    """Of source.spm, target.spm and vocab.json, which gives their pieces ids. marks: bos_id, eos_id, pad_id.

    A code such as >>fr<< before a text tells which language to write, and is one token.
    Raises AtlasError for files that are missing or damaged.
    """
    missing = [name for name in MARIAN if not (folder / name).is_file()]
    if missing:
        raise AtlasError(
            "{path} lacks {missing}, without which text cannot become tokens: copy the whole folder again.",
            path=str(folder), missing=", ".join(missing),
        )  # fmt: skip
    ids = _vocabulary(folder / "vocab.json")
    contents = {"source": _content(folder / "source.spm"), "target": _content(folder / "target.spm")}
    specials = [piece for piece in ("</s>", "<pad>") if piece in ids]
    return _built(folder, **contents, ids=ids, specials=specials, whole="^>>.*?<<|</s>|<pad>|<unk>", **marks)


def t5(folder: Path, marks: Mapping[str, int | None]) -> SentencePieceTokenizer:
    """Of spiece.model, whose pieces have its own ids, and the sentinels after them. Raises AtlasError as `marian`."""
    content = _content(folder / T5)
    pieces = _pieces(folder, content)
    settings = folder / "tokenizer_config.json"
    count = read_json(settings).get("extra_ids", _SENTINELS) if settings.is_file() else _SENTINELS
    if not isinstance(count, int) or not 0 <= count <= 10_000:
        raise AtlasError(
            'The configuration of {path}: "{key}" should be a whole number from 0 on, not {found}.',
            path=str(settings), key="extra_ids", found=str(count)[:40],
        )  # fmt: skip
    sentinels = [f"<extra_id_{number}>" for number in reversed(range(count))]
    ids = {piece: id for id, piece in enumerate([*pieces, *sentinels])}
    specials = [piece for piece in ("<pad>", "</s>", *sentinels) if piece in ids]
    whole = r"</s>|<pad>|<unk>" + (r"|<extra_id_\d+>" if sentinels else "")
    return _built(folder, source=content, target=content, ids=ids, specials=specials, whole=whole, **marks)


def reader(folder: Path) -> Read | None:
    """What reads the pieces of a folder, None where there are none or tokenizer.json says the same.

    Marian's tokenizer.json, where there is one, knows the source only.
    """
    if (folder / MARIAN[0]).is_file():
        return marian
    if (folder / T5).is_file() and not (folder / "tokenizer.json").is_file():
        return t5
    return None


def _vocabulary(path: Path) -> dict[str, int]:
    ids = read_json(path)
    whole = all(isinstance(id, int) and not isinstance(id, bool) and id >= 0 for id in ids.values())
    if not whole or len(set(ids.values())) < len(ids):
        raise AtlasError(
            "{path} does not give each piece a number of its own: fetch or copy it again.", path=str(path)
        )
    return ids


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise AtlasError(
            "{path} cannot be read ({reason}): fetch or copy it again.",
            path=str(path), reason=error.strerror or str(error),
        ) from error  # fmt: skip


def _pieces(folder: Path, content: bytes) -> list[str]:
    from sentencepiece import SentencePieceProcessor

    try:
        model = SentencePieceProcessor.from_proto(content)
    except RuntimeError as error:
        raise _damaged(folder, error) from error
    return [model.id_to_piece(id) for id in range(len(model))]


def _built(folder: Path, **parts: Any) -> SentencePieceTokenizer:
    from engine.tokenizers.sentencepieces import SentencePieceTokenizer  # a library that few models need

    try:
        return SentencePieceTokenizer(**parts)
    except RuntimeError as error:
        raise _damaged(folder, error) from error
    except KeyError as error:
        raise AtlasError(
            "The vocabulary in {path} has no {piece}, which every text needs: copy the whole folder again.",
            path=str(folder), piece=error.args[0],
        ) from error  # fmt: skip


def _damaged(folder: Path, error: Exception) -> AtlasError:
    return AtlasError(
        "{path} holds a SentencePiece model that cannot be read ({reason}): fetch or copy it again.",
        path=str(folder), reason=str(error).splitlines()[0][:200],
    )  # fmt: skip
