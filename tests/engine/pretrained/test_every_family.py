"""What must hold for every family there is: its invariants, and that these tests know it."""

from __future__ import annotations

import pytest

import engine
from engine.pretrained import families
from engine.verify import verify
from tests.engine.pretrained import checkpoints, translators


@pytest.mark.parametrize("kind", families.FAMILIES)
def test_every_invariant_holds(kind, tmp_path):
    home = translators if hasattr(translators, kind) else checkpoints
    lm = engine.load(checkpoints.save(getattr(home, kind)(), tmp_path))
    assert [str(check) for check in verify(lm) if not check.ok] == []
    assert lm.card["family"] == kind


def test_the_names_that_files_give_them():
    assert list(families.FAMILIES)[:5] == ["llama", "mistral", "qwen2", "qwen3", "gpt2"]
    assert sorted(families.GGUF_FAMILIES) == ["bert", "gpt2", "gptneox", "llama", "qwen2", "qwen3", "t5"]
    assert len(set(families.TITLES)) == len(families.ALL)
