"""From texts to tensors: filled up on the right to a common length, with the lengths told beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from engine.tokenizers import CharacterTokenizer
from engine.training.examples import Example

FILLING = 0  # any id would do: what is real is told by length


@dataclass(frozen=True)
class Batch:
    """Examples as ids. A target is begin, its tokens, end."""

    source_ids: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target_ids: Int[Tensor, "batch target"]
    target_lengths: Int[Tensor, " batch"]


def collate(examples: Sequence[Example], tokenizer: CharacterTokenizer) -> Batch:
    source_ids, source_lengths = padded([tokenizer.ids(example.source) for example in examples])
    target_ids, target_lengths = padded(
        [[tokenizer.bos_id, *tokenizer.ids(example.target), tokenizer.eos_id] for example in examples]
    )
    return Batch(source_ids, source_lengths, target_ids, target_lengths)


def padded(rows: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "batch pos"], Int[Tensor, " batch"]]:
    """Rows of ids as one tensor, and how long each row really is."""
    longest = max(len(row) for row in rows)
    filled = [[*row, *[FILLING] * (longest - len(row))] for row in rows]
    return torch.tensor(filled), torch.tensor([len(row) for row in rows])
