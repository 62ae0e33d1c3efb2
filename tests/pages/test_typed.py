"""What somebody means who types a model into the field of the Models screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.config import AtlasError
from pages.components import typed
from tests.pages.test_frame import html


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("https://huggingface.co/EleutherAI/pythia-14m", "hf:EleutherAI/pythia-14m"),
        ("huggingface.co/EleutherAI/pythia-14m/", "hf:EleutherAI/pythia-14m"),
        ("https://hf.co/some/one?library=x#usage", "hf:some/one"),
        ("https://huggingface.co/EleutherAI/pythia-70m/tree/step512", "hf:EleutherAI/pythia-70m@step512"),
        ("https://huggingface.co/some/one/blob/main/config.json", "hf:some/one@main"),
        ("hf:some/one", "hf:some/one"),
        ("https://elsewhere.org/some/one", "https://elsewhere.org/some/one"),
    ],
)
def test_the_address_of_a_page_of_the_hub_means_its_model(words: str, name: str) -> None:
    assert typed.meant(words) == name


def test_a_name_of_the_hub_alone_is_told_how_it_is_written() -> None:
    with pytest.raises(AtlasError, match=r"^some/one is no file or folder here; .* hf:some/one\.$"):
        typed.meant("some/one")


def test_one_file_of_a_folder_means_the_folder(tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tiny.gguf"):
        (tmp_path / name).write_bytes(b"")
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        assert typed.meant(str(tmp_path / name)) == str(tmp_path)
    for path in (tmp_path, tmp_path / "tiny.gguf"):
        assert typed.meant(str(path)) == str(path)
    (tmp_path / "config.json").unlink()
    assert typed.meant(str(tmp_path / "model.safetensors")) == str(tmp_path / "model.safetensors")


def test_a_model_of_the_catalogue_that_is_not_here_is_told_where_to_get_it() -> None:
    with pytest.raises(AtlasError, match=r"python -m engine\.pretrained get smollm2-135m"):
        typed.meant("smollm2-135m")


@pytest.mark.parametrize("words", ["dates", " Dates ", '"DATES"'])
def test_a_model_on_the_list_is_chosen_by_its_name(open_app: Callable[..., AppTest], words: str) -> None:
    app = open_app("models", lang="en", model="pocket")
    app.text_input(key="atlas-path").set_value(words).run()
    assert not app.exception
    assert "atlas-problem" not in html(app)
    assert app.session_state["atlas.view"].model == "dates"
