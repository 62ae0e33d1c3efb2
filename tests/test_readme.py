"""The README tells the truth: its lines run, its commands exist, its tree is the one on disk."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

import engine
from engine.pretrained import sources
from engine.pretrained.catalogue import CATALOGUE
from engine.tokenizers import CharacterTokenizer
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.test_lora import ALL, adapter

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
FOLDERS, FILES = re.findall(r"```\n(app\.py .*?)```", README, re.DOTALL)
TOP = ("app.py", "engine", "pages")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def told(tree: str) -> set[str]:
    """Every path of a tree, by the indentation of its lines."""
    found, folders = set(), []
    for line in tree.splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        if re.fullmatch(r"[\w.]+/?", name) and depth <= len(folders):
            folders[depth:] = [name.rstrip("/")]
            found.add("/".join(folders))
    return found


def test_the_tree_has_every_file_of_the_app_and_the_engine():
    files = {
        path.relative_to(ROOT).as_posix()
        for top in TOP for path in [ROOT / top, *(ROOT / top).rglob("*")]
        if path.suffix == ".py" and (path.name != "__init__.py" or path.parent.name == "engine")
    }  # fmt: skip
    assert files - told(FILES) == set()


def test_the_folders_are_those_of_the_tree():
    assert told(FOLDERS) < told(FILES)


def test_the_tree_has_nothing_that_is_not_there():
    named = {path for path in told(FILES) if path.startswith((*TOP, "assets", "tests"))}
    assert {path for path in named if not (ROOT / path).exists()} == set()
    for name in re.findall(r"\w+\.\w+", FILES.partition("\nassets/")[2].partition("\ntests/")[0]):
        assert (ROOT / "assets" / name).exists()


NANOGPT = {
    "transformer.wte": (20, 8), "transformer.wpe": (16, 8), "transformer.ln_f": (8,), "lm_head": (20, 8),
    "transformer.h.{}.ln_1": (8,), "transformer.h.{}.attn.c_attn": (24, 8), "transformer.h.{}.attn.c_proj": (8, 8),
    "transformer.h.{}.ln_2": (8,), "transformer.h.{}.mlp.c_fc": (32, 8), "transformer.h.{}.mlp.c_proj": (8, 32),
}  # fmt: skip


def test_the_description_of_ones_own_model_opens_a_nanogpt(tmp_path):
    values = json.loads(blocks("json")[0])
    values["config"] |= {"vocab_size": 20, "d_model": 8, "max_len": 16}
    values["config"]["decoder"] |= {"n_layers": 2, "n_heads": 2}
    tensors = {}
    for name, shape in NANOGPT.items():
        for layer in range(2 if "{}" in name else 1):
            tensors[f"{name.format(layer)}.weight"] = torch.randn(shape)
            if ".h." in name or "ln_f" in name:
                tensors[f"{name.format(layer)}.bias"] = torch.randn(shape[0])
    torch.save(tensors, tmp_path / "ckpt.pt")
    (tmp_path / "atlas.json").write_text(json.dumps(values))
    (tmp_path / "tokenizer.json").write_text(CharacterTokenizer("abcdefghijklmnop").to_json())
    model: Any = engine.load(tmp_path).model
    second = model.decoder.layers[1]
    whole = tensors["transformer.h.1.attn.c_attn.weight"]
    assert second.self_attention.W_k.weight.tolist() == whole[8:16].tolist()
    assert second.feed_forward.W_out.bias.tolist() == tensors["transformer.h.1.mlp.c_proj.bias"].tolist()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to write into, with what the lines read."""
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def of_fetched(block: str) -> bool:
    return any(f'load("{name}")' in block for name in CATALOGUE)


def test_the_lines_for_a_notebook_run(here, capsys):
    ten, *more = (block for block in blocks("python") if not of_fetched(block))
    assert len([line for line in ten.splitlines() if line]) <= 12
    names: dict[str, object] = {}
    exec(ten, names)
    printed = capsys.readouterr().out
    assert "2025-06-03\n('batch', 'head', 'query', 'key')\n" in printed
    for block in more:
        exec(block, names)
    printed = capsys.readouterr().out
    assert printed.startswith("2025-06-03\n")  # greedily
    assert "\nlistening changes nothing 0.0 0.0 True\n" in printed
    assert printed.endswith("torch.Size([1, 6, 4, 4])\n")
    assert (here / "attention.html").stat().st_size > 1_000_000


def test_the_lines_that_need_a_fetched_model_run(here, capsys):
    (block,) = filter(of_fetched, blocks("python"))
    if not sources.status("minilm-l6").present:
        pytest.skip("minilm-l6 is not here: fetch it with `python -m engine.pretrained get minilm-l6`")
    checkpoints.save(checkpoints.llama(), here / "llama")
    adapter(here / "llama-lora", None, ALL)
    exec(block, {"engine": engine})
    pair, tuned = capsys.readouterr().out.splitlines()
    assert pair == str([
        ("[CLS]", 0), ("Is", 0), ("it", 0), ("raining", 0), ("?", 0), ("[SEP]", 0),
        ("Yes", 1), (",", 1), ("it", 1), ("is", 1), (".", 1), ("[SEP]", 1),
    ])  # fmt: skip
    assert tuned == "llama-lora llama"


@pytest.mark.parametrize("module", sorted(set(re.findall(r"python -m ((?:engine|tests)[\w.]+)", README))))
def test_every_command_is_there(module):
    assert find_spec(module)


def test_links_and_pictures_are_there():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists()


def test_ci_runs_the_command_of_the_readme():
    command = "pip install -r tests/requirements.txt && python -m pytest"
    assert f"\n{command}\n" in README
    assert "grep --max-count=1 '^pip install -r tests/' README.md" in (ROOT / ".ci" / "run").read_text()
