"""Whatever is typed stands character for character, token by token, on every surface; or one sentence says why not."""

from __future__ import annotations

import csv
import io
import re

import pytest

from tests.browser.screen import PLOT, Screen

TEXTS = {
    "one token": "7",
    "a word twice": "3 3 3",
    "emoji": "👍 3 🎉",
    "a family of emoji": "👩‍👩‍👧 2025",
    "combining marks": "e\u0301 nai\u0308ve 2025",
    "right to left": "שלום 3 يونيو 2025",
    "Chinese": "2025年6月3日",
    "tags": "<b>3</b><br><img src=x onerror=1>",
    "entities": "&lt;3&gt; &amp; &#60; &copy",
    "prices": "$5 and $6",
    "numbers": "3 1 10 2",
    "a date": "2026-01-01",
    "numbers of other kinds": "1e5 NaN Infinity 0x10",
    "Markdown": "**3** `x` [a](http://h/) :red[y]",
    "templates": "%{z} {0} \\n {text} %s",
    "quotes": "\"3\" '4' “5” </script>",
}
ASKED = re.compile(r"(?:weight|score)\((.*) → (.*)\) = ")

BYTES = re.compile(r"(<[0-9a-f]{2}>)+")


def told(label: str) -> str:
    """The source of a label: a blank and what has no picture stand as signs."""
    if re.fullmatch(r"U\+[0-9A-F]{4,6}", label):
        return chr(int(label[2:], 16))
    if len(label) > 1:
        label = label.removeprefix("◌")  # what a combining mark alone stands on
    return {"␣": " ", "⏎": "\n", "⇥": "\t"}.get(label, label)


def picker(screen: Screen) -> list[str]:
    """The tokens that can be chosen as the query, without their numbers."""
    field = screen.page.locator(".st-key-atlas-query input")
    if not field.count():
        return []
    field.scroll_into_view_if_needed()
    screen.frames(3)  # an open list closes when the page scrolls
    field.click()
    options = screen.page.get_by_role("option")
    options.first.wait_for()
    said = options.all_text_contents()
    screen.press("Escape")
    options.first.wait_for(state="detached")
    return [re.sub(r"^\d+ \u2068(.*)\u2069$", r"\1", one) for one in said]


def table(screen: Screen) -> list[str]:
    """The tokens in the table of the query's row."""
    if not screen.page.locator(".atlas-table").first.is_visible():
        screen.page.get_by_text("The numbers as tables").click()
    screen.page.locator(".atlas-table").first.wait_for()
    return screen.page.locator(".atlas-table tbody tr td:nth-child(2)").all_text_contents()


def file(screen: Screen) -> list[str]:
    """The key tokens of the first row in the CSV file of the matrix; its table has been opened."""
    text = screen.download("All queries: download CSV").read_text("utf-8-sig")
    rows = csv.DictReader(io.StringIO(text))
    return [row["key_token"] for row in rows if row["query"] == "0"]


def surfaces(screen: Screen) -> dict[str, list[str]]:
    """Every place that lists the text's tokens, and what stands there."""
    tokens = {"figure": screen.labels()[1:], "table": table(screen), "file": file(screen)}
    chosen = picker(screen)
    return tokens | ({"picker": chosen} if chosen else {})


def test_a_text_stands_as_it_was_typed(screen: Screen) -> None:
    """One page for all of them: each is typed over the one before."""
    screen.open(model="dates", kind="self", head=0, text="1 1", beat=7)
    wrong: dict[str, object] = {}
    for name, text in TEXTS.items():
        with screen.redrawn():
            screen.write(text)
        shown = {where: "".join(map(told, labels)) for where, labels in surfaces(screen).items()}
        asked = ASKED.match(screen.text(f"{PLOT} .ap-equation"))
        assert asked, text
        query, key = asked.groups()
        shown["field"] = screen.page.locator(".st-key-atlas-text input").input_value()
        shown["link"] = screen.params["text"]
        listed = shown.pop("picker", "")  # a long list is drawn as far as it is seen
        if wrongly := {where: said for where, said in shown.items() if said != text}:
            wrong[name] = wrongly
        if not text.startswith(listed):
            wrong[f"{name}, picker"] = listed
        focus = {told(query), told(key)} | {told(screen.labels()[0])}
        wrong |= {f"{name}, equation": focus} if not all(one in text for one in focus) else {}
        if screen.plot.get_attribute("aria-label") != f"Dates, layer 0, head 0, query “{query}”":
            wrong[f"{name}, label"] = screen.plot.get_attribute("aria-label")
    assert not wrong
    assert screen.page.title() == "Attention · Attention Atlas"
    assert screen.page.locator(f"{PLOT} svg a, {PLOT} .infolayer tspan, {PLOT} .ap-dock img").count() == 0


def test_a_text_is_made_of_tokens_from_left_to_right_whatever_it_says(screen: Screen) -> None:
    screen.open(model="dates", kind="self", text="שלום (3)", beat=7)
    assert screen.labels()[1:] == list("שלום␣(3)")
    places = screen.page.locator(f"{PLOT} .annotation-text").evaluate_all(
        "(all) => all.slice(1).map((one) => one.getBoundingClientRect().x)"
    )
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "There is nothing to read: type at least one word."),
        ("3" * 41, "This text has 41 tokens, more than the 40 that Dates can read."),
        ("7" * 4_000, "This text has 4000 tokens, more than the 40 that Dates can read."),
    ],
    ids=["empty", "one too many", "4,000 characters"],
)
def test_what_cannot_be_read_is_met_with_one_sentence_and_the_next_text_is_read(
    screen: Screen, text: str, sentence: str
) -> None:
    screen.open(model="dates", text="3 juin 2025")
    screen.write(text)
    screen.page.locator(".atlas-problem").wait_for()
    assert screen.problems == [sentence]
    screen.write("4 juin 2025")
    screen.plot.wait_for()
    screen.settle()
    assert screen.problems == []


def test_blanks_are_text(screen: Screen) -> None:
    screen.open(model="dates", kind="self", text="   ")
    assert screen.labels() == ["␣"] * 4


def test_what_a_model_does_not_know_is_said(screen: Screen) -> None:
    screen.open(model="dates", text="👍 3")
    assert screen.notes == [
        "Dates does not know “\u2068👍\u2069”: it reads a stand-in there, so do not trust what it makes of them."
    ]


def test_a_text_typed_at_home_is_read_on_the_attention_screen(screen: Screen) -> None:
    screen.open("/")
    screen.write("<b>&amp;</b> $5 and $6")
    screen.page.wait_for_url("**/attention?**")
    screen.plot.wait_for()
    screen.at(text="<b>&amp;</b> $5 and $6")
    screen.page.locator(".st-key-atlas-text input").wait_for()


def test_a_line_break_is_shown_and_kept(screen: Screen) -> None:
    screen.open(model="dates", kind="self", text="3\njuin\t4")
    assert screen.labels()[1:] == list("3⏎juin⇥4")
    assert screen.page.locator(".st-key-atlas-text input").input_value() == "3⏎juin\t4"
    assert screen.params["text"] == "3\njuin\t4"


REAL = TEXTS | {
    "two lines": "a⏎b",
    "Hindi": "नमस्ते",
    "many blanks": "a   b",
    "4,000 characters": "word " * 800,
}


def test_a_real_model_shows_texts_token_by_token(real_screen: Screen) -> None:
    real_screen.open(model="smollm2-135m", text="a b", layer=0, head=0)
    wrong = {}
    for name, text in REAL.items():
        with real_screen.redrawn():
            real_screen.write(text)
        table(real_screen)
        labels = file(real_screen)
        pieces = [
            bytes.fromhex(label.replace("><", "")[1:-1]) if BYTES.fullmatch(label) else told(label).encode()
            for label in labels
        ]
        if b"".join(pieces).decode().replace(" ", "") != text.replace(" ", "").replace("⏎", "\n"):
            wrong[name] = labels
        shown = real_screen.labels()[1:]
        whole = labels[real_screen.figure["columns"][0][0] :]
        if not all(label.startswith(one.rstrip("…")) for one, label in zip(shown, whole, strict=False)):
            wrong[f"{name}, figure"] = shown
    assert not wrong
