"""The walk of one head: every number follows from the ones before it, and from hand-made weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine.analysis.glance import glance
from engine.analysis.head_walk import columns, walk_head
from engine.config import AtlasError, Linear, Rope
from tests.engine import recipes


@pytest.fixture(scope="module")
def pocket():
    lm = engine.load("pocket")
    return walk_head(lm, lm.trace("the cat sat"), kind="masked", layer=0, head=0, query=2, focus=1)


def walk_of(
    config, text: str, kind: str, query: int, head: int = 0, target: str | None = None, layer: int = 1
):
    lm = recipes.language_model(config)
    return walk_head(lm, lm.trace(text, target), kind=kind, layer=layer, head=head, query=query, focus=0)


def test_pocket_by_hand(pocket):
    # sat = (0, 1, 0, 0), so q = column 1 of W_q = (2, 0, 0, 1); k(the) = (1, 2, 0, 0), k(cat) = (2, 0, 1, 0),
    # k(sat) = (0, 0, 0, -1). v(the) = (0, 0, 0, 1), v(cat) = (1, 0, 1, 0), v(sat) = 0.
    assert pocket.q.tolist() == [2, 0, 0, 1]
    assert pocket.k.tolist() == [[1, 2, 0, 0], [2, 0, 1, 0], [0, 0, 0, -1]]
    assert pocket.products.tolist() == [[2, 0, 0, 0], [4, 0, 0, 0], [0, 0, 0, -1]]
    assert pocket.scores.tolist() == [2, 4, -1]
    assert pocket.scaled.tolist() == [1, 2, -0.5]
    assert pocket.top == 2
    total = math.exp(-1) + 1 + math.exp(-2.5)
    np.testing.assert_allclose(pocket.positive, [math.exp(-1), 1, math.exp(-2.5)], rtol=1e-12)
    np.testing.assert_allclose(pocket.total, total, rtol=1e-12)
    np.testing.assert_allclose(pocket.weights, [0.25371618, 0.68967210, 0.05661172], atol=1e-7)
    np.testing.assert_allclose(pocket.z, [1 / total, 0, 1 / total, math.exp(-1) / total], rtol=1e-6)
    np.testing.assert_allclose(pocket.weighted.sum(axis=0), pocket.z, rtol=1e-6)
    np.testing.assert_allclose(pocket.resid_pre + pocket.out, pocket.resid_post, rtol=1e-6)
    assert pocket.bias is None
    assert pocket.rotation is None


def at(place: tuple[int, ...], number: float):
    """An edit of one number."""

    def edit(value, _):
        value[place] = number
        return value

    return edit


@pytest.mark.parametrize(
    ("tap", "place", "number", "said"),
    [
        ("scores", (0, 0, 2, 1), math.nan, "scores holds NaN"),
        ("scores", (0, 0, 2, 1), math.inf, "scores holds ∞"),
        ("masked", (0, 0, 2, 1), math.nan, "masked holds NaN"),
        ("v", (0, 0, 1, 3), math.nan, "v holds NaN"),
        ("weights", (0, 0, 0, 0), math.nan, "weights holds NaN"),  # of another query: seen in the matrix
    ],
)
def test_what_is_no_number_is_not_drawn(tap, place, number, said):
    lm, path = engine.load("pocket"), "decoder.layers.0.self_attention"
    trace = lm.trace("the cat sat", edits={f"{path}.{tap}": at(place, number)})
    with pytest.raises(AtlasError) as refused:
        walk_head(lm, trace, kind="masked", layer=0, head=0, query=2, focus=1)
    assert str(refused.value) == (
        f"{path}.{said}, of which nothing can be drawn: look for a weight or an edit that is no number, or load the "
        "model in another dtype"
    )


def test_a_model_of_nan_is_not_drawn():
    lm = engine.load("pocket")
    for parameter in lm.model.parameters():
        parameter.data.fill_(math.nan)
    trace = lm.trace("the cat sat")
    with pytest.raises(AtlasError, match=r"^decoder\.layers\.0\.self_attention\.k holds NaN, of which"):
        walk_head(lm, trace, kind="masked", layer=0, head=0, query=2, focus=1)
    with pytest.raises(AtlasError, match=r"^decoder\.layers\.0\.self_attention\.weights holds NaN, of which"):
        glance(lm, trace, "masked", 0, 0)


def test_what_is_hidden_has_a_reason():
    walk = walk_of(recipes.llama(), "abcdef", "masked", query=2)
    assert walk.hidden == ("", "", "", "future", "future", "future")
    assert np.isneginf(walk.masked[3:]).all()
    assert walk.weights[3:].tolist() == [0, 0, 0]
    windowed = walk_of(recipes.llama(window=1), "abcdef", "masked", query=3)
    assert windowed.hidden == ("window", "window", "", "", "future", "future")
    mixed = recipes.llama(window=1, full_layers=(0,))
    for layer, hidden in enumerate([("", "", "", "", "future"), ("window", "window", "", "", "future")]):
        assert walk_of(mixed, "abcde", "masked", query=3, layer=layer).hidden == hidden


def test_keys_of_a_shared_head_are_the_group_s():
    first, second, third = (walk_of(recipes.llama(), "abcdef", "masked", 3, head=head) for head in (0, 1, 2))
    assert (first.place.kv_head, second.place.kv_head, third.place.kv_head) == (0, 0, 1)
    assert np.array_equal(first.k, second.k)
    assert not np.array_equal(first.k, third.k)


def test_rotation_turns_pairs_by_position_times_frequency():
    walk = walk_of(recipes.llama(), "abcdef", "masked", query=5)
    half = len(walk.q) // 2
    assert walk.rotation is not None
    assert walk.rotation.frequencies.tolist() == pytest.approx(
        [1.0, 0.01], rel=1e-7
    )  # d_k 4: 10000^0, 10000^(-1/2)
    assert walk.rotation.stretched.tolist() == [1.0, 1.0]
    for position, (before, after) in enumerate(zip(walk.k, walk.rotation.k, strict=True)):
        turned = (before[:half] + 1j * before[half:]) * np.exp(1j * position * walk.rotation.frequencies)
        np.testing.assert_allclose(after[:half] + 1j * after[half:], turned, atol=1e-6)
    np.testing.assert_allclose(walk.products.sum(axis=1), walk.scores, atol=1e-5)


def test_a_part_that_is_turned_and_stretched_frequencies():
    config = recipes.llama(d_k=8)
    decoder = config.stacks["decoder"].model_copy(
        update={"positions": Rope(fraction=0.5, scaling=Linear(factor=4))}
    )
    walk = walk_of(config.model_copy(update={"decoder": decoder}), "abcdef", "masked", query=5)
    assert walk.rotation is not None
    assert walk.rotation.frequencies.tolist() == pytest.approx(
        [0.25, 0.0025], rel=1e-6
    )  # a quarter of 1 and 0.01
    assert walk.rotation.stretched.tolist() == pytest.approx([4.0, 4.0], rel=1e-6)
    for position, (before, after) in enumerate(zip(walk.k, walk.rotation.k, strict=True)):
        turned = (before[:2] + 1j * before[2:4]) * np.exp(1j * position * walk.rotation.frequencies)
        np.testing.assert_allclose(after[:2] + 1j * after[2:4], turned, atol=1e-6)
        assert np.array_equal(after[4:], before[4:])


def test_cross_attention_reads_the_encoder_and_asks_from_the_decoder():
    walk = walk_of(recipes.vaswani(), "abcde", "cross", query=1, target="fg", layer=0)
    assert [token.label for token in walk.key_tokens][:5] == list("abcde")
    assert "f" in [token.label for token in walk.query_tokens]
    assert walk.matrix.shape == (len(walk.query_tokens), len(walk.key_tokens))
    assert set(walk.hidden) == {""}


def test_shares_of_the_heads_add_up_to_the_output():
    walk = walk_of(recipes.bert(), "abc", "self", query=1)
    lm = recipes.language_model(recipes.bert())
    path = "encoder.layers.1.self_attention.W_o"
    w_o = lm.model.get_parameter(f"{path}.weight").detach().double().numpy()
    bias = lm.model.get_parameter(f"{path}.bias").detach().double().numpy()
    parts = [w_o[:, h * 4 : h * 4 + 4] @ walk.heads[h] for h in range(4)]
    np.testing.assert_allclose(sum(parts) + bias, walk.out, atol=1e-6)
    np.testing.assert_allclose(walk.shares, [np.linalg.norm(part) for part in parts], rtol=1e-6)
    assert walk.normed_after


def test_of_many_keys_a_window_around_the_focus_has_columns():
    assert columns(40, 39) == tuple(range(40))
    assert columns(100, 0) == tuple(range(32))
    assert columns(100, 50) == tuple(range(34, 66))
    assert columns(100, 99) == tuple(range(68, 100))


def test_a_long_text_keeps_the_whole_row_s_sum():
    lm = recipes.language_model(recipes.llama().model_copy(update={"max_len": 128}))
    walk = walk_head(lm, lm.trace("abcdefgh" * 10), kind="masked", layer=1, head=0, query=79, focus=70)
    assert len(walk.shown) == 32
    assert walk.row_sum == pytest.approx(1, abs=1e-6)
    assert walk.weights.sum() + walk.elsewhere == pytest.approx(1, abs=1e-6)
    assert walk.positive.sum() < walk.total
    whole = lm.layer_trace(lm.trace("abcdefgh" * 10), "decoder", 1)["decoder.layers.1.self_attention.scores"]
    assert walk.score_range == (whole[0, 0, 79].min().item(), whole[0, 0, 79].max().item())
    assert walk.scaled_range == pytest.approx([value / 2 for value in walk.score_range])  # d_k is 4


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kind": "cross"}, "has no cross attention; it has: masked$"),
        ({"layer": 2}, "layer 2 does not exist: there are 2"),
        ({"head": 4}, "head 4 does not exist: there are 4"),
        ({"query": 9}, "query 9 does not exist: there are 3"),
        ({"focus": -1}, "key -1 does not exist: there are 3"),
    ],
)
def test_what_is_not_there_is_refused_by_name(changes, sentence):
    lm = recipes.language_model(recipes.llama())
    asked = {"kind": "masked", "layer": 0, "head": 0, "query": 0, "focus": 0} | changes
    with pytest.raises(AtlasError, match=sentence):
        walk_head(lm, lm.trace("abc"), **asked)
