"""What comes of a file or a folder: a model made of the weights that were read, with its tokenizer."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from engine.config import TransformerConfig
from engine.model.build import build_empty
from engine.model.transformer import Transformer
from engine.tokenizers import Tokenizer


class Loaded(NamedTuple):
    """meta: name, title, family, licence, source, stored_as, parameters; bos_id, eos_id, pad_id or None."""

    config: TransformerConfig
    model: Transformer
    tokenizer: Tokenizer
    meta: dict[str, Any]


def assemble(
    config: TransformerConfig, state: dict[str, Tensor], tokenizer: Tokenizer, meta: dict[str, Any]
) -> Loaded:
    model = build_empty(config)
    model.load_state_dict(state, strict=True, assign=True)
    model.eval()
    meta = {**meta, "parameters": sum(value.numel() for value in state.values())}
    return Loaded(config, model, tokenizer, meta)
