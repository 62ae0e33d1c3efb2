"""Greedy decoding and sampling, several texts together. Axes: row (a text that still writes), pos, vocab."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from engine.config import AtlasError
from engine.decoding.filters import GREEDY, Chooser, Sampling, seen_in
from engine.decoding.limits import check
from engine.decoding.reader import Reader
from engine.errors import need_kind
from engine.model.inputs import check_prompt

Stop = Literal["end", "length", "full"]


@dataclass(frozen=True, eq=False)
class Prompt:
    """What texts begin with, filled up on the right. Raises AtlasError for one without a token."""

    ids: Int[Tensor, "row pos"]
    lengths: Int[Tensor, " row"] | None = None

    def __post_init__(self) -> None:
        check_prompt(self.ids, self.lengths)
        if 0 in self.counts:
            row = self.counts.index(0)
            raise AtlasError("text {row} has no token to go on from: it takes at least 1", row=row)

    @property
    def counts(self) -> list[int]:
        """Tokens of each text."""
        return [self.ids.shape[1]] * len(self.ids) if self.lengths is None else self.lengths.tolist()

    def read(self, reader: Reader) -> tuple[Float[Tensor, "row vocab"], Bool[Tensor, "row vocab"]]:
        """The logits after each text, and which tokens it holds. Raises AtlasError where the reader has read before."""
        reader.check_fresh()
        logits = reader.read(self.ids, self.lengths)
        ends = torch.tensor(self.counts, device=logits.device)
        rows = torch.arange(len(ends), device=logits.device)
        return logits[rows, ends - 1], seen_in(self.ids, ends, logits.shape[-1])


def alone(ids: Int[Tensor, "row pos"]) -> Prompt:
    """The one prompt of a search that writes one text. Raises AtlasError for more, and for none."""
    prompt = Prompt(ids)
    if len(ids) != 1:
        raise AtlasError("one prompt is gone on from at a time, not {n}", n=len(ids))
    return prompt


@dataclass(frozen=True, eq=False)
class Step:
    """One more token for each text that still writes.

    rows: which texts of the batch they are; ids: the token of each.
    logits: what the model gave; filtered: what the settings made of it, -inf for what could not be drawn.
    stops: why a text ends here, or None: "end" (it wrote EOS), "length" (as many tokens as asked for), "full" (the
        model's limit).
    slots, nbytes: keys in each layer's cache, and bytes of the whole cache, when the token was chosen.
    """

    rows: list[int]
    ids: Int[Tensor, " row"]
    logits: Float[Tensor, "row vocab"]
    filtered: Float[Tensor, "row vocab"]
    stops: list[Stop | None]
    slots: int
    nbytes: int

    @property
    def probabilities(self) -> Float[Tensor, "row vocab"]:
        """What the tokens were drawn from: 0 for what the filters cut."""
        return self.filtered.softmax(dim=-1)

    @property
    def kept(self) -> list[list[int]]:
        """For each row the tokens that the filters left, the likeliest first."""
        order = self.filtered.argsort(dim=-1, descending=True, stable=True)
        counts = self.filtered.isfinite().sum(dim=-1).tolist()
        return [row[:n].tolist() for row, n in zip(order, counts, strict=True)]

    @property
    def stop(self) -> Stop | None:
        """Why the last text ends here; None while any goes on."""
        return None if None in self.stops else self.stops[-1]


def write(
    reader: Reader,
    ids: Int[Tensor, "row pos"],
    lengths: Int[Tensor, " row"] | None = None,
    *,
    max_new_tokens: int,
    max_len: int,
    eos_id: int | None = None,
    sampling: Sampling = GREEDY,
    suppressed: Sequence[int] = (),
) -> Iterator[Step]:
    """Goes on from each prompt, greedily unless told otherwise. Prompts of unequal length are filled up on the right.

    A text leaves the batch when it has ended. Greedily, each is written as if it were alone; texts that are drawn share
    one generator, so together they differ from what each would be alone. Yields nothing where there is room for
    nothing: max_new_tokens is 0, or all prompts fill max_len already. Raises AtlasError for settings out of range and
    for an empty prompt.
    """
    need_kind("reader", reader, Reader)
    check(max_new_tokens=max_new_tokens, max_len=max_len, eos_id=eos_id)
    prompt = Prompt(ids, lengths)
    rooms = [min(max_new_tokens, max_len - length) for length in prompt.counts]
    return _write(reader, prompt, rooms, max_new_tokens, eos_id, Chooser(sampling, suppressed))


def _write(
    reader: Reader, prompt: Prompt, rooms: list[int], asked: int, eos_id: int | None, chooser: Chooser
) -> Iterator[Step]:
    rows = [row for row, room in enumerate(rooms) if room > 0]
    if not rows:
        return
    logits, seen = (each[rows] for each in prompt.read(reader))
    reader.keep(rows)
    for written in count(1):
        filtered = chooser.filtered(logits, seen)
        ids = chooser.choose(filtered)
        stops: list[Stop | None] = [
            why(id == eos_id, written, rooms[row], asked) for row, id in zip(rows, ids.tolist(), strict=True)
        ]
        yield Step(rows, ids, logits, filtered, stops, reader.slots, reader.nbytes)
        going = [index for index, stop in enumerate(stops) if stop is None]
        if not going:
            return
        if len(going) < len(rows):
            reader.keep(going)
            rows, ids, seen = [rows[index] for index in going], ids[going], seen[going]
        seen.scatter_(1, ids[:, None], value=True)
        logits = reader.read(ids[:, None])[:, -1]


def greedy(
    reader: Reader,
    ids: Int[Tensor, "row pos"],
    *,
    max_new_tokens: int,
    max_len: int,
    eos_id: int | None = None,
) -> Iterator[Step]:
    """The likeliest token each time."""
    return write(reader, ids, max_new_tokens=max_new_tokens, max_len=max_len, eos_id=eos_id)


def texts(steps: Iterable[Step], batch: int) -> list[list[int]]:
    """What each of `batch` texts has written, its EOS included."""
    written: list[list[int]] = [[] for _ in range(batch)]
    for step in steps:
        for row, id in zip(step.rows, step.ids.tolist(), strict=True):
            written[row].append(id)
    return written


def why(ended: bool, written: int, room: int, asked: int) -> Stop | None:
    """Why a text stops after so many tokens, or None if it goes on."""
    if ended:
        return "end"
    if written < room:
        return None
    return "length" if room == asked else "full"
