"""The RoBERTa family (Liu et al. 2019): BERT whose first positions are for padding, so that texts begin after them.

Its GGUF files go by BERT's name and are read as one, since converters cut these positions off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.config import TransformerConfig
from engine.pretrained import bert
from engine.pretrained.hf_config import not_built, require

if TYPE_CHECKING:
    from torch import Tensor

NAME, TITLE = "roberta", "RoBERTa"
PREFIXES = ("roberta.",)
RENAMES = bert.RENAMES

_PADDING = 1  # the number of the token where a file does not say
_POSITIONS = "encoder.positions.table.weight"


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a RobertaModel; raises AtlasError for missing keys and for what is not built."""
    (rows,) = require(config, "max_position_embeddings")
    if rows <= first(config):
        raise not_built("max_position_embeddings", rows)
    return bert.config_from_hf({**config, "max_position_embeddings": rows - first(config)})


def first(config: dict[str, Any]) -> int:
    """The row of a text's first position: the one after that of padding, which has the token's number."""
    padding = config.get("pad_token_id", _PADDING)
    if isinstance(padding, list):
        raise not_built("pad_token_id", padding)
    return (_PADDING if padding < 0 else padding) + 1


def never_read(config: dict[str, Any]) -> tuple[int, ...]:
    """Padding: it stands at no position of its own, and what follows it in a text would stand one too far."""
    return (first(config) - 1,)


def drop(config: TransformerConfig) -> tuple[str, ...]:
    """What a file may hold that is not needed."""
    return (*bert.DROP, r"lm_head\..*")


def hf_shape(name: str, shape: tuple[int, ...], settings: dict[str, Any]) -> tuple[int, ...]:
    """The table of positions has rows that no token ever stands at."""
    return (shape[0] + first(settings), *shape[1:]) if name == _POSITIONS else shape


def from_hf(name: str, values: Tensor, settings: dict[str, Any]) -> Tensor:
    return values[first(settings) :].clone() if name == _POSITIONS else values
