"""Whether the weights at hand can be those of a configuration, before one module is made.

A wrong number in a configuration costs a sentence: twenty thousand layers would take minutes to make, only
to be found missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial

from engine.config import AtlasError, ClassHead, StackConfig, TransformerConfig


def refuse_too_few(
    config: TransformerConfig, held: Mapping[str, tuple[int, ...]], count: int, path: str
) -> None:
    """Raises AtlasError when the configuration calls for more layers than there are, or for a matrix
    larger than all there is.

    held: the shape of each tensor, by its name in the model; count: of numbers, in all tensors together.
    """
    for name, stack in config.stacks.items():
        layers = {match[1] for key in held if (match := re.match(rf"{name}\.layers\.(\d+)\.", key))}
        # without any, the names are those of another family, which whoever renames them lists
        if stack.n_layers > (len(layers) or len(held)):
            raise AtlasError(
                "{path} holds {found} layers of the {stack} and its configuration calls for {needed}: the two "
                "belong to different models.",
                path=path, found=len(layers), stack=name, needed=f"{stack.n_layers:,}",
            )  # fmt: skip
    needed = max(config.d_model * _entries(config), *map(partial(_widest, config), config.stacks.values()))
    if needed > count:
        raise AtlasError(
            "{path} holds {found} numbers in all and its configuration calls for {needed} in one matrix: the "
            "two belong to different models.",
            path=path, found=f"{count:,}", needed=f"{needed:,}" if needed < 10**18 else "10^18",
        )  # fmt: skip


def _entries(config: TransformerConfig) -> int:
    """Rows of the largest table or head, or numbers of a patch."""
    classes = config.encoder_head.n_classes if isinstance(config.encoder_head, ClassHead) else 0
    patches = config.patches
    read = config.vocab_size if patches is None else patches.patch**2 * patches.channels
    return max(read, classes)


def numbers(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """How many numbers tensors of these shapes hold."""
    return sum(math.prod(shape) for shape in shapes.values())


def _widest(config: TransformerConfig, stack: StackConfig) -> int:
    """The numbers in the largest matrix that a stack of any kind has."""
    positions = config.max_len if stack.positions.scheme == "learned" else 0
    return config.d_model * max(positions, stack.n_segments, stack.n_heads * stack.d_k, stack.d_ff)
