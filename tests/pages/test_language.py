"""Chinese is complete: every sentence of pages, figures and engine errors is translated, none is stale."""

from __future__ import annotations

import ast
import re
import string
import threading
import warnings
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

from engine.pretrained.catalogue import CATALOGUE
from pages.components import language, panels
from pages.components.language import LANGUAGES, LOCALES, translations

ROOT = Path(__file__).parents[2]
MARKS = {"_": None, "N_": None}
ERRORS = dict.fromkeys(
    ["AtlasError", "CancelledError", "Check", "DivergedError", "UnheardError", "UnreachedError"]
)


def extracted(folder: str, keywords: dict[str, None]) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # f-strings, which cannot be translated and are not asked to be
        found = extract_from_dir(ROOT / folder, method_map=[("**.py", "python")], keywords=keywords)
        return {message for _, _, message, *_ in found if isinstance(message, str)}


def templates(folder: str) -> set[str]:
    """Every sentence with values to fill in, wherever it is written: an error may take its own from a table."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        f_strings = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
        }
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
            and not {id(node)} & (f_strings | prose) and fields(node.value)
        }  # fmt: skip
    return found


def error_names(folder: str) -> set[str]:
    """AtlasError and the names of all that are made from it."""
    names = {"AtlasError"}
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & names:
                names.add(node.name)
    return names


def wanted() -> set[str]:
    summaries = {entry.summary for entry in CATALOGUE.values()} | templates("engine")
    return summaries.union(
        *(extracted(folder, marks) for folder in ("pages", "engine") for marks in (MARKS, ERRORS))
    )


def fields(template: str) -> set[str]:
    """The names in braces; none for what is no template, such as a pattern."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(template) if name and name.isidentifier()}
    except ValueError:
        return set()


def test_every_sentence_has_a_chinese_one() -> None:
    assert sorted(wanted() - set(translations("zh"))) == []


def test_errors_of_every_kind_are_looked_at() -> None:
    assert error_names("engine") <= set(ERRORS)
    assert any("disk filled up" in template for template in templates("engine"))  # one that stands in a table


def test_no_translation_is_stale() -> None:
    assert sorted(set(translations("zh")) - wanted()) == []


def test_translations_name_the_same_values() -> None:
    assert [
        english for english, chinese in translations("zh").items() if fields(english) != fields(chinese)
    ] == []


def test_the_catalogue_is_sorted_and_has_no_doubts() -> None:
    with (LOCALES / "zh" / "LC_MESSAGES" / "atlas.po").open("rb") as file:
        messages = [message for message in read_po(file, locale="zh") if message.id]
    assert [message.id for message in messages if message.fuzzy] == []
    assert [message.id for message in messages] == sorted((message.id for message in messages), key=str)


def test_chinese_sentences_are_in_chinese_punctuation() -> None:
    wrong = re.compile(r"[\u4e00-\u9fff][,;:!?]|[\u4e00-\u9fff]\.(\s|$)")
    assert [chinese for chinese in translations("zh").values() if wrong.search(chinese)] == []


@pytest.mark.parametrize("name", [path.stem for path in (panels.LESSONS / "en").glob("*.md")])
def test_every_lesson_is_there_in_every_language(name: str) -> None:
    for lang in LANGUAGES:
        assert (panels.LESSONS / lang / f"{name}.md").read_text("utf-8").strip()
    assert len((panels.LESSONS / "en" / f"{name}.md").read_text("utf-8").split()) < 220


def test_no_lesson_exists_in_one_language_only() -> None:
    names = [{path.name for path in (panels.LESSONS / lang).glob("*")} for lang in LANGUAGES]
    assert names[0] == names[1]


def test_without_a_session_the_words_are_english() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(language._("Home")))
    thread.start()
    thread.join()
    assert found == ["Home"]
