"""What cannot be read is refused before a layer computes: one function for each thing that is given.

Only shapes and extremes are looked at, a few microseconds each; on a GPU the extremes are waited for.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.config import AtlasError

WHOLE = (torch.int64, torch.int32)  # what torch looks up rows by
FEW = 256  # ids that are compared sooner as a list than by calling a kernel


def check_ids(ids: Tensor, limit: int) -> None:
    """Token ids (batch, pos), each from 0 up to the limit. Raises AtlasError."""
    _check_whole(ids, "ids")
    if ids.ndim != 2 or not ids.numel():
        raise AtlasError(
            "token ids must be of shape (batch, pos) with at least one position, not {shape}",
            shape=tuple(ids.shape),
        )
    if place := _outside(ids, limit):
        raise AtlasError(
            "token {id} at position {position} of text {text} is not among the {limit} tokens that this model knows",
            id=int(ids[place]), position=place[1], text=place[0], limit=limit,
        )  # fmt: skip


def check_prompt(ids: Tensor, lengths: Tensor | None) -> None:
    """Ids (row, pos), even of no position, and one length for each row. Raises AtlasError."""
    _check_whole(ids, "ids")
    if ids.ndim != 2 or not len(ids):
        raise AtlasError(
            "prompts must be of shape (row, pos) with at least one row, not {shape}", shape=tuple(ids.shape)
        )
    if lengths is not None:
        check_lengths(lengths, ids, least=0)


def check_images(images: Tensor, shape: tuple[int, int, int]) -> None:
    """Images (batch, height, width, channels) of that shape, in finite numbers. Raises AtlasError."""
    check_tensor(images, "images")
    if images.ndim != 4 or images.shape[1:] != shape or not images.shape[0]:
        raise AtlasError(
            "images must be of shape (batch, {height}, {width}, {channels}), not {got}",
            height=shape[0], width=shape[1], channels=shape[2], got=tuple(images.shape),
        )  # fmt: skip
    if not images.is_floating_point():
        raise AtlasError(
            "images must be floating-point numbers, not {dtype}",
            dtype=str(images.dtype).removeprefix("torch."),
        )
    if not images.isfinite().all():
        raise AtlasError("images must be finite numbers, and these hold some that are not")


def check_segments(segments: Tensor, x: Tensor, limit: int) -> None:
    """Segment ids (batch or 1, pos) beside x (batch, pos, d_model). Raises AtlasError."""
    _check_whole(segments, "segments")
    batch, pos = x.shape[:2]
    if segments.shape not in ((batch, pos), (1, pos)):
        raise AtlasError(
            "segment ids must be of shape ({batch}, {pos}) as the tokens are, not {shape}",
            batch=batch, pos=pos, shape=tuple(segments.shape),
        )  # fmt: skip
    if place := _outside(segments, limit):
        raise AtlasError(
            "segment {id} at position {position} of text {text} is none of the {limit} that this model has learned",
            id=int(segments[place]), position=place[1], text=place[0], limit=limit,
        )  # fmt: skip


def check_lengths(lengths: Tensor, x: Tensor, least: int = 1) -> None:
    """One length for each text of x (batch, pos, ..), from `least` up to pos. Raises AtlasError."""
    _check_whole(lengths, "lengths")
    batch, pos = x.shape[:2]
    if lengths.shape != (batch,):
        raise AtlasError(
            "there must be one length for each of the {batch} texts, not lengths of shape {shape}",
            batch=batch, shape=tuple(lengths.shape),
        )  # fmt: skip
    for text, length in enumerate(lengths.tolist()):
        if not least <= length <= pos:
            raise AtlasError(
                "the length {length} of text {text} must be from {least} to {limit}, the number of its positions",
                length=length, text=text, least=least, limit=pos,
            )  # fmt: skip


def check_memory(memory: Tensor, x: Tensor) -> None:
    """What x (batch, pos, d_model) reads by cross-attention: (batch, memory, d_model). Raises AtlasError."""
    batch, _, d_model = x.shape
    check_tensor(memory, "the memory")
    if memory.ndim != 3 or memory.shape[::2] != (batch, d_model) or not memory.shape[1]:
        raise AtlasError(
            "the memory of {batch} texts must be of shape ({batch}, source, {d_model}), not {shape}",
            batch=batch, d_model=d_model, shape=tuple(memory.shape),
        )  # fmt: skip
    if memory.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
        raise AtlasError(
            "the memory must be of type {expected}, as the model computes, not {got}",
            expected=str(x.dtype).removeprefix("torch."), got=str(memory.dtype).removeprefix("torch."),
        )  # fmt: skip


def check_positions(n: int, limit: int | None) -> None:
    """So many positions, of the limit that were learned; None: there is no limit. Raises AtlasError."""
    if limit is not None and n > limit:
        raise AtlasError(
            "{n} tokens are too many: this model has learned {limit} positions", n=n, limit=limit
        )


def check_tensor(values: object, what: str) -> None:
    """A tensor that has its numbers, one for each place. Raises AtlasError."""
    if not isinstance(values, Tensor):
        raise AtlasError("{what} must be a tensor, not {kind}", what=what, kind=type(values).__name__)
    if values.is_meta or values.layout is not torch.strided:
        raise AtlasError(
            "{what} must be a tensor that holds a number for each place, not a {kind} one",
            what=what, kind="meta" if values.is_meta else str(values.layout).removeprefix("torch."),
        )  # fmt: skip


def as_numbers(value: Any, what: str, like: Tensor) -> Tensor:
    """A tensor of whatever holds real numbers. Raises AtlasError for words, and for rows of unequal length."""
    dtype = None if hasattr(value, "__array__") else like.dtype  # one of its own is looked at first
    try:
        found = value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=dtype, device="cpu")
    except Exception as error:  # whatever an object does when it is to become numbers
        raise AtlasError(
            "{name} takes numbers, in rows of equal length: {reason}",
            name=what, reason=(str(error) or type(error).__name__).splitlines()[0],
        ) from None  # fmt: skip
    check_tensor(found, what)
    if found.is_complex():
        raise AtlasError("{name} takes real numbers, and these are complex", name=what)
    return found.to(like.dtype).to(like.device)  # in this order, since Metal has no float64


def _check_whole(values: Tensor, what: str) -> None:
    check_tensor(values, what)
    if values.dtype not in WHOLE:
        raise AtlasError(
            "{what} must be whole numbers of type int64 or int32, not {dtype}",
            what=what, dtype=str(values.dtype).removeprefix("torch."),
        )  # fmt: skip


def _outside(ids: Tensor, limit: int) -> tuple[int, int] | None:
    """(text, position) of the first id below 0 or not below the limit."""
    if ids.numel() <= FEW:
        numbers = ids.flatten().tolist()
        least, most = min(numbers), max(numbers)
    else:
        least, most = (extreme.item() for extreme in ids.aminmax())
    if least >= 0 and most < limit:
        return None
    text, position = ((ids < 0) | (ids >= limit)).nonzero()[0].tolist()
    return text, position
