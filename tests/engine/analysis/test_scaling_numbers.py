"""Why scores are divided: counted by hand on few numbers, measured elsewhere on many, and found again in real heads."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine.analysis.head_place import locate
from engine.analysis.scaling import Decided, decided, dot_products, head_scores, over_widths, softmax
from engine.analysis.scaling_charts import of_head, spread
from engine.config import Alibi, AtlasError
from tests.engine import recipes


def test_softmax_by_hand():
    weights = softmax(np.log([[1.0, 3.0], [5.0, 5.0]]))
    np.testing.assert_allclose(weights, [[0.25, 0.75], [0.5, 0.5]], rtol=1e-12)
    assert softmax(np.array([[1000.0, 0.0], [-np.inf, -np.inf], [-np.inf, 2.0]])).tolist() == [
        [1, 0],
        [0, 0],
        [0, 1],
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0.25, 0.25, 0.25, 0.25], (1.0, 0.25, 0.0, 0.75)),
        ([0.5, 0.5, 0.0, 0.0], (0.5, 0.5, 0.0, 0.5)),  # ln 2 of ln 4
        ([0.0, 1.0, 0.0, 0.0], (0.0, 1.0, 1.0, 0.0)),
    ],
)
def test_how_decided_a_row_is(row, expected):
    found = decided(np.array([row]))
    assert (found.entropy, found.largest, found.saturated, found.jacobian) == pytest.approx(
        expected, abs=1e-12
    )


def test_only_rows_that_have_a_choice_are_counted():
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    causal = np.tril(np.ones((3, 3), bool))[:2]
    assert decided(weights, causal) == Decided(1.0, 0.5, 0.0, 0.5)  # the first sees itself alone
    assert math.isnan(decided(weights[:1], causal[:1]).entropy)


def test_dot_products_have_the_variance_d_k():
    dots = dot_products(64, 32, seed=0)
    assert dots.shape == (500, 32)
    assert dots.std() == pytest.approx(8, rel=0.03)
    assert not np.array_equal(dots, dot_products(64, 32, seed=1))
    assert np.array_equal(dots, dot_products(64, 32, seed=0))


def test_what_becomes_of_the_softmax_as_it_was_measured_with_another_program():
    # d_k: entropy and trace of the Jacobian without the scale, and share of saturated rows; 32 keys, 2,000 queries
    measured = {
        16: (0.33, 0.50, 0.03),
        64: (0.14, 0.26, 0.23),
        256: (0.06, 0.12, 0.54),
        512: (0.04, 0.087, 0.64),
    }
    found = over_widths(32, 0, tuple(measured))
    for bare, scaled, expected in zip(found.bare, found.scaled, measured.values(), strict=True):
        assert (bare.entropy, bare.jacobian, bare.saturated) == pytest.approx(expected, abs=0.05)
        assert (scaled.entropy, scaled.jacobian, scaled.saturated) == pytest.approx(
            (0.87, 0.93, 0.0), abs=0.02
        )
    assert found.variance == pytest.approx([16, 64, 256, 512], rel=0.1)


def test_the_histogram_is_a_density_beside_the_normal_one():
    chart = spread(dot_products(64, 32, seed=0), 64)
    bare, scaled, theory = chart.series
    width = bare.x[1] - bare.x[0]
    assert bare.y.sum() * width == pytest.approx(1, abs=1e-3)  # within four standard deviations
    assert scaled.y.sum() * width == pytest.approx(1, abs=1e-9)
    assert theory.y.max() == pytest.approx(0.39894228 / 8, rel=1e-6)  # 1 / sqrt(2 pi 64)
    assert np.abs(bare.y - theory.y).max() < 0.005


@pytest.mark.parametrize(
    ("name", "text", "kind"), [("dates", "June 3, 2025", "cross"), ("induction", "abcabc", "masked")]
)
def test_a_head_has_its_own_weights_with_its_own_divisor(name, text, kind):
    lm = engine.load(name)
    place = locate(lm, kind, 0, 1)
    trace = lm.trace(text)
    head = head_scores(lm, trace, place)
    assert head.divisor == pytest.approx(math.sqrt(lm.config.stacks[place.stack].d_k))
    captured = trace.array(f"{place.path}.weights", 0, 1)
    np.testing.assert_allclose(head.weights(head.divisor), captured, atol=1e-6)
    hidden = ~head.visible
    assert (head.weights(1.0)[hidden] == 0).all()


def test_what_is_added_after_scaling_is_not_divided_again():
    lm = recipes.language_model(recipes.config(decoder=recipes.stack(positions=Alibi())))
    place, trace = locate(lm, "masked", 1, 2), lm.trace("abcdef")
    head = head_scores(lm, trace, place)
    np.testing.assert_allclose(
        head.weights(head.divisor), trace.array(f"{place.path}.weights", 0, 2), atol=1e-6
    )
    # of scores divided by very much only the bias is left: ALiBi's line, steeper for this head than 0
    row = head.weights(1e9)[5]
    slopes = np.diff(np.log(row))
    assert slopes == pytest.approx([slopes[0]] * 5, rel=1e-5)
    assert slopes[0] > 0


def test_a_core_without_a_softmax_is_refused():
    lm = recipes.language_model(recipes.config(decoder=recipes.stack(core="relu")))
    with pytest.raises(AtlasError, match="the weights of Toy are no softmax"):
        head_scores(lm, lm.trace("abc"), locate(lm, "masked", 0, 0))


def test_divisors_that_are_equal_have_one_name():
    lm = engine.load("dates")
    place = locate(lm, "cross", 0, 0)
    head = head_scores(lm, lm.trace("June 3, 2025"), place)
    rows, columns = head.scores.shape
    words = ["q"] * rows, ["k"] * columns
    matrices, chart = of_head(head, head.divisor, words)
    assert [mark.label for mark in chart.marks] == ["none", "the model's"]
    np.testing.assert_array_equal(matrices[1].values, matrices[2].values)
    chart = of_head(head, 2.0, words)[1]
    assert [(mark.at, mark.label) for mark in chart.marks] == [
        (1.0, "none"),
        (2.0, "yours"),
        (4.0, "the model's"),
    ]
    entropy, largest = (series.y for series in chart.series)
    assert (np.diff(entropy) > 0).all()  # what is divided by more decides less
    assert (np.diff(largest) < 0).all()
