"""What a run begins with, where it goes on from a trained model: its weights, by name and by token.

A trained model is a model's folder, a run's folder (its last snapshot), or one snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from engine.config import AtlasError
from engine.tokenizers import Tokenizer
from engine.training.model_folder import read_tensors, read_tokenizer
from engine.training.runs.folder import RunFolder

BY_TOKEN = ("embedding.table.weight", "head.weight", "head.bias")  # one row a token


@dataclass(frozen=True)
class Start:
    """Where the files of a trained model are."""

    weights: Path
    tokenizer: Path


def start_at(path: Path) -> Start:
    """Raises AtlasError for what is none of the three."""
    if path.suffix == ".safetensors" and path.is_file():
        folder = path.parent if (path.parent / "tokenizer.json").is_file() else path.parent.parent
        return Start(path, folder / "tokenizer.json")
    if (path / "model.safetensors").is_file():
        return Start(path / "model.safetensors", path / "tokenizer.json")
    if snapshots := RunFolder(path).snapshots():
        return Start([*snapshots.values()][-1], path / "tokenizer.json")
    raise AtlasError("{path} is neither a model, nor a run with snapshots, nor a snapshot", path=path)


@torch.no_grad()
def take_over(model: nn.Module, tokenizer: Tokenizer, path: Path) -> set[str]:
    """Give a fresh model the weights of a trained one; names of the parameters that it now has wholly from there.

    Embeddings and token heads are taken token by token, by what each is called; a head that does something else stays
    as it is drawn. All the rest must be the same. Raises AtlasError, one sentence, where it is not, and for files that
    cannot be read.
    """
    start = start_at(path)
    theirs, known = read_tensors(start.weights), pieces(read_tokenizer(start.tokenizer))
    ours = {piece: id for id, piece in enumerate(pieces(tokenizer))}
    rows = [(ours[piece], id) for id, piece in enumerate(known) if piece in ours]
    taken = set()
    for name, weight in model.named_parameters():
        their = theirs.get(name)
        if their is not None and name in BY_TOKEN and by_token(weight, len(ours), their, len(known)):
            to, origin = (list(each) for each in zip(*rows, strict=True))
            weight[to] = their[origin].to(weight)
            taken |= {name} if len(rows) == len(ours) else set()
        elif their is not None and their.shape == weight.shape:
            weight.copy_(their)
            taken.add(name)
        elif not name.startswith("head."):
            raise AtlasError(
                "{path} cannot be gone on from: {name} should be {expected} and is {got}",
                path=start.weights, name=name, expected=tuple(weight.shape),
                got="absent" if their is None else tuple(their.shape),
            )  # fmt: skip
    return taken


def pieces(tokenizer: Tokenizer) -> list[str]:
    """What each token is called, by id."""
    return [tokenizer.piece(id) for id in range(len(tokenizer))]


def by_token(ours: Tensor, our_tokens: int, theirs: Tensor, their_tokens: int) -> bool:
    """Whether both hold one row for each token, rows being alike."""
    return ours.shape == (our_tokens, *theirs.shape[1:]) and len(theirs) == their_tokens
