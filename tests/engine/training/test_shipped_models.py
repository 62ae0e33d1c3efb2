"""The shipped models, measured again from their files, on samples that are quick and that their cards did not use.

`python -m engine.training measure assets/models/NAME` measures all of it. Dates has a module of its own.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.analysis.expected import class_told
from engine.home import EMBEDDED, embedded
from engine.language_model import LanguageModel
from engine.tokenizers import SPECIALS
from engine.training.__main__ import main
from engine.training.examples import Example
from engine.training.measure import evaluate, report, watch
from engine.training.model_folder import folder_around
from engine.training.recipes import RECIPES, task_of
from engine.training.runs.folder import RunFolder
from engine.training.settings import TrainingSettings
from engine.training.starts import pieces
from engine.training.tasks.corpus import Corpus

OTHER_SEED = 1  # not the one the cards were measured with
SAMPLE = 200
MEGABYTES = 12  # all models and their snapshots together

# share of held-out examples written whole, or told rightly
EXACT = {
    "reverse": 0.99, "sort": 0.99, "numbers": 0.97, "induction": 0.9, "phrases": 0.99, "addition": 0.99, "digits": 0.95,
}  # fmt: skip
# share of answers that the best head looks at most
BEST_HEAD = {
    "reverse": 0.93, "sort": 0.85, "numbers": 0.95, "induction": 0.98, "phrases": 0.82, "addition": 0.82,
}  # fmt: skip
TAUGHT = [*EXACT, "dates"]


@cache
def lm(name: str) -> LanguageModel:
    return engine.load(name)


@cache
def measured(name: str) -> dict[str, Any]:
    return report(lm(name).model, task_of(name), SAMPLE, OTHER_SEED)


def snapshots(name: str) -> dict[int, Path]:
    return RunFolder(EMBEDDED / name).snapshots()


def test_every_recipe_is_shipped_and_nothing_else_but_pocket() -> None:
    assert {*embedded()} == {*RECIPES, "pocket"}


def test_together_they_are_small() -> None:
    assert sum(file.stat().st_size for file in EMBEDDED.rglob("*.*")) <= MEGABYTES * 1_000_000


@pytest.mark.parametrize("name", embedded())
def test_the_card_tells_what_the_files_hold(name: str) -> None:
    card, file = lm(name).card, EMBEDDED / name / "model.safetensors"
    assert card["name"] == name
    assert card["summary"]
    assert card["command"] == f"python -m engine.training {name} --out assets/models/{name}"
    assert card["parameters"] == sum(parameter.numel() for parameter in lm(name).model.parameters())
    assert card.get("bytes", file.stat().st_size) == file.stat().st_size


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipe_is_the_one_that_made_it(name: str) -> None:
    recipe, card = RECIPES[name], lm(name).card
    assert card["summary"] == recipe.summary
    assert card.get("data") == recipe.data
    assert card["steps"] == recipe.settings.steps
    assert TrainingSettings(**card["settings"]) == recipe.settings
    assert tuple(snapshots(name)) == recipe.snapshots
    assert recipe.model["d_model"] == lm(name).config.d_model
    if name != "text":  # whose vocabulary is that of the Python that it was trained with
        assert recipe.config(task_of(name)) == lm(name).config
        assert lm(name).tokenizer.to_json() == task_of(name).tokenizer.to_json()


@pytest.mark.parametrize("name", EXACT)
def test_held_out_examples_are_written_whole(name: str) -> None:
    assert measured(name)["exact"]["held_out"] >= EXACT[name]
    assert lm(name).card["metrics"]["exact"]["held_out"] >= EXACT[name]


@pytest.mark.parametrize("name", EXACT)
def test_the_card_says_what_is_measured(name: str) -> None:
    told, found = lm(name).card["metrics"], measured(name)
    for suite, share in told["exact"].items():
        assert found["exact"][suite] == pytest.approx(share, abs=0.03), suite
    assert found["accuracy"] == pytest.approx(told["accuracy"], abs=0.02)
    assert found["loss"] == pytest.approx(told["loss"], abs=0.05)


@pytest.mark.parametrize("name", BEST_HEAD)
def test_the_head_that_the_card_names_looks_where_the_answers_stand(name: str) -> None:
    told = lm(name).card["metrics"]["alignment"]["best"]
    layers = measured(name)["alignment"]["layers"]
    assert layers[told["layer"]]["heads"][told["head"]] >= BEST_HEAD[name]
    assert told["share"] >= BEST_HEAD[name]


@pytest.mark.parametrize("name", TAUGHT)
def test_its_snapshots_open_and_are_worth_what_the_card_says(name: str) -> None:
    task = task_of(name)
    examples = task.suites(RECIPES[name].settings.evaluate_count)["held_out"]  # as on the way
    told = {entry["step"]: entry for entry in lm(name).card["on_the_way"]}
    assert [*told] == [*snapshots(name), lm(name).card["steps"]]
    for step, path in snapshots(name).items():
        opened = engine.load(path)
        assert opened.config == lm(name).config
        looks = watch(opened.model, task, examples)
        assert looks.loss / looks.tokens == pytest.approx(told[step]["loss"], rel=1e-3), step


def test_a_snapshot_says_which_it_is_and_not_what_the_last_one_reaches() -> None:
    path = snapshots("reverse")[100]
    opened = engine.load(str(path))
    assert (opened.title, opened.name, opened.card["source"]) == ("Reverse", str(path), str(path))
    assert not {"metrics", "steps", "bytes"} & opened.card.keys()
    assert (opened.parameter("head.bias") != lm("reverse").parameter("head.bias")).any()


def test_other_files_are_not_taken_for_snapshots(tmp_path: Path) -> None:
    for path in (
        EMBEDDED / "reverse" / "model.safetensors",
        EMBEDDED / "reverse" / "snapshots" / "none.safetensors",
    ):
        assert folder_around(path) == path
    assert folder_around(Path("x" * 5000 + "/snapshots/x.safetensors")).suffix == ".safetensors"


def test_an_induction_head_forms_between_the_snapshots_of_steps_200_and_275() -> None:
    task = task_of("induction")
    examples = task.suites(50, OTHER_SEED)["held_out"]
    kept = snapshots("induction")
    found = {step: evaluate(engine.load(kept[step]).model, task, examples) for step in (0, 150, 200, 275)}
    repeated = {step: each.aligned_accuracy or 0 for step, each in found.items()}
    prefix = {step: each.alignment.mass for step, each in found.items() if each.alignment}
    assert repeated[0] < 0.06  # 1 in 32 by chance
    assert repeated[150] < 0.2
    assert repeated[200] < 0.2
    assert repeated[275] > 0.95
    assert prefix[200] < 0.15
    assert prefix[275] > 0.85


def test_the_last_induction_head_looks_at_what_followed_before_and_is_nearly_always_right() -> None:
    assert measured("induction")["aligned_accuracy"] > 0.995
    first, second = measured("induction")["alignment"]["layers"]
    assert max(first["masses"]) < 0.1  # one layer cannot
    assert max(second["masses"]) > 0.97


def test_in_layer_0_a_head_looks_at_the_letter_before() -> None:
    weights = lm("induction").trace("ducklingduckl")["decoder.layers.0.self_attention.weights"][0]
    before = weights.diagonal(offset=-1, dim1=1, dim2=2)  # (head, query): each on its predecessor
    assert before.mean(dim=1).max() > 0.8


def test_every_shipped_digit_is_told() -> None:
    images = json.loads((EMBEDDED / "digits" / "images.json").read_text(encoding="utf-8"))
    assert [*images] == [*"0123456789"] == [*lm("digits").card["labels"]]
    told = {name: class_told(lm("digits"), lm("digits").trace_image(image)) for name, image in images.items()}
    assert {name: each and each.label for name, each in told.items()} == {name: name for name in images}


def test_no_shipped_digit_was_trained_on() -> None:
    images = json.loads((EMBEDDED / "digits" / "images.json").read_text(encoding="utf-8"))
    held_out = [example.source for example in task_of("digits").suites(1000)["held_out"]]
    assert all(tuple(map(tuple, image)) in held_out for image in images.values())


def test_every_language_of_numbers_is_read() -> None:
    shares = measured("numbers")["held_out_by_group"]
    assert [*shares] == ["de", "en", "fr", "zh"]
    assert min(shares.values()) >= 0.93


# In our own words, so that the bound holds whatever Python's help says in the version that runs this.
OWN = (
    "A list is made with square brackets, and its items are separated by commas. The first item has the index 0. "
    "When a function is called, the names of its parameters are bound to the values that were passed, in their order. "
    "If an exception is raised and nothing catches it, the program ends and the error is written to the screen."
)


def bits_per_letter(opened: LanguageModel, stretches: list[str]) -> float:
    task = task_of("text")
    vars(task)["tokenizer"] = lm("text").tokenizer  # not that of this Python's help
    looks = watch(opened.model, task, [Example("", text) for text in stretches])
    return looks.loss / looks.tokens / math.log(2)


def test_english_that_it_never_saw_surprises_it_little() -> None:
    stretches = [OWN[at : at + 64] for at in range(0, len(OWN) - 63, 16)]
    assert bits_per_letter(lm("text"), stretches) < 1.8  # 3.35 for whoever knows pairs of letters only
    assert 1.9 < bits_per_letter(engine.load(snapshots("text")[300]), stretches) < 2.3
    backwards = [text[::-1] for text in stretches]
    assert bits_per_letter(lm("text"), backwards) > 4


def test_it_goes_on_with_words() -> None:
    assert lm("text").generate("The following examp", 2) == "le"
    assert lm("text").generate("If an exception is rai", 3) == "sed"


def test_its_card_says_as_much_of_the_held_out_help_in_bits() -> None:
    assert lm("text").card["metrics"]["loss"] / math.log(2) < 1.75
    assert lm("text").card["python"].startswith("3.11.")


@pytest.mark.parametrize(("more", "told"), [("", None), ("Ω ж", "unknown to it: Ω ж; not in there: none")])
def test_its_figures_can_be_measured_with_the_help_of_any_python(
    more: str, told: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own letters stand for the help that it learned from; more is what a later Python adds."""
    letters = "".join(pieces(lm("text").tokenizer)[len(SPECIALS) :])
    help_text = Corpus(f"{OWN}{letters}", f"{OWN}{more}")
    monkeypatch.setattr("engine.training.tasks.text.help_topics", lambda: help_text)
    assert main(["measure", str(EMBEDDED / "text"), "--count", "20"]) == 0
    said = capsys.readouterr().out
    assert (told in said) if told else said.startswith("{")
    assert json.loads(said[said.index("{") :])["loss"] < 1.5


def test_phrases_are_aligned_by_the_heads_together_too() -> None:
    assert measured("phrases")["alignment"]["layers"][0]["mean"] > 0.84
    assert set(measured("phrases")["held_out_by_group"]) == {"clause", "plain"}


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("reverse", "stressed", "desserts"),
        ("reverse", "abcdefghijkl", "lkjihgfedcba"),
        ("sort", "problem", "belmopr"),
        ("numbers", "forty-two thousand, three hundred and seven", "42307"),
        ("numbers", "zweiundvierzigtausenddreihundertsieben", "42307"),
        ("numbers", "quarante-deux mille trois cent sept", "42307"),
        ("numbers", "四万二千三百零七", "42307"),
        ("addition", "347+785=", "2311"),
        ("addition", "999+999=", "8991"),
        ("induction", "ducklingduck", "lingduckling"),
        (
            "phrases",
            "住在柏林的作家下个月会买四把雨伞",
            "the writer who lives in Berlin will buy four umbrellas next month",
        ),
        ("phrases", "我们下个月会在医院照顾李太太", "we will look after Mrs Li at the hospital next month"),
    ],
)
def test_what_a_visitor_may_try_first(name: str, source: str, target: str) -> None:
    assert (
        lm(name).generate(source, len(lm(name).tokenizer.ids(target)) + 1 - (name == "induction")) == target
    )
