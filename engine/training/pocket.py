"""Pocket: a Transformer small enough to hold in the head, its weights set by hand.

Three words, one layer, one head, d_model 4, d_k 4. No norm, no position, no bias, a feed-forward layer of
zeros: nothing happens but attention, so every number on screen follows from the tables below.

What the four numbers of a word say (d_model)        What the head compares (d_k)
    0  thing        a noun                               0  an action asks for a thing, an article is half one
    1  action       a verb, and how lively               1  a thing asks for its article
    2  cat or dog   +1 for a cat, -1 for a dog           2  a cat or a dog asks for its own kind
    3  article      the 1, a 0.5                         3  an action turns away from actions

In "the cat sat" the verb does not know who sat: its cat-or-dog number is 0. It asks for a thing, finds the
cat, and takes home what the cat hands over. Only then can the model go on with "purring" and not "barking".
"""

from __future__ import annotations

from pathlib import Path

import torch

from engine.config import N_, FeedForwardConfig, NoPositions, NormConfig, StackConfig, TransformerConfig
from engine.model.build import build_empty
from engine.tokenizers import WordTokenizer
from engine.training.model_folder import save_checkpoint

Number = int | float
Row = tuple[Number, Number, Number, Number]

#               thing action cat/dog article
WORDS: dict[str, Row] = {
    "the":     (0, 0, 0, 1),
    "a":       (0, 0, 0, 0.5),
    "cat":     (1, 0, 1, 0),
    "dog":     (1, 0, -1, 0),
    "sat":     (0, 1, 0, 0),
    "ran":     (0, 2, 0, 0),
    "purring": (0, 1, 1, 0),
    "barking": (0, 1, -1, 0),
}  # fmt: skip

#                        from: thing action cat/dog article
W_Q: tuple[Row, ...] = (
    (0, 2, 0, 0),  # an action asks for a thing
    (1, 0, 0, 0),  # a thing asks for an article
    (0, 0, 1, 0),  # a cat asks for a cat
    (0, 1, 0, 0),  # an action asks ...
)
W_K: tuple[Row, ...] = (
    (2, 0, 0, 1),  # a thing answers, an article half
    (0, 0, 0, 2),  # an article answers
    (0, 0, 1, 0),  # a cat answers, a dog answers no
    (0, -1, 0, 0),  # ... and an action answers no
)
# What is handed over: everything but the action.
W_V: tuple[Row, ...] = ((1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
# One head has nobody to be mixed with.
W_O: tuple[Row, ...] = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))

# What may come next, told from the last word as attention has left it: a noun after an article, a verb after
# a noun (cats sit, dogs run), after a verb the sound of whoever did it.
NEXT: dict[str, Row] = {
    "cat": (-2, 0, 0, 2),
    "dog": (-2, 0, 0, 1.5),
    "sat": (2, -2, 1, 0),
    "ran": (2, -2, -1, 0),
    "purring": (0, 2, 2, 0),
    "barking": (0, 2, -2, 0),
}

CARD = {
    "name": "pocket",
    "title": "Pocket",
    "summary": N_("Three words, four numbers each, one head: small enough to check every product by hand."),
    "licence": "MIT",
    "command": "python -m engine.training pocket --out assets/models/pocket",
    "axes": {
        "d_model": ["thing", "action", "cat or dog", "article"],
        "d_k": ["a thing?", "an article?", "my kind?", "no action?"],
    },
}


def pocket_config(vocab_size: int) -> TransformerConfig:
    decoder = StackConfig(
        n_layers=1,
        n_heads=1,
        d_ff=4,
        positions=NoPositions(),
        norm=NormConfig(kind="none"),
        feed_forward=FeedForwardConfig(bias=False),
        attention_bias=False,
    )
    return TransformerConfig(
        vocab_size=vocab_size,
        d_model=4,
        max_len=4,  # three words and the one that comes next
        decoder=decoder,
        tied_embeddings=False,
        scale_embeddings=False,
    )


def write_pocket(folder: str | Path) -> None:
    """Write the model as a folder that `engine.load` reads."""
    tokenizer = WordTokenizer(WORDS)
    config = pocket_config(len(tokenizer))
    model = build_empty(config)
    model.load_state_dict(weights(tokenizer), strict=True, assign=True)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    save_checkpoint(folder, config, model, tokenizer, {**CARD, "parameters": parameters})


def weights(tokenizer: WordTokenizer) -> dict[str, torch.Tensor]:
    """The tables above under the model's names, rows are outputs; the rows of the special tokens stay 0."""
    layer = "decoder.layers.0."
    matrices = {"W_q": W_Q, "W_k": W_K, "W_v": W_V, "W_o": W_O}
    return {
        "embedding.table.weight": rows(tokenizer, WORDS),
        **{
            f"{layer}self_attention.{name}.weight": torch.tensor(matrix, dtype=torch.float32)
            for name, matrix in matrices.items()
        },
        **{f"{layer}feed_forward.{name}.weight": torch.zeros(4, 4) for name in ("W_in", "W_out")},
        "head.weight": rows(tokenizer, NEXT),
    }


def rows(tokenizer: WordTokenizer, table: dict[str, Row]) -> torch.Tensor:
    """(vocab, d_model): the row of each word in the table, zeros elsewhere."""
    matrix = torch.zeros(len(tokenizer), 4)
    for word, row in table.items():
        matrix[tokenizer.ids(word)[0]] = torch.tensor(row, dtype=matrix.dtype)
    return matrix
