"""Names of models: what is here, what a visitor opened, and what a name must not do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from engine.config import AtlasError
from pages.components import library, state


def gguf(folder: Path, name: str = "tiny.gguf") -> Path:
    path = folder / name
    path.write_bytes(b"GGUF")
    return path


def test_the_embedded_models_come_first_from_the_simplest_on() -> None:
    names = [known.name for known in library.present()]
    assert names[0] == "pocket"
    assert all(known.origin == "embedded" for known in library.present())


def test_what_is_not_here_is_offered() -> None:
    assert [entry.name for entry in library.absent()] == ["smollm2-135m", "minilm-l6"]


def test_a_file_that_was_opened_is_known_by_its_name_from_then_on(tmp_path: Path) -> None:
    path = gguf(tmp_path)
    known = library.open_path(f'  "{path}" ')
    assert (known.name, known.origin) == ("tiny", "opened")
    assert library.find("tiny").target == str(path)
    library.forget("tiny")
    assert path.exists()
    with pytest.raises(AtlasError, match="tiny"):
        library.find("tiny")


def test_another_file_of_the_same_name_gets_a_number_and_the_same_file_does_not(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    library.open_path(str(gguf(tmp_path)))
    assert library.open_path(str(gguf(tmp_path / "other"))).name == "tiny-2"
    assert library.open_path(str(tmp_path / "tiny.gguf")).name == "tiny"


def test_a_file_cannot_take_the_title_of_another_model(tmp_path: Path) -> None:
    titles = {known.title for known in library.present()}
    assert "Pocket" in titles
    assert library.open_path(str(gguf(tmp_path, "Pocket.gguf"))).name == "Pocket-2"
    assert library.open_path(str(gguf(tmp_path, "MiniLM-L6.gguf"))).name == "MiniLM-L6-2"


def test_titles_are_told_apart_whatever_the_list_holds(tmp_path: Path) -> None:
    library._remember({"Pocket": str(gguf(tmp_path, "Pocket.gguf")), "DATES": str(gguf(tmp_path, "d.gguf"))})
    titles = [known.title for known in library.present()]
    assert len({title.casefold() for title in titles}) == len(titles)
    assert library.find("Pocket").title == f"Pocket ({tmp_path.name})"
    assert library.find("pocket").title == "Pocket"


def test_a_name_is_cut_to_what_a_link_can_carry(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = (gguf(folder, "x" * 220 + ".gguf") for folder in (tmp_path, tmp_path / "other"))
    names = [library.open_path(str(path)).name for path in (first, second)]
    assert len(set(names)) == 2
    for name in names:
        view, notes = state.read({"model": [name]})
        assert view.model == name
        assert notes == []


def test_a_name_holds_nothing_that_a_link_leaves_out(tmp_path: Path) -> None:
    assert library.open_path(str(gguf(tmp_path, "a\x07b.gguf"))).name == "ab"


def test_a_list_with_names_and_paths_that_cannot_be_is_read_without_them(tmp_path: Path) -> None:
    library._remember({"x" * 300: str(gguf(tmp_path)), "": str(tmp_path), "long": "/" + "y" * 300})
    assert all(known.origin != "opened" for known in library.present())


def test_a_file_cannot_take_the_name_of_a_model_of_the_catalogue(tmp_path: Path) -> None:
    assert library.open_path(str(gguf(tmp_path, "smollm2-135m.gguf"))).name == "smollm2-135m-2"


@pytest.mark.parametrize("path", ["/etc/passwd.bin", "no such file", "", "~nobody-at-all/x", "x" * 300])
def test_what_is_no_model_is_refused_in_one_sentence(path: str) -> None:
    with pytest.raises(AtlasError):
        library.open_path(path)
    assert all(known.origin != "opened" for known in library.present())


def test_links_that_go_in_circles_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(AtlasError, match="neither a model"):
        library.open_path(str(tmp_path / "a"))


def test_a_name_in_a_link_never_opens_a_path(tmp_path: Path) -> None:
    with pytest.raises(AtlasError):
        library.find(str(gguf(tmp_path)))


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"gone": "/no/such/file"}'])
def test_a_broken_list_is_an_empty_one(content: str) -> None:
    library._list_file().parent.mkdir(parents=True, exist_ok=True)
    library._list_file().write_text(content)
    assert all(known.origin != "opened" for known in library.present())


def test_the_stamp_follows_the_file(tmp_path: Path) -> None:
    path = gguf(tmp_path)
    before = library.open_path(str(path)).stamp
    path.write_bytes(b"GGUF and more")
    assert library.find("tiny").stamp != before


def test_the_list_is_readable(tmp_path: Path) -> None:
    path = gguf(tmp_path, "模型.gguf")
    library.open_path(str(path))
    assert json.loads(library._list_file().read_text("utf-8")) == {"模型": str(path)}


def test_a_model_of_the_hub_is_opened_where_it_was_fetched_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(
        AtlasError, match=r"hf:owner/tiny has not been fetched .* engine\.pretrained get hf:owner/tiny"
    ):
        library.open_path("hf:owner/tiny")
    repository, commit = tmp_path / "cache" / "models--owner--tiny", "c" * 40
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    folder = repository / "snapshots" / commit
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    with pytest.raises(AtlasError, match="has not been fetched"):  # another program needed no weights
        library.open_path("hf:owner/tiny")
    (folder / "model.safetensors").write_bytes(b"")
    known = library.open_path(" hf:owner/tiny ")
    assert (known.name, known.target) == ("tiny", str(folder))
    assert library.open_path(str(folder)) == known
    library.forget("tiny")
    assert library.open_path(str(folder)).name == "tiny"
