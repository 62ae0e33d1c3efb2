"""A model of the hub on the Models screen: shown before it is fetched, seen from every tab, opened when it is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.pretrained import download, hub
from pages.components import library
from pages.components.language import translations
from pages.components.models import hub_shelf
from tests.engine.pretrained.fake_hub import FakeHub, Repository
from tests.engine.pretrained.test_hub import NAME, content, folder, later, served  # noqa: F401
from tests.engine.pretrained.test_hub_fetch import away  # noqa: F401
from tests.pages.test_frame import html

Start = Callable[..., AppTest]


def ask(app: AppTest, name: str = NAME) -> AppTest:
    app.text_input(key="atlas-path").set_value(f" {name} ").run()
    assert not app.exception
    return app


def buttons(app: AppTest) -> list[str]:
    return [str(button.key) for button in app.button if NAME in str(button.key)]


def test_size_licence_and_files_are_shown_before_anything_is_fetched(open_app: Start, away: FakeHub) -> None:  # noqa: F811
    app = ask(open_app("models", lang="en"))
    files = away.repositories[NAME[3:]].files["main"]
    wanted = ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
    total = sum(len(files[file]) for file in wanted)
    assert f"{total / 1e3:.0f} kB to fetch, licence apache-2.0." in html(app)
    assert "model.safetensors 1" in html(app)
    assert all(file in html(app) for file in wanted)
    assert "onnx.bin" not in html(app)
    assert away.asked == []
    assert app.button(key=f"atlas-get-{NAME}").label == f"Get {NAME}"
    app.button(key=f"atlas-leave-{NAME}").click().run()
    assert buttons(app) == []
    assert download.current(NAME) is None


def test_it_is_fetched_seen_from_every_tab_and_on_the_list_when_it_is_here(
    open_app: Start, away: FakeHub  # noqa: F811
) -> None:  # fmt: skip
    away.slow = 0.4
    first = ask(open_app("models", lang="en"))
    first.button(key=f"atlas-get-{NAME}").click().run()
    second = open_app("models", lang="zh")
    for app in (first, second):
        assert not app.exception
        assert buttons(app) == [f"atlas-cancel-{NAME}"]
        assert app.get("progress")
    away.slow = 0
    fetch = download.current(NAME)
    assert fetch is not None
    fetch.wait(60)
    assert [known.name for known in library.present() if known.origin == "opened"] == ["tiny.model"]
    for app in (first.run(), second.run()):
        assert not app.exception
        assert buttons(app) == []
        app.button(key="atlas-choose-tiny.model").click().run()
        assert app.session_state["atlas.view"].model == "tiny.model"
        assert "atlas-problem" not in html(app)
        assert "decoder.self_attention" in html(app)


def test_a_model_that_is_here_is_opened_without_asking_the_hub(open_app: Start, away: FakeHub) -> None:  # noqa: F811
    hub.fetch(NAME)
    away.down = True
    app = ask(open_app("models", lang="en"))
    assert app.session_state["atlas.view"].model == "tiny.model"
    assert "atlas-problem" not in html(app)


def test_a_cancelled_fetch_says_so_and_can_be_begun_again_or_left(open_app: Start, away: FakeHub) -> None:  # noqa: F811
    away.slow = 0.4
    app = ask(open_app("models", lang="en"))
    app.button(key=f"atlas-get-{NAME}").click().run()
    app.button(key=f"atlas-cancel-{NAME}").click().run()
    fetch = download.current(NAME)
    assert fetch is not None
    fetch.wait(60)
    app.run()
    assert f"The fetch of {NAME} was cancelled; files that had come whole are kept" in html(app)
    assert buttons(app) == [f"atlas-get-{NAME}", f"atlas-leave-{NAME}"]
    app.button(key=f"atlas-leave-{NAME}").click().run()
    assert buttons(app) == []
    assert "was cancelled" not in html(app)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("hf:some/missing", "is not a model that the Hugging Face hub shows to everyone"),
        ("hf:gpt2", "is not a name of the Hugging Face hub"),
        (f"{NAME}@step9", "has no revision step9"),
        ("hf:some/other", "is a model of the family mamba, which is not built here yet"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(open_app: Start, away: FakeHub, name: str, says: str) -> None:  # noqa: F811
    files = {"config.json": b'{"model_type": "mamba"}', "model.safetensors": b"x"}
    away.repositories["some/other"] = Repository({"main": files})
    app = ask(open_app("models", lang="en"), name)
    assert html(app).count("atlas-problem") == 1
    assert says in html(app)
    assert not [button for button in app.button if str(button.key).startswith("atlas-get-hf")]


def test_terms_that_were_not_accepted_are_said_when_it_is_fetched(
    open_app: Start, away: FakeHub, folder: Path  # noqa: F811
) -> None:  # fmt: skip
    away.repositories["some/gated"] = Repository({"main": content(folder)}, licence=None, gated=True)
    app = ask(open_app("models", lang="zh"), "hf:some/gated")
    assert translations("zh")["{fetch} to fetch; the hub names no licence."].split("；")[1] in html(app)
    app.button(key="atlas-get-hf:some/gated").click().run()
    fetch = download.current("hf:some/gated")
    assert fetch is not None
    fetch.wait(60)
    assert "HF_TOKEN" in html(app.run())
    assert "accept its terms" not in html(app), "the sentence is the reader's language's"


def test_many_files_are_not_all_named() -> None:
    missing = {f"model-{n:05}-of-00020.safetensors": 1_000_000 * (n + 1) for n in range(20)}
    remote = hub.Remote("hf:a/b", "a/b", "main", missing, missing, None)
    said = hub_shelf._files(remote)
    assert said.startswith("model-00019-of-00020.safetensors 20 MB · ")
    assert said.count(" · ") == 12
    assert said.endswith(" · 8 more")
