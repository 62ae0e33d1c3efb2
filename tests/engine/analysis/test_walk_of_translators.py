"""The walk through heads of encoder-decoders: a bias where T5 has one, a division where Marian divides."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.analysis.head_walk import HeadWalk, walk_head
from engine.figures.beats import Step, steps
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import LIGHT
from tests.engine.pretrained import translators
from tests.engine.pretrained.checkpoints import save

KINDS = ("self", "masked", "cross")


@pytest.fixture(scope="module", params=["t5", "marian"])
def model(request, tmp_path_factory):
    lm = engine.load(save(getattr(translators, request.param)(), tmp_path_factory.mktemp(request.param)))
    return request.param, lm, lm.trace("w3 w17 w5 w5 w29", "w8 w22 w4")


def walk(model, kind: str, query: int = 2, layer: int = 1) -> HeadWalk:
    _, lm, trace = model
    return walk_head(lm, trace, kind=kind, layer=layer, head=1, query=query, focus=0)


def beat(made: HeadWalk, name: str) -> Step:
    return next(step for step in steps(made, str) if step.name == name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_follows_from_the_ones_before(model, kind):
    made = walk(model, kind)
    np.testing.assert_allclose(made.products.sum(axis=1), made.scores, atol=1e-5)
    np.testing.assert_allclose(made.scores * made.scale, made.scaled, atol=1e-6)
    added = made.scaled if made.bias is None else made.scaled + made.bias
    seen = [not why for why in made.hidden]
    np.testing.assert_allclose(added[seen], made.masked[seen], atol=1e-6)
    np.testing.assert_allclose(made.positive / made.total, made.weights, atol=1e-6)
    np.testing.assert_allclose(made.weighted.sum(axis=0), made.z, atol=1e-6)


@pytest.mark.parametrize("model", ["t5"], indirect=True)
def test_t5_adds_its_bias_in_both_stacks_and_divides_nowhere(model):
    _, lm, _ = model
    both, causal, cross = (walk(model, kind) for kind in KINDS)
    assert (both.scale, causal.scale, cross.scale) == (1.0, 1.0, 1.0)
    encoder, decoder = (lm.parameter(f"{stack}.positions.table.weight") for stack in ("encoder", "decoder"))
    # keys 0..4 from query 2, of 8 buckets 4 for each side: two with a distance each, one from 2 on
    assert both.bias is not None
    assert causal.bias is not None
    np.testing.assert_allclose(both.bias, encoder[[2, 1, 0, 5, 6], 1], atol=1e-5)
    np.testing.assert_allclose(causal.bias[:3], decoder[[2, 1, 0], 1], atol=1e-5)
    assert cross.bias is None
    for made in (both, causal, cross):
        said = [beat(made, "9"), beat(made, "5" if made.bias is None else "5a")]
        assert said[1].title == "No division by √d_k"
        assert not any("√" in text for step in said for text, _ in step.equation)
    assert [step.name for step in steps(both, str)].count("5a") == 1
    assert "".join(text for text, _ in beat(causal, "9").equation).startswith(
        "A = softmax(Q Kᵀ + bias + mask)"
    )
    assert "".join(text for text, _ in beat(cross, "9").equation).startswith("A = softmax(Q Kᵀ)")


@pytest.mark.parametrize("model", ["marian"], indirect=True)
def test_marian_divides_by_the_root_of_each_stacks_own_width(model):
    for kind, d_k in zip(KINDS, (8, 6, 6), strict=True):
        made = walk(model, kind)
        assert made.bias is None
        assert made.scale == pytest.approx(d_k**-0.5)
        assert f" / √{d_k} = " in [text for text, _ in beat(made, "5").equation]
        assert made.normed_after


def test_a_decoder_begins_with_pad_and_asks_a_source_of_another_length(model):
    family, *_ = model
    made = walk(model, "cross")
    assert made.query_tokens[0].label == {"t5": "w0", "marian": "w39"}[family]
    assert made.matrix.shape == (4, 5)
    assert set(made.hidden) == {""}
    masked = walk(model, "masked", query=1)
    assert masked.hidden == ("", "", "future", "future")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["wide", "narrow"])
def test_it_can_be_drawn(model, kind, form):
    spec = ledger_spec(walk(model, kind), theme=LIGHT, form=FORMATS[form], translate=str)
    assert len(spec["frames"]) == len(spec["layout"]["meta"]["steps"])
