"""The shipped Dates model, measured again from its files.

`python -m engine.training measure assets/models/dates` measures all of it; here is a sample that is quick.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import engine
from engine.home import EMBEDDED
from engine.language_model import LanguageModel
from engine.model.transformer import EncoderDecoder
from engine.training.measure import report
from engine.training.tasks.dates import Dates

SAMPLE = 1000
OTHER_SEED = 1  # not the one the card was measured with


@pytest.fixture(scope="module")
def lm() -> LanguageModel:
    return engine.load("dates")


@pytest.fixture(scope="module")
def card() -> dict[str, Any]:
    return json.loads((EMBEDDED / "dates" / "card.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def measured(lm: LanguageModel) -> dict[str, Any]:
    assert isinstance(lm.model, EncoderDecoder)
    return report(lm.model, Dates(), SAMPLE, OTHER_SEED)


def test_held_out_days_are_written_whole(measured: dict[str, Any]) -> None:
    assert measured["exact"]["held_out"] >= 0.99
    assert measured["exact"]["as_typed"] >= 0.985


def test_every_locale_is_written(measured: dict[str, Any]) -> None:
    assert len(measured["held_out_by_group"]) == 10
    assert min(measured["held_out_by_group"].values()) >= 0.97


def test_the_card_says_what_is_measured(card: dict[str, Any], measured: dict[str, Any]) -> None:
    told = card["metrics"]["exact"]
    assert told.keys() == measured["exact"].keys()
    assert told["held_out"] >= 0.98
    for suite, share in told.items():
        assert measured["exact"][suite] == pytest.approx(share, abs=0.05), suite


def test_the_card_names_the_head_that_aligns(card: dict[str, Any], measured: dict[str, Any]) -> None:
    told, found = card["metrics"]["alignment"]["best"], measured["alignment"]["best"]
    assert (told["layer"], told["head"]) == (found["layer"], found["head"])
    assert found["share"] >= 0.95


def test_the_card_counts_right(card: dict[str, Any], lm: LanguageModel) -> None:
    file = EMBEDDED / "dates" / "model.safetensors"
    assert card["parameters"] == sum(parameter.numel() for parameter in lm.model.parameters())
    assert card["bytes"] == file.stat().st_size <= 3 * 2**20


def test_its_vocabulary_is_the_tasks(lm: LanguageModel) -> None:
    assert lm.tokenizer.to_json() == Dates().tokenizer.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "mardi 3 juin 2025",
        "2025年6月3日",
        "2025年6月3日星期二",
        "二〇二五年六月三日",
        "3. Juni 2025",
        "June 3, 2025",
        "вторник, 3 июня 2025 г.",
        "terça-feira, 3 de junho de 2025",
        "3 giugno 2025",
        "martes, 3 de junio de 2025",
        "dinsdag 3 juni 2025",
        # as a visitor types
        "MARDI 3 JUIN 2025",
        "3 juin 2025",
        " mardi  3 juin  2025 ",
        "mardi 3 juin 2025.",
        "le 3 juin 2025",
        "terca-feira, 3 de junho de 2025",
        "june 3rd 2025",
        "the 3rd of June, 2025",
        "2025年6月3号",
        "２０２５年６月３日",
        "二零二五年六月三日",
        "2025/6/3",
    ],
)
def test_the_third_of_june(lm: LanguageModel, text: str) -> None:
    assert lm.generate(text) == "2025-06-03"


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("1 January 1950", "1950-01-01"),
        ("31 décembre 2049", "2049-12-31"),
        ("December 31, 1999", "1999-12-31"),
        ("1º gennaio 2000", "2000-01-01"),
        ("29 февраля 2024 г.", "2024-02-29"),
        ("4 July 1776", "1776-07-04"),
        ("1 January 1000", "1000-01-01"),
        ("31. Dezember 2999", "2999-12-31"),
    ],
)
def test_the_edges(lm: LanguageModel, text: str, iso: str) -> None:
    assert lm.generate(text) == iso


def test_a_trace_reads_as_typed_and_looks_where_the_answer_stands(
    lm: LanguageModel, card: dict[str, Any]
) -> None:
    trace = lm.trace("Mardi 3 Juin 2025")
    assert trace.source is not None
    assert trace.target is not None
    assert "".join(trace.source.labels) == "Mardi␣3␣Juin␣2025"
    assert trace.target.text == "2025-06-03"
    best = card["metrics"]["alignment"]["best"]
    weights = trace[f"decoder.layers.{best['layer']}.cross_attention.weights"][0, best["head"]]
    assert weights.shape == (11, 17)  # begin and ten characters, looking at seventeen
    assert weights.argmax(-1)[:4].tolist() == [13, 14, 15, 16]  # 2 0 2 5
