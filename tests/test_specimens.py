"""The sentences offered beside the Attention screen: complete, and true of the models they name."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.home import EMBEDDED, embedded
from engine.language_model import LanguageModel, TextTrace
from engine.pretrained import sources

SPECIMENS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "assets" / "specimens.json").read_text(encoding="utf-8")
)
LONGEST = 64  # tokens of a target
SHIPPED = [specimen for specimen in SPECIMENS if specimen["model"] in embedded()]
FETCHED = [specimen for specimen in SPECIMENS if specimen["model"] not in embedded()]


def name(specimen: dict[str, Any]) -> str:
    return specimen["id"]


@cache
def loaded(model: str) -> LanguageModel:
    return engine.load(model)


def measured(lm: LanguageModel, specimen: dict[str, Any]) -> float:
    site = lm.sites[specimen["kind"]]
    weights = f"{site.path(specimen['layer'])}.weights"
    trace = traced(lm, specimen, [weights])
    row = trace[weights][0, specimen["head"], specimen["query"]]
    assert row.argmax() == specimen["key"]
    return row[specimen["key"]].item()


def traced(lm: LanguageModel, specimen: dict[str, Any], names: list[str]) -> TextTrace:
    if lm.config.patches is None:
        return lm.trace(specimen["text"], specimen["target"], names=names)
    images = json.loads((EMBEDDED / lm.name / "images.json").read_text(encoding="utf-8"))
    return lm.trace_image(images[specimen["text"]], names=names)


def test_ids_are_unique_and_the_opening_one_is_first() -> None:
    ids = [specimen["id"] for specimen in SPECIMENS]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "sm-coref-tired"
    opening = SPECIMENS[0]
    assert (opening["model"], opening["layer"], opening["head"]) == ("smollm2-135m", 13, 8)


@pytest.mark.parametrize("specimen", SPECIMENS, ids=name)
def test_both_languages_say_what_it_is_and_what_to_look_for(specimen: dict[str, Any]) -> None:
    for field in ("phenomenon", "look_for"):
        assert specimen[field].keys() == {"en", "zh"}
        assert all(text.strip() for text in specimen[field].values())
        assert any("\u4e00" <= character <= "\u9fff" for character in specimen[field]["zh"])


@pytest.mark.parametrize("specimen", SHIPPED, ids=name)
def test_shipped_models_weigh_as_told(specimen: dict[str, Any]) -> None:
    lm = loaded(specimen["model"])
    assert measured(lm, specimen) == pytest.approx(specimen["weight"], abs=1e-4)
    assert specimen["target"] is None or specimen["target"] == lm.generate(specimen["text"], LONGEST)


def test_every_embedded_model_has_a_specimen() -> None:
    assert {specimen["model"] for specimen in SHIPPED} == set(embedded())


@pytest.mark.parity
@pytest.mark.parametrize("specimen", FETCHED, ids=name)
def test_real_models_weigh_as_told(specimen: dict[str, Any]) -> None:
    if not sources.status(specimen["model"]).present:
        missing = f"{specimen['model']} is not here: python -m engine.pretrained get {specimen['model']}"
        (pytest.fail if os.environ.get("ATLAS_REQUIRE_PARITY") == "1" else pytest.skip)(missing)
    assert measured(loaded(specimen["model"]), specimen) == pytest.approx(specimen["weight"], abs=2e-4)
