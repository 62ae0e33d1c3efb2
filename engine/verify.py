"""What must hold for every model, computed on the model at hand: `for check in verify(lm): print(check)`.

What should be equal is compared relative to the largest number; what must be exactly so has bound 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.capture import Trace, capture
from engine.language_model import LanguageModel
from engine.model.attention import Attention
from engine.model.transformer import EncoderDecoder

LENGTH = 12  # tokens of the text that is made up where none is given
ROUNDING = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}


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
    """Every invariant that applies to this model, on a text or on tokens spread over its vocabulary."""
    ids = lm.batch(lm.encode(text).ids)[0] if text else spread(lm)
    rounding = ROUNDING[lm.dtype]
    with capture(names=()):
        explicit = read(lm, ids)
    with capture() as trace:
        heard = read(lm, ids)
    checks = [
        Check("listening changes nothing", float((heard - explicit).abs().max()), 0.0),
        Check("the fused and the explicit path agree", apart(read(lm, ids), explicit), rounding),
        Check("the weights of a query sum to 1", rows_off(trace), rounding),
        Check("hidden keys weigh nothing", hidden_weight(trace), 0.0),
        Check("the heads add up to the output", heads_off(lm, trace), rounding),
        Check("padding changes nothing", padding_off(lm, ids), rounding),
    ]
    if lm.config.decoder:
        checks.append(Check("a later token leaves earlier ones alone", leak(lm, ids), 0.0))
    if any(stack.placement == "pre" for stack in lm.config.stacks.values()):
        checks.append(Check("the branches add up to the residual stream", stream_off(lm, trace), rounding))
    return checks


def spread(lm: LanguageModel) -> Int[Tensor, " pos"]:
    """Ids over the whole vocabulary, few enough to leave room for padding."""
    length = max(1, min(LENGTH, lm.max_len // 2))
    return torch.linspace(0, lm.config.vocab_size - 1, length, device=lm.device).long()


def read(
    lm: LanguageModel, ids: Int[Tensor, " pos"], length: int | None = None, target: Tensor | None = None
) -> Float[Tensor, "read out"]:
    """What the model makes of ids, `length` of them real; an encoder-decoder reads them as target too."""
    lengths = None if length is None else torch.tensor([length], device=ids.device)
    if isinstance(lm.model, EncoderDecoder):
        return lm.model(ids[None], (ids if target is None else target)[None], lengths)[0]
    return lm.model(ids[None], lengths)[0]


def apart(one: Tensor, other: Tensor) -> float:
    """Largest difference, relative to the largest number."""
    return float(
        (one - other).abs().max() / torch.maximum(one.abs().max(), other.abs().max()).clamp_min(1e-30)
    )


def rows_off(trace: Trace) -> float:
    """How far from 1 the weights of any query that may look somewhere sum up to."""
    worst = 0.0
    for name, weights in ending(trace, ".weights"):
        sees = trace[name.replace("weights", "visible")].any(-1)[:, None]  # (batch, 1, query)
        worst = max(worst, float(((weights.sum(-1) - 1).abs() * sees).max()))
    return worst


def hidden_weight(trace: Trace) -> float:
    """The largest weight on a key that its query may not look at."""
    return max(
        float((weights * ~trace[name.replace("weights", "visible")][:, None]).max())
        for name, weights in ending(trace, ".weights")
    )


def heads_off(lm: LanguageModel, trace: Trace) -> float:
    """How far sum over heads of z_h W_O^h, plus the bias, is from what the sub-layer gave."""
    worst = 0.0
    for name, z in ending(trace, ".z"):
        attention = lm.model.get_submodule(name.removesuffix(".z"))
        assert isinstance(attention, Attention)
        per_head = attention.W_o.weight.unflatten(1, (z.shape[1], -1))  # (d_model, head, d_k)
        total = torch.einsum("bhqd,mhd->bqm", z, per_head)
        if attention.W_o.bias is not None:
            total = total + attention.W_o.bias
        worst = max(worst, apart(total, trace[name.removesuffix("z") + "out"]))
    return worst


def stream_off(lm: LanguageModel, trace: Trace) -> float:
    """How far the embedding plus every branch is from the end of the stream, in Pre-Norm stacks."""
    worst = 0.0
    for stack, settings in lm.config.stacks.items():
        if settings.placement == "pre":
            branches = [value for name, value in ending(trace, ".branch") if name.startswith(stack)]
            total = trace[f"{stack}.layers.0.self_attention_residual.resid_pre"] + sum(branches)
            end = trace[f"{stack}.layers.{settings.n_layers - 1}.feed_forward_residual.resid_post"]
            worst = max(worst, apart(total, end))
    return worst


def leak(lm: LanguageModel, ids: Int[Tensor, " pos"]) -> float:
    """How much the last token changes what the decoder computes before it."""
    other = ids.clone()
    other[-1] = (ids[-1] + 1) % lm.config.vocab_size
    changed = read(lm, ids, target=other) if lm.config.encoder else read(lm, other)
    return float((changed - read(lm, ids))[:-1].abs().sum())


def padding_off(lm: LanguageModel, ids: Int[Tensor, " pos"]) -> float:
    """How much filling the text up, with any token, changes what is computed for the real ones."""
    filling = ids[: lm.max_len - len(ids)].flip(0)[:3]
    padded = read(lm, torch.cat([ids, filling]), length=len(ids), target=ids)
    return apart(padded[: len(ids)], read(lm, ids, length=len(ids)))


def ending(trace: Trace, suffix: str) -> Iterator[tuple[str, Tensor]]:
    return ((name, value) for name, value in trace.items() if name.endswith(suffix))
