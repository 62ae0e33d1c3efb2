"""What must hold for every model, computed on the model at hand: `for check in verify(lm): print(check)`.

What should be equal is compared relative to the largest number; what must be exactly so has bound 0.
`python -m engine.verify [MODEL]` prints it as a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType

import torch
from jaxtyping import Shaped
from torch import Tensor

from engine.capture import Trace, capture
from engine.errors import need_kind
from engine.language_model import LanguageModel
from engine.verify import measures
from engine.verify.measures import read

LENGTH = 12  # tokens of the text that is made up where none is given
ROUNDING = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
ADDED = ("sinusoidal", "learned")  # schemes that enter before the first layer, and tell where a token stands


@dataclass(frozen=True)
class Check:
    """One invariant: the worst deviation found, and the largest that is still rounding."""

    name: str
    worst: float
    bound: float

    @property
    def ok(self) -> bool:
        return self.worst <= self.bound  # False for NaN


@torch.no_grad()
def verify(lm: LanguageModel, text: str | None = None) -> list[Check]:
    """Every invariant that applies to this model, on a text or on tokens spread over its vocabulary.

    Raises AtlasError for what is no model, and for a text that it cannot read.
    """
    need_kind("what is verified", lm, LanguageModel)
    need_kind("text", text, str, NoneType)
    ids = lm.batch(lm.encode(text).ids)[0] if text else made_up(lm)
    with capture(names=()):
        explicit = read(lm, ids)
    with capture() as trace:
        heard = read(lm, ids)
    rounding = ROUNDING[lm.dtype]
    return [
        Check("listening changes nothing", measures.largest([heard - explicit]), 0.0),
        Check("the fused and the explicit path agree", measures.apart(read(lm, ids), explicit), rounding),
        Check("hidden keys weigh nothing", measures.hidden_weight(trace), 0.0),
        Check("the heads add up to the output", measures.heads_off(lm, trace), rounding),
        *of_texts(lm, ids, rounding),
        *of_a_decoder(lm, ids, rounding),
        *of_some_stacks(lm, ids, trace, rounding),
    ]


def of_texts(lm: LanguageModel, ids: Shaped[Tensor, "*one"], rounding: float) -> Iterator[Check]:
    if not lm.config.patches:  # images are all of one size
        yield Check("padding changes nothing", measures.padding_off(lm, ids), rounding)


def of_a_decoder(lm: LanguageModel, ids: Shaped[Tensor, "*one"], rounding: float) -> Iterator[Check]:
    if lm.config.decoder:
        yield Check("a later token leaves earlier ones alone", measures.leak(lm, ids), 0.0)
        yield Check("a cache of keys and values changes nothing", measures.cache_off(lm, ids), rounding)


def of_some_stacks(
    lm: LanguageModel, ids: Shaped[Tensor, "*one"], trace: Trace, rounding: float
) -> Iterator[Check]:
    """What follows from the settings of a stack: its core, its norms, its position scheme."""
    stacks = lm.config.stacks.items()
    if summing := [name for name, stack in stacks if stack.core == "softmax"]:
        yield Check("the weights of a query sum to 1", measures.rows_off(trace, summing), rounding)
    if unbroken := [name for name, stack in stacks if stack.placement in ("pre", "sandwich")]:
        found = measures.stream_off(lm, trace, unbroken)
        yield Check("the branches add up to the residual stream", found, rounding)
    if adding := [name for name, stack in stacks if stack.positions.scheme in ADDED]:
        found = measures.added_off(lm, ids, trace, adding)
        yield Check("what a position adds is the same for every token", found, rounding)
    if relative := [name for name, stack in stacks if stack.positions.scheme not in ADDED]:
        found = measures.shift_off(lm, trace, relative)
        yield Check("of positions only distances count", found, rounding)


def made_up(lm: LanguageModel) -> Shaped[Tensor, "*one"]:
    """Ids over the whole vocabulary, few enough to leave room for padding; or an image, from black to white."""
    if patches := lm.config.patches:
        shape = patches.height, patches.width, patches.channels
        return torch.linspace(0, 1, math.prod(shape), dtype=lm.dtype, device=lm.device).reshape(shape)
    length = max(1, min(LENGTH, lm.max_len // 2))
    return torch.linspace(0, lm.config.vocab_size - 1, length, device=lm.device).long()
