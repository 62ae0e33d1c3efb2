"""One head at a glance: the captured weights, between the right tokens."""

from __future__ import annotations

import numpy as np
import pytest

from engine.analysis.glance import glance
from engine.config import AtlasError
from engine.language_model import load


def test_cross_attention_of_dates() -> None:
    lm = load("dates")
    trace = lm.trace("3 June 2025")
    info = glance(lm, trace, "cross", layer=0, head=3)
    assert "".join(info.keys).replace("␣", " ").replace("·", " ") == "3 June 2025"
    assert len(info.queries) == len(trace.texts["decoder"])
    assert (info.weights == trace["decoder.layers.0.cross_attention.weights"][0, 3].numpy()).all()
    assert info.visible.all()
    assert info.place.path == "decoder.layers.0.cross_attention"


def test_what_is_masked_is_not_visible() -> None:
    lm = load("dates")
    info = glance(lm, lm.trace("3 June 2025"), "masked", layer=0, head=0)
    assert info.queries == info.keys
    assert (info.visible == np.tri(len(info.keys), dtype=bool)).all()


def test_a_head_that_is_not_there_is_refused() -> None:
    lm = load("dates")
    with pytest.raises(AtlasError, match="head 4 does not exist"):
        glance(lm, lm.trace("3 June 2025"), "cross", layer=0, head=4)
