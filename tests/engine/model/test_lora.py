"""Low-rank updates: nothing changes at the start, nothing of the base ever, and merged is the same function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.capture import taps
from engine.config import AtlasError, ClassHead, FeedForwardConfig, TokenHead, TransformerConfig
from engine.language_model import LanguageModel
from engine.model.build import build
from engine.model.lora import LoRA, add_lora, check_numbers, freeze_all_but_head, merged
from engine.model.transformer import EncoderDecoder, Transformer
from engine.verify import verify
from tests.engine.recipes import ASSEMBLIES, bert, config, language_model, llama, part, stack, vaswani

every_assembly = pytest.mark.parametrize("settings", ASSEMBLIES.values(), ids=ASSEMBLIES)
IDS = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 1]])
SELF = ("W_q", "W_v")
ALL = ("W_q", "W_k", "W_v", "W_o", "W_in", "W_out")


def run(model: Transformer) -> Tensor:
    return model(IDS, IDS) if isinstance(model, EncoderDecoder) else model(IDS)


def adapted(
    settings: TransformerConfig, targets: Sequence[str] = ALL, *, learned: bool = True
) -> Transformer:
    """In double precision; as if it had learned something, since a B of zeros would hide everything."""
    model = build(settings).double().eval()
    add_lora(model, 3, 6.0, targets, seed=1)
    for module in model.modules():
        if isinstance(module, LoRA) and learned:
            nn.init.normal_(module.B, std=0.3)
    return model


def test_the_formula_by_hand() -> None:
    linear = nn.Linear(2, 2)
    linear.weight.data, linear.bias.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 20.0])
    lora = LoRA(linear, rank=2, alpha=6.0, generator=torch.Generator())
    lora.A.data = torch.tensor([[1.0, -1.0], [0.0, 2.0]])
    lora.B.data = torch.tensor([[2.0, 0.0], [0.5, 1.0]])
    # W x + b = (15, 31); A x = (-1, 4); B (A x) = (-2, 3.5); times 6 / 2 = (-6, 10.5)
    assert lora(torch.tensor([1.0, 2.0])).tolist() == [9.0, 41.5]
    # B A = ((2, -2), (0.5, 1.5)), times 3, on top of W
    assert lora.weight.tolist() == [[7.0, -4.0], [4.5, 8.5]]
    assert lora.merge().weight.tolist() == [[7.0, -4.0], [4.5, 8.5]]
    assert lora.merge().bias.tolist() == [10.0, 20.0]
    assert linear.weight.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@every_assembly
def test_nothing_changes_at_the_start(settings: TransformerConfig) -> None:
    plain = build(settings).double().eval()
    assert torch.equal(run(adapted(settings, learned=False)), run(plain))


@every_assembly
def test_merged_is_the_same_function(settings: TransformerConfig) -> None:
    model, plain = adapted(settings), build(settings).double().eval()
    whole = merged(model)
    torch.testing.assert_close(run(whole), run(model), rtol=0, atol=1e-10)
    assert (run(whole) - run(plain)).abs().max() > 1e-2
    assert whole.state_dict().keys() == plain.state_dict().keys()
    assert {name: tap.name for name, tap in taps(whole).items()} == {name: name for name in taps(plain)}
    assert all(parameter.requires_grad for parameter in whole.parameters())
    assert any(isinstance(module, LoRA) for module in model.modules())  # the model itself stays as it was


@every_assembly
def test_training_moves_a_and_b_only(settings: TransformerConfig) -> None:
    model = adapted(settings, learned=False).float().train()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        run(model).square().mean().backward()
        optimizer.step()
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == {name for name in before if name.endswith((".A", ".B"))}
    assert moved == {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    base = build(settings).state_dict()
    for name, value in model.state_dict().items():
        if name not in moved:
            assert torch.equal(value, base[name.replace(".linear.", ".")]), name


def test_how_many_numbers_learn() -> None:
    """rank (in + out) for each matrix: two layers, q from 16 to 16, v from 16 to 8 where heads share values."""
    model = build(llama())
    add_lora(model, 2, 4.0, SELF, seed=0)
    learning = [parameter.numel() for parameter in model.parameters() if parameter.requires_grad]
    assert sum(learning) == 2 * 2 * ((16 + 16) + (16 + 8))
    assert len(learning) == 2 * 2 * 2


def test_every_attention_of_a_decoder_has_its_own() -> None:
    model = adapted(vaswani(), SELF)
    for path in (
        "encoder.layers.1.self_attention", "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention",
    ):  # fmt: skip
        assert isinstance(part(model, path).W_q, LoRA)
        assert isinstance(part(model, path).W_k, nn.Linear)
    assert not torch.equal(
        part(model, "encoder.layers.0.self_attention").W_q.A,
        part(model, "encoder.layers.1.self_attention").W_q.A,
    )


def test_the_same_seed_starts_alike_and_draws_from_nobody() -> None:
    before = torch.get_rng_state()
    starts = []
    for seed in (1, 1, 2):
        model = build(llama())
        add_lora(model, 2, 4.0, SELF, seed)
        starts.append(part(model, "decoder.layers.1.self_attention").W_v.A)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0], starts[2])


@every_assembly
def test_what_must_hold_for_every_model_holds_for_this_one(settings: TransformerConfig) -> None:
    lm = language_model(settings)
    lm = LanguageModel(lm.name, lm.title, settings, lm.tokenizer, adapted(settings))
    assert [check for check in verify(lm) if not check.ok] == []


def test_half_precision_sums_in_fp32() -> None:
    linear = nn.Linear(1, 1, bias=False).to(torch.bfloat16)
    linear.weight.data.fill_(256.0)
    lora = LoRA(linear, rank=2, alpha=2.0, generator=torch.Generator())
    lora.A.data.fill_(1.0)
    lora.B.data = torch.tensor([[1.0, 2**-8]]).to(torch.bfloat16)
    # 257.004 is nearest to 258; the update would be rounded to 1 first, and 257 then to 256
    assert lora.weight.dtype == torch.bfloat16
    assert lora.weight.tolist() == [[258.0]]


# ── the head alone ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "settings",
    [
        config(encoder=stack(), encoder_head=ClassHead(n_classes=3)),
        config(encoder=stack(), encoder_head=TokenHead(), tied_embeddings=False, head_bias=True),
        config(decoder=stack(), tied_embeddings=False, head_bias=True),
    ],
    ids=["classes", "tokens", "decoder"],
)
def test_only_the_head_learns(settings: TransformerConfig) -> None:
    model = build(settings)
    freeze_all_but_head(model)
    learning = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learning == {"head.weight", "head.bias"}
    run(model).square().mean().backward()
    assert {name for name, parameter in model.named_parameters() if parameter.grad is not None} == learning


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("settings", [bert(), llama()], ids=["no head", "tied"])
def test_a_head_that_is_none_of_its_own_cannot_learn_alone(settings: TransformerConfig) -> None:
    model = build(settings)
    with pytest.raises(AtlasError) as refusal:
        freeze_all_but_head(model)
    assert (
        str(refusal.value) == "this model has no head with a matrix of its own, which alone could be trained"
    )
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize(
    ("rank", "targets", "sentence"),
    [
        (2, ("W_q", "W_gate"), "no layer has a matrix called 'W_gate'; there are W_q, W_k, W_v, W_o"),
        (2, (), "no layer has a matrix called ''; there are W_q, W_k, W_v, W_o"),
        (0, ("W_q",), "the rank 0 must be a whole number from 1 to 16"),
        (9, ("W_q", "W_v"), "the rank 9 must be a whole number from 1 to 8"),
    ],
)
def test_what_cannot_be_added_is_refused(rank: int, targets: tuple[str, ...], sentence: str) -> None:
    model = build(config(decoder=stack(n_kv_heads=2, feed_forward=FeedForwardConfig(kind="none"))))
    with pytest.raises(AtlasError) as refusal:
        add_lora(model, rank, 4.0, targets, seed=0)
    assert str(refusal.value) == sentence
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((1.5, 4.0, 0), "the rank 1.5 must be a whole number from 1 to 16"),
        (("2", 4.0, 0), "the rank 2 must be a whole number from 1 to 16"),
        ((17, 4.0, 0), "the rank 17 must be a whole number from 1 to 16"),
        ((2, math.nan, 0), "alpha nan must be a number above 0 and not infinite"),
        ((2, math.inf, 0), "alpha inf must be a number above 0 and not infinite"),
        ((2, 0, 0), "alpha 0 must be a number above 0 and not infinite"),
        ((2, None, 0), "alpha None must be a number above 0 and not infinite"),
        ((2, 4.0, -1), "the seed -1 must be a whole number from 0 to 2^63 - 1"),
        ((2, 4.0, 2**63), "the seed 9223372036854775808 must be a whole number from 0 to 2^63 - 1"),
        ((2, 4.0, 0.5), "the seed 0.5 must be a whole number from 0 to 2^63 - 1"),
    ],
)
def test_numbers_that_make_no_updates(numbers: tuple[Any, Any, Any], sentence: str) -> None:
    with pytest.raises(AtlasError) as refusal:
        check_numbers(*numbers, limit=16)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(("rank", "alpha", "seed"), [(99, 4.0, 0), (2, math.nan, 0), (2, 4.0, -1)])
def test_a_refusal_leaves_the_model_as_it_was(rank: int, alpha: float, seed: int) -> None:
    model = build(llama())
    with pytest.raises(AtlasError):
        add_lora(model, rank, alpha, SELF, seed)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert not any(isinstance(module, LoRA) for module in model.modules())


def test_updates_are_not_piled_up() -> None:
    model = adapted(llama(), SELF)
    with pytest.raises(AtlasError, match="has LoRA's matrices already"):
        add_lora(model, 2, 4.0, SELF, seed=0)
