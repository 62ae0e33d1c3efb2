"""A link is read parameter by parameter: what cannot be taken is left out or moved, and said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.state import NUMBERS, TEXT_LIMIT, TEXTS, ViewState, printable, read, write

VIEW = ViewState(
    lang="zh", model="smollm2-135m", text="tag <b> & “it”", target="a\nb", second="她", kind="masked",
    layer=13, head=8, query=7, key=0, talk=True, smooth=True, weights="W=1,0.5",
)  # fmt: skip


def test_a_link_says_the_view_it_was_made_from() -> None:
    view, notes = read({name: [value] for name, value in write(VIEW).items()})
    assert view == VIEW
    assert notes == []


def test_an_empty_link_is_the_default_view() -> None:
    assert read({}) == (ViewState(), [])


def test_values_are_the_same_in_every_language() -> None:
    english = write(VIEW.model_copy(update={"lang": "en"}))
    assert write(VIEW) == english | {"lang": "zh"}


@pytest.mark.parametrize("beat", ["1", "7b", "10", "10a"])
def test_a_beat_is_read_and_never_written(beat: str) -> None:
    view, notes = read({"beat": [beat]})
    assert (view.beat, notes) == (beat, [])
    assert "beat" not in write(view)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beat", "0"), ("beat", "11"), ("beat", "7c"), ("beat", "7b\n"), ("lang", "fr"), ("lang", ""),
        ("kind", "SELF"), ("talk", "maybe"), ("model", ""), ("layer", ""), ("layer", "1.5"), ("head", "abc"),
        ("query", "١"), ("key", "1e3"), ("layer", "9" * 5000), ("layer", "0x1"), ("head", "\x00"),
    ],
)  # fmt: skip
def test_a_value_that_means_nothing_is_left_out_and_named(name: str, value: str) -> None:
    view, notes = read({name: [value], "model": ["dates"]} if name != "model" else {name: [value]})
    assert getattr(view, name) == ViewState.model_fields[name].default
    assert [note.parameter for note in notes] == [name]
    assert name in str(notes[0])


@pytest.mark.parametrize("name", NUMBERS)
def test_a_negative_index_becomes_the_first(name: str) -> None:
    view, notes = read({name: ["-3"]})
    assert getattr(view, name) == 0
    assert "-3" in str(notes[0])
    assert name in str(notes[0])


@pytest.mark.parametrize("name", ViewState.model_fields)
def test_a_value_of_20000_characters_is_left_out_and_its_length_said(name: str) -> None:
    view, notes = read({name: ["x" * 20_000]})
    assert view == ViewState()
    assert len(notes) == 1
    assert "20,000" in str(notes[0])


@pytest.mark.parametrize("name", [*ViewState.model_fields, "v"])
def test_a_parameter_given_twice_is_left_out(name: str) -> None:
    view, notes = read({name: ["1", "2"]})
    assert view == ViewState()
    assert [note.parameter for note in notes] == [name]


def test_a_parameter_of_another_app_is_named_and_left_out() -> None:
    view, notes = read({"utm_source" * 20: ["x"]})
    assert view == ViewState()
    assert len(notes[0].parameter) == 40


def test_a_link_of_another_version_is_read_as_far_as_it_goes() -> None:
    view, notes = read({"v": ["2"], "layer": ["3"]})
    assert view.layer == 3
    assert "v=2" in str(notes[0])


def test_control_characters_are_taken_out_of_a_text() -> None:
    view, notes = read({"text": ["a\x00b\nc\td\x7f"]})
    assert view.text == "ab\nc\td"
    assert [note.parameter for note in notes] == ["text"]


@pytest.mark.parametrize(
    "text", ["", " ", "👩‍👩‍👧 é שלום 日本語", "$5 and $6", "</script>", "a" * TEXT_LIMIT]
)
def test_texts_travel_as_they_are(text: str) -> None:
    view, notes = read({"text": [write(ViewState(text=text))["text"]]})
    assert (view.text, notes) == (text, [])


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_too_long_to_travel_is_not_in_the_link(name: str) -> None:
    assert name not in write(ViewState.model_validate({name: "a" * (TEXT_LIMIT + 1)}))


@given(st.dictionaries(st.sampled_from([*ViewState.model_fields, "v", "x"]), st.lists(st.text(), max_size=3)))
def test_no_link_whatever_is_an_error(params: dict[str, list[str]]) -> None:
    view, notes = read(params)
    assert read({name: [value] for name, value in write(view).items()})[0] == view.model_copy(
        update={"beat": None}
    )
    assert all(str(note) for note in notes)


@given(st.text())
def test_what_is_printable_stays(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert all(c in text for c in printable(text))
