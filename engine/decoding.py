"""Writing token by token. A generator of steps: whoever asks for the next one may stop at any time.

`read` maps ids (batch, pos) to logits (batch, pos, vocab): a decoder-only model as it is, or `decode` of an
encoder-decoder with its memory. The prompts of one batch have equal length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

Stop = Literal["end", "length", "full"]
Read = Callable[[Int[Tensor, "batch pos"]], Float[Tensor, "batch pos vocab"]]


@dataclass(frozen=True)
class Step:
    """One more token for each text of the batch; the last step says why it is the last.

    stop: "end" (every text wrote EOS), "length" (as many tokens as asked for), "full" (the model's limit).
    """

    ids: Int[Tensor, " batch"]
    logits: Float[Tensor, "batch vocab"]
    stop: Stop | None


def greedy(
    read: Read, ids: Int[Tensor, "batch pos"], *, max_new_tokens: int, max_len: int, eos_id: int | None = None
) -> Iterator[Step]:
    """The likeliest token each time. A text that has ended goes on with EOS until the others have.

    Yields nothing when there is room for nothing: max_new_tokens is 0 or the prompt already fills max_len.
    """
    ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    last = min(max_new_tokens, max_len - ids.shape[1])
    for number in range(1, last + 1):
        with torch.no_grad():
            logits = read(ids)[:, -1]
        chosen = logits.argmax(dim=-1)
        if eos_id is not None:
            chosen = chosen.masked_fill(ended, eos_id)
            ended = ended | (chosen == eos_id)
        stop = (
            "end"
            if ended.all()
            else None
            if number < last
            else "length"
            if last == max_new_tokens
            else "full"
        )
        yield Step(chosen, logits, stop)
        if stop:
            return
        ids = torch.cat([ids, chosen[:, None]], dim=1)
