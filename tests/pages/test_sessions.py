"""Several people at once: what one of them changes is on nobody else's screen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from streamlit.testing.v1 import AppTest

import engine
from pages.components import resources, weights

QUERY = "decoder.layers.0.self_attention.W_q.weight"


def drawn(app: AppTest) -> bytes:
    """The figure as it travels to the browser."""
    return next(
        one.proto.bytes for one in app.get("bidi_component") if one.proto.component_name == "atlas_plot"
    )


def test_edited_weights_are_those_of_one_session(open_app: Callable[..., AppTest]) -> None:
    """Scores of a query that is nothing are all 0; everybody else's stay what they were."""
    link = {"model": "pocket", "text": "the cat sat", "lang": "en"}
    one, other = open_app("attention", **link), open_app("attention", **link)
    before = drawn(other)
    assert drawn(one) == before
    one = open_app("attention", **link, weights=weights.write({QUERY: [0.0] * 16}))
    assert not one.exception
    assert drawn(one) != before
    other.selectbox(key="atlas-query").set_value(0).run()
    other.selectbox(key="atlas-query").set_value(2).run()
    assert drawn(other) == before
    np.testing.assert_array_equal(
        resources.model("pocket").parameter(QUERY), engine.load("pocket").parameter(QUERY)
    )


def test_nobodys_model_is_made_to_learn_or_to_forget(open_app: Callable[..., AppTest]) -> None:
    """What sessions share is looked at only: it drops nothing out and its weights are the shipped ones."""
    for text in ("3 June 2025", "4 mai 1999"):
        assert not open_app("attention", model="dates", text=text, lang="en").exception
    shared, fresh = resources.model("dates").model, engine.load("dates").model
    assert not shared.training
    for name, value in fresh.state_dict().items():
        np.testing.assert_array_equal(shared.state_dict()[name].numpy(), value.numpy())
