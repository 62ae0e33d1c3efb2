"""What an encoder that stands alone ends in: vectors, the logits of tokens, or of classes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.capture import capture, taps
from engine.config import ClassHead, EncoderHead, TokenHead
from engine.model.build import build
from engine.model.pooling import first, mean
from engine.model.transformer import EncoderOnly
from tests.engine.model.any_config import HEADS
from tests.engine.recipes import bert, config, stack

IDS = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 9]])
LENGTHS = torch.tensor([5, 2])
EXACT = {"rtol": 0, "atol": 1e-10}


def made(head: EncoderHead, **changes: Any) -> EncoderOnly:
    """Shaken, since a bias of 0 would hide where it goes."""
    model = build(config(encoder=stack(), encoder_head=head, **changes)).double().eval()
    assert isinstance(model, EncoderOnly)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def read(model: EncoderOnly) -> tuple[Tensor, Tensor]:
    """(what leaves the encoder, what leaves the model) for two texts of unequal length."""
    with capture("encoder.final_norm") as trace, torch.no_grad():
        out = model(IDS, LENGTHS)
    return trace["encoder.final_norm"], out


def test_without_a_head_vectors_come_out() -> None:
    model = build(bert()).eval()
    assert "logits" not in taps(model)
    assert not any(name.startswith("head") for name in model.state_dict())
    assert model(IDS).shape == (2, 5, 16)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_token_head_compares_each_place_with_the_vocabulary(tied: bool, bias: bool) -> None:
    model = made(TokenHead(), tied_embeddings=tied, head_bias=bias)
    state = model.state_dict()
    assert {name for name in state if name.startswith("head")} == {
        *["head.weight"] * (not tied),
        *["head.bias"] * bias,
    }
    vectors, logits = read(model)
    oracle = nn.Linear(16, 20, bias, dtype=torch.float64)
    oracle.weight.data = state["embedding.table.weight" if tied else "head.weight"]
    if bias:
        oracle.bias.data = state["head.bias"]
    torch.testing.assert_close(logits, oracle(vectors).detach(), **EXACT)


@pytest.mark.parametrize("pool", ["first", "mean"])
def test_a_class_head_reads_one_vector_a_text(pool: Any) -> None:
    model = made(ClassHead(n_classes=3, pool=pool))
    state = model.state_dict()
    assert {name: tuple(state[name].shape) for name in state if name.startswith("head")} == {
        "head.weight": (3, 16),
        "head.bias": (3,),
    }
    vectors, logits = read(model)
    assert logits.shape == (2, 3)
    for text, length in enumerate(LENGTHS.tolist()):
        vector = vectors[text, 0].clone()
        if pool == "mean":
            for position in range(1, length):
                vector += vectors[text, position]
            vector /= length
        expected = [float(state["head.weight"][c] @ vector + state["head.bias"][c]) for c in range(3)]
        torch.testing.assert_close(logits[text].tolist(), expected, **EXACT)


@pytest.mark.parametrize("pool", ["first", "mean"])
def test_a_class_depends_on_no_filling(pool: Any) -> None:
    model = made(ClassHead(n_classes=3, pool=pool))
    alone = model(IDS[1:, :2])
    torch.testing.assert_close(model(IDS, LENGTHS)[1:], alone, **EXACT)
    assert (model(IDS)[1:] - alone).abs().max() > 1e-3  # which without lengths would be read


def test_pooling_by_hand() -> None:
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [8.0, float("inf")]], [[5.0, 6.0], [7.0, 8.0], [0.0, 1.0]]])
    lengths = torch.tensor([2, 3])
    assert first(x, lengths).tolist() == [[1, 2], [5, 6]]
    assert mean(x, lengths).tolist() == [[2, 3], [4, 5]]
    assert mean(x[1:], None).tolist() == [[4, 5]]


@pytest.mark.parametrize(
    ("head", "dims", "shape"),
    [
        (TokenHead(), ("batch", "pos", "vocab"), (2, 5, 20)),
        (ClassHead(n_classes=4), ("batch", "class"), (2, 4)),
        (ClassHead(n_classes=4, pool="mean"), ("batch", "class"), (2, 4)),
    ],
)
def test_logits_can_be_heard(head: EncoderHead, dims: tuple[str, ...], shape: tuple[int, ...]) -> None:
    with capture("logits") as trace:
        out = made(head)(IDS)
    assert trace.dims("logits") == dims
    assert trace["logits"].shape == shape
    torch.testing.assert_close(trace["logits"], out.detach())


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_head_changes_nothing_before_it(head: EncoderHead) -> None:
    """The same seed makes the same encoder, whatever it ends in."""
    bare, ended = (build(config(encoder=stack(), encoder_head=h), seed=3) for h in (HEADS["none"], head))
    for name, value in bare.state_dict().items():
        assert torch.equal(ended.state_dict()[name], value), name


def test_a_fresh_class_head_is_xavier_and_has_no_favourite() -> None:
    state = build(config(d_model=64, encoder=stack(), encoder_head=ClassHead(n_classes=200))).state_dict()
    bound = (6 / (64 + 200)) ** 0.5
    assert float(state["head.weight"].abs().max()) == pytest.approx(bound, rel=1e-2)
    assert float(state["head.weight"].std()) == pytest.approx(bound / 3**0.5, rel=2e-2)
    assert state["head.bias"].unique().tolist() == [0.0]
