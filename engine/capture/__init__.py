"""Taps: how intermediate values get out of a model, and edits: how others get in.

A module owns a `Tap` for each value worth seeing and passes the value through it. A ContextVar says whether
anybody listens, so a model shared by threads has nothing to mix up, and a tap without a listener costs
less than a tenth of a microsecond. A tap is a plain object, not a module: it adds nothing to state dict or call stack.

    with capture("*.weights", edits={"decoder.layers.0.self_attention.z": zero_head(1)}) as trace:
        model(ids)
    trace["decoder.layers.0.self_attention.weights"]

tap       Tap: a point of interest
trace     Trace: what was heard, by name
listener  capture(): who listens, and what of it is kept and changed

Edits that are known by names and numbers alone, such as zero_head, are in engine/edits.py.
"""

from __future__ import annotations

from engine.capture.listener import capture
from engine.capture.tap import Tap, listening, name_taps, taps
from engine.capture.trace import Edit, Trace, UnheardError, as_numpy

__all__ = ["Edit", "Tap", "Trace", "UnheardError", "as_numpy", "capture", "listening", "name_taps", "taps"]
