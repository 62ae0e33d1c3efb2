"""Weights and states of a run as safetensors: never code, each file there wholly or not at all.

A state's plain values stand as JSON in the file's header, so that tensors and values cannot come from two moments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from engine.config import AtlasError
from engine.training.records import State
from engine.training.runs.folder import write_whole

VALUES = "values"  # their name in the header
SNAPSHOTS = 40  # about so many of a run are kept
SNAPSHOT_BYTES = 1 << 30  # and no more than fit here, though never fewer than
FEWEST_SNAPSHOTS = 8


def save_state(path: Path, state: State) -> None:
    """It outlives a power cut. Raises OSError when there is no room."""
    path.parent.mkdir(exist_ok=True)
    write_whole(path, save(state.tensors, {VALUES: json.dumps(state.values)}), lasting=True)


def load_state(path: Path) -> State:
    """Raises AtlasError, one sentence, for a file that is damaged or is no state."""
    try:
        with safe_open(path, framework="pt") as file:
            values = json.loads((file.metadata() or {})[VALUES])
            return State({name: file.get_tensor(name) for name in file.keys()}, values)  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise AtlasError(
            "The checkpoint {path} cannot be read ({reason}): duplicate the run to begin anew.",
            path=str(path), reason=str(error),
        ) from None  # fmt: skip


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    path.parent.mkdir(exist_ok=True)
    write_whole(path, save(dict(weights)))


def snapshot_steps(steps: int, bytes_each: int) -> frozenset[int]:
    """After which steps the weights are kept: none, the last, and between them at ever greater distances.

    As evenly spaced on a logarithmic axis as whole numbers can be.
    """
    count = max(FEWEST_SNAPSHOTS, min(SNAPSHOTS, SNAPSHOT_BYTES // bytes_each))
    return frozenset({0, *(round(steps ** (place / (count - 2))) for place in range(count - 1))})
