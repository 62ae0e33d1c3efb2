"""Pocket's numbers, worked out by hand.

    the = (0, 0, 0, 1)   cat = (1, 0, 1, 0)   sat = (0, 1, 0, 0)

Queries W_q x: an action makes (2, 0, 0, 1), a thing that is a cat (0, 1, 1, 0), an article nothing.
Keys    W_k x: the (1, 2, 0, 0), cat (2, 0, 1, 0), sat (0, 0, 0, -1).

    sat . the = 2*1                = 2      sat . cat = 2*2      = 4      sat . sat = 1*(-1) = -1
    cat . the = 1*2                = 2      cat . cat = 1*1      = 1
    divided by sqrt(4) = 2:                     1, 2, -0.5  and  1, 0.5
"""

from __future__ import annotations

from dataclasses import replace
from math import exp
from pathlib import Path

import pytest
import torch

import engine
from engine.home import EMBEDDED
from engine.language_model import LanguageModel
from engine.training.pocket import write_pocket

HEAD = "decoder.layers.0.self_attention."
INFINITY = float("inf")


@pytest.fixture(scope="module")
def pocket() -> LanguageModel:
    lm = engine.load("pocket")
    return replace(lm, model=lm.with_parameters({}).model.double())


def test_queries_keys_and_values(pocket: LanguageModel) -> None:
    trace = pocket.trace("the cat sat")
    assert trace[HEAD + "q"][0, 0].tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 1]]
    assert trace[HEAD + "k"][0, 0].tolist() == [[1, 2, 0, 0], [2, 0, 1, 0], [0, 0, 0, -1]]
    assert trace[HEAD + "v"][0, 0].tolist() == [[0, 0, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]]


def test_scores_scaled_and_masked(pocket: LanguageModel) -> None:
    trace = pocket.trace("the cat sat")
    assert trace[HEAD + "scores"][0, 0].tolist() == [[0, 0, 0], [2, 1, 0], [2, 4, -1]]
    assert trace[HEAD + "masked"][0, 0].tolist() == [
        [0, -INFINITY, -INFINITY],
        [1, 0.5, -INFINITY],
        [1, 2, -0.5],
    ]


def test_weights_and_what_the_verb_takes_home(pocket: LanguageModel) -> None:
    trace = pocket.trace("the cat sat")
    total = exp(1) + exp(2) + exp(-0.5)  # 2.718 + 7.389 + 0.607 = 10.714
    weights = [exp(1) / total, exp(2) / total, exp(-0.5) / total]  # 0.254, 0.690, 0.057
    assert trace[HEAD + "weights"][0, 0, 2].tolist() == pytest.approx(weights, abs=1e-12)
    assert trace[HEAD + "weights"][0, 0, 2].tolist() == pytest.approx([0.254, 0.690, 0.057], abs=5e-4)
    # 0.254 * (0, 0, 0, 1) + 0.690 * (1, 0, 1, 0)
    z = [weights[1], 0, weights[1], weights[0]]
    assert trace[HEAD + "z"][0, 0, 2].tolist() == pytest.approx(z, abs=1e-12)
    assert trace[HEAD + "out"][0, 2].tolist() == pytest.approx(z, abs=1e-12)


def test_attention_is_all_that_happens(pocket: LanguageModel) -> None:
    trace = pocket.trace("the cat sat")
    layer = "decoder.layers.0."
    assert torch.equal(trace["decoder.embed"], trace["decoder.position"])
    assert torch.equal(trace[layer + "self_attention_residual.resid_pre"], trace["decoder.embed"])
    assert torch.equal(trace[layer + "self_attention_residual.normed"], trace["decoder.embed"])
    assert trace[layer + "feed_forward.out"].eq(0).all()
    both = trace["decoder.embed"] + trace[HEAD + "out"]
    assert torch.equal(trace["decoder.final_norm"], both)


@pytest.mark.parametrize(
    ("text", "next_words"),
    [
        ("the", "cat sat purring"),
        ("the cat", "sat purring"),
        ("a dog", "ran barking"),
        ("the cat sat", "purring"),
        ("the dog sat", "barking"),
        ("the cat ran", "purring"),
        ("a dog ran", "barking"),
    ],
)
def test_what_comes_next(pocket: LanguageModel, text: str, next_words: str) -> None:
    assert pocket.generate(text) == next_words


def test_without_what_the_head_brings_cat_and_dog_are_the_same(pocket: LanguageModel) -> None:
    deaf = pocket.with_parameters({HEAD + "W_o.weight": torch.zeros(4, 4)})
    logits = deaf.trace("the cat sat").logits[0, -1]
    purring, barking = pocket.tokenizer.encode("purring barking").ids
    assert logits[purring] == logits[barking]


def test_the_shipped_folder_is_what_the_command_writes(tmp_path: Path) -> None:
    write_pocket(tmp_path)
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (EMBEDDED / "pocket" / file.name).read_bytes(), file.name
