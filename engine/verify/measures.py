"""How far a model is from what must hold: one number for each invariant, not a number where the model computes none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from engine.capture import Trace, capture
from engine.language_model import LanguageModel
from engine.model.attention import Attention
from engine.model.cache import KVCache
from engine.model.stack import Stack
from engine.model.transformer import EncoderDecoder, EncoderOnly

SHIFT = 7  # positions


def read(
    lm: LanguageModel, ids: Shaped[Tensor, "*one"], length: int | None = None, target: Tensor | None = None
) -> Float[Tensor, "read out"]:
    """What the model makes of ids, `length` of them real, or of one image; an encoder-decoder reads ids as target too,
    and a classifier's logits are one row.
    """
    lengths = None if length is None else torch.tensor([length], device=ids.device)
    if isinstance(lm.model, EncoderDecoder):
        return lm.model(ids[None], (ids if target is None else target)[None], lengths)[0]
    return torch.atleast_2d(lm.model(ids[None], lengths)[0])


def largest(values: Iterable[Tensor]) -> float:
    """The largest size of any number in there; not a number, if one is not."""
    return float(torch.stack([value.abs().max() for value in values]).max())


def apart(one: Tensor, other: Tensor) -> float:
    """Largest difference, relative to the largest number."""
    return largest([one - other]) / max(largest([one, other]), 1e-30)


def rows_off(trace: Trace, stacks: Sequence[str]) -> float:
    """How far from 1 the weights of any query that may look somewhere sum up to."""
    return largest(
        (weights.sum(-1) - 1)
        * trace[name.replace("weights", "visible")].any(-1)[:, None]  # (batch, 1, query)
        for name, weights in ending(trace, ".weights")
        if name.startswith(tuple(stacks))
    )


def hidden_weight(trace: Trace) -> float:
    """The largest weight on a key that its query may not look at."""
    return largest(
        weights * ~trace[name.replace("weights", "visible")][:, None]
        for name, weights in ending(trace, ".weights")
    )


def heads_off(lm: LanguageModel, trace: Trace) -> float:
    """How far sum over heads of z_h W_O^h, plus the bias, is from what the sub-layer gave."""
    found = []
    for name, z in ending(trace, ".z"):
        attention = lm.model.get_submodule(name.removesuffix(".z"))
        assert isinstance(attention, Attention)
        per_head = attention.W_o.weight.unflatten(1, (z.shape[1], -1))  # (d_model, head, d_k)
        total = torch.einsum("bhqd,mhd->bqm", z, per_head)
        if attention.W_o.bias is not None:
            total = total + attention.W_o.bias
        found.append(apart(total, trace[name.removesuffix("z") + "out"]))
    return worst(found)


def stream_off(lm: LanguageModel, trace: Trace, stacks: Sequence[str]) -> float:
    """How far what entered the first layer plus every branch is from the end of the stream."""
    found = []
    for stack in stacks:
        branches = [value for name, value in ending(trace, ".branch") if name.startswith(stack)]
        total = trace[f"{stack}.layers.0.self_attention_residual.resid_pre"] + sum(branches)
        *_, end = (value for name, value in ending(trace, ".resid_post") if name.startswith(stack))
        found.append(apart(total, end))
    return worst(found)


def leak(lm: LanguageModel, ids: Int[Tensor, " pos"]) -> float:
    """How much the last token changes what the decoder computes before it."""
    other = ids.clone()
    other[-1] = (ids[-1] + 1) % lm.config.vocab_size
    changed = read(lm, ids, target=other) if lm.config.encoder else read(lm, other)
    return float((changed - read(lm, ids))[:-1].abs().sum())


def cache_off(lm: LanguageModel, ids: Int[Tensor, " pos"]) -> float:
    """How far reading a third at once and the rest token by token is from reading all at once."""
    model, cache = lm.model, KVCache()
    assert not isinstance(model, EncoderOnly)
    reads = (
        partial(model.decode, memory=model.encode(ids[None])) if isinstance(model, EncoderDecoder) else model
    )
    first, *rest = ids.split([len(ids) - len(ids) * 2 // 3, *[1] * (len(ids) * 2 // 3)])
    pieces = [reads(piece[None], cache=cache) for piece in (first, *rest)]
    return apart(torch.cat(pieces, dim=1)[0], read(lm, ids))


def added_off(lm: LanguageModel, ids: Shaped[Tensor, "*one"], trace: Trace, stacks: Sequence[str]) -> float:
    """How much what is added to the embeddings at a position depends on the token that stands there."""
    with capture(["*.embed", "*.position"]) as other:
        read(lm, ids.flip(0))
    pairs = [(f"{stack}.position", f"{stack}.embed") for stack in stacks]
    return worst(
        largest([(trace[after] - trace[before]) - (other[after] - other[before])]) / largest([trace[after]])
        for after, before in pairs
    )


def shift_off(lm: LanguageModel, trace: Trace, stacks: Sequence[str]) -> float:
    """How much the first layer's attention changes when every token stands a few positions further on."""
    found = []
    for name in stacks:
        stack, x = lm.model.get_submodule(name), trace[f"{name}.layers.0.self_attention_residual.normed"]
        assert isinstance(stack, Stack)
        here, attention = stack.given(x)[0][0], stack.layers[0].get_submodule("self_attention")
        at_q, at_k = here.at_q + SHIFT, here.at_k + SHIFT
        there = replace(here, at_q=at_q, at_k=at_k, turn=stack.positions.turn(at_q, x))
        found.append(apart(attention(x, x, there), attention(x, x, here)))
    return worst(found)


def padding_off(lm: LanguageModel, ids: Int[Tensor, " pos"]) -> float:
    """How much filling the text up, with any token, changes what is computed for the real ones."""
    filling = ids[: lm.max_len - len(ids)].flip(0)[:3]
    padded = read(lm, torch.cat([ids, filling]), length=len(ids), target=ids)
    return apart(padded[: len(ids)], read(lm, ids, length=len(ids)))


def worst(found: Iterable[float]) -> float:
    """The largest; not a number, if one is not, which `max` would pass over."""
    return largest([torch.tensor([*found], dtype=torch.float64, device="cpu")])


def ending(trace: Trace, suffix: str) -> Iterator[tuple[str, Tensor]]:
    return ((name, value) for name, value in trace.items() if name.endswith(suffix))
