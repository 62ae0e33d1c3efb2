"""Cut lines: the weight goes to the other keys, nothing else is touched, and a model that looks only there fails."""

from __future__ import annotations

import pytest
import torch

from engine.analysis.cut import cut, cutting
from engine.analysis.head_place import locate
from engine.config import AtlasError
from engine.language_model import load
from engine.training.probe import Probe

CROSS = "decoder.layers.0.cross_attention"


def test_pocket_without_its_line_to_the_cat_cannot_tell_it_from_a_dog():
    lm = load("pocket")
    found = cut(lm, Probe("the cat sat"), "masked", query=2, keys=frozenset({1}))
    said = found.said[2]
    assert (found.queries, found.read) == (("the", "cat", "sat"), ("the", "cat", "sat"))
    assert said.whole == "purring"
    assert said.share > 0.7
    assert said.kept < 0.3
    edits = cutting(lm, "masked", [{2: frozenset({1})}])
    logits = lm.trace("the cat sat", edits=edits).logits[0, 2]
    purring, barking = (lm.tokenizer.ids(word)[0] for word in ("purring", "barking"))
    assert logits[purring].item() == pytest.approx(logits[barking].item(), abs=1e-5)
    assert [one.whole == one.cut for one in found.said[:2]] == [True, True]


def test_a_cut_weight_is_nothing_and_the_others_share_it_in_proportion():
    lm = load("dates")
    trace = lm.trace("3 June 2025", "2025-06-03")
    before = trace[f"{CROSS}.weights"][0]
    edits = cutting(lm, "cross", [{4: frozenset({2, 3})}])
    after = lm.trace("3 June 2025", "2025-06-03", edits=edits)[f"{CROSS}.weights"][0]
    assert (after[:, 4, 2:4] == 0).all()
    kept = [key for key in range(before.shape[-1]) if key not in (2, 3)]
    expected = before[:, 4, kept] / before[:, 4, kept].sum(-1, keepdim=True)
    torch.testing.assert_close(after[:, 4, kept], expected)
    rows = [query for query in range(before.shape[1]) if query != 4]
    assert torch.equal(after[:, rows], before[:, rows])  # with one layer nothing reaches the other queries


def test_one_head_alone_can_be_cut():
    lm = load("dates")
    place = locate(lm, "cross", 0, 2)
    edits = cutting(lm, "cross", [{4: frozenset({2})}], only=place)
    before = lm.trace("3 June 2025", "2025-06-03")[f"{CROSS}.weights"][0]
    after = lm.trace("3 June 2025", "2025-06-03", edits=edits)[f"{CROSS}.weights"][0]
    assert after[2, 4, 2] == 0
    assert torch.equal(after[[0, 1, 3]], before[[0, 1, 3]])


def test_a_query_whose_every_line_is_cut_looks_nowhere_and_nothing_breaks():
    lm = load("pocket")
    found = cut(lm, Probe("the cat sat"), "masked", query=0, keys=frozenset({0}))
    assert all(0 < said.cut_share <= 1 for said in found.said)


@pytest.mark.parametrize(("query", "key", "kind"), [(3, 0, "masked"), (0, 3, "masked"), (0, 0, "cross")])
def test_lines_that_are_not_there_are_refused(query, key, kind):
    with pytest.raises(AtlasError):
        cut(load("pocket"), Probe("the cat sat"), kind, query, frozenset({key}))
