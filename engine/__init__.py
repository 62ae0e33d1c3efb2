"""The engine: real Transformers whose every intermediate value can be read.

    import engine
    lm = engine.load("smollm2-135m")
    trace = lm.trace("The animal didn't cross the street")
    trace["decoder.layers.13.self_attention.weights"]      # (batch, head, query, key)

    from engine.capture import capture
    with capture("*.weights") as trace:                    # the same around any model that runs inside
        lm.model(ids)

Axes, in the order in which they always stand:

    batch    texts read together
    head     attention heads; kv_head where several of them share one key and one value
    query    positions that look
    key      positions that are looked at
    pos      positions of a stack, where nobody looks at anybody
    d_model  width of the residual stream
    d_k      width of one head's query, key and value
    d_ff     hidden width of the feed-forward layer
    vocab    the tokens a model knows
    class    the classes it tells apart

Reading order: config (what a model is), model/build (how it is put together), model/attention (the heart),
then positions, masks, norms, feed_forward, stack, transformer and cache beside it; capture (how values get
out); tokenizers and decoding (text in, text out); language_model (all of it behind one face); verify.

Names resolve on first use, so that importing one part imports nothing but that part.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.config import TransformerConfig as TransformerConfig
    from engine.decoding import Sampling as Sampling
    from engine.language_model import LanguageModel as LanguageModel
    from engine.language_model import load as load
    from engine.model.build import build as build

_HOME = {
    "LanguageModel": "engine.language_model",
    "Sampling": "engine.decoding",
    "TransformerConfig": "engine.config",
    "build": "engine.model.build",
    "load": "engine.language_model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
