"""Images in place of texts: patches against a convolution, whole models against transformers' ViT."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.capture import capture
from engine.config import (
    AtlasError,
    ClassHead,
    FeedForwardConfig,
    Learned,
    NormConfig,
    Patches,
    TokenHead,
    TransformerConfig,
)
from engine.model.build import build
from engine.model.inputs import check_images
from engine.model.patches import Patches as PatchEmbedding
from engine.model.transformer import EncoderOnly
from tests.engine.recipes import config, part, stack

CUT = Patches(height=4, width=6, patch=2, channels=3)


def vit(patches: Patches = CUT, **changes: Any) -> TransformerConfig:
    """Pre-Norm, learned positions, the class read from the first vector, as transformers has it."""
    encoder = stack(
        positions=Learned(), norm=NormConfig(eps=1e-12), feed_forward=FeedForwardConfig(activation="gelu")
    )
    settings = {"vocab_size": 5, "max_len": patches.positions, "encoder_head": ClassHead(n_classes=5)}
    return config(encoder=encoder, patches=patches, **(settings | changes))


def images(patches: Patches = CUT) -> Tensor:
    return torch.randn(2, patches.height, patches.width, patches.channels, dtype=torch.float64)


def test_patches_are_a_convolution_that_never_overlaps() -> None:
    module = PatchEmbedding(4, 6, 2, 3, d_model=7).double()
    nn.init.normal_(module.class_token)
    oracle = nn.Conv2d(3, 7, kernel_size=2, stride=2, dtype=torch.float64)
    # (d_model, channel, y, x) -> (d_model, y, x, channel), one row of numbers a patch
    module.projection.weight.data = oracle.weight.data.permute(0, 2, 3, 1).flatten(1)
    module.projection.bias.data = oracle.bias.data  # pyright: ignore[reportOptionalMemberAccess]
    x = images()
    found = module(x)
    assert found.shape == (2, 1 + 2 * 3, 7)
    expected = (
        oracle(x.permute(0, 3, 1, 2)).flatten(2).mT
    )  # (batch, d_model, row, column) -> (batch, patch, d_model)
    torch.testing.assert_close(found[:, 1:], expected, rtol=0, atol=1e-10)
    assert torch.equal(found[:, 0], module.class_token.expand(2, -1))


def test_patches_stand_in_rows_from_the_top_left() -> None:
    """Each matrix row picks one pixel of the patch: what comes out is the picture itself, patch by patch."""
    module = PatchEmbedding(4, 4, 2, 1, d_model=4)
    module.class_token.data.fill_(-1.0)
    module.projection.weight.data = torch.eye(4)
    module.projection.bias.data.zero_()
    picture = torch.arange(16.0).reshape(1, 4, 4, 1)
    assert module(picture)[0].tolist() == [
        [-1, -1, -1, -1],
        [0, 1, 4, 5], [2, 3, 6, 7],
        [8, 9, 12, 13], [10, 11, 14, 15],
    ]  # fmt: skip


OURS = {
    "vit.embeddings.position_embeddings": "encoder.positions.table.weight",
    "vit.embeddings.patch_embeddings.projection": "embedding.projection",
    "vit.embeddings.cls_token": "embedding.class_token",
    "vit.layers.": "encoder.layers.",
    ".attention.q_proj": ".self_attention.W_q",
    ".attention.k_proj": ".self_attention.W_k",
    ".attention.v_proj": ".self_attention.W_v",
    ".attention.o_proj": ".self_attention.W_o",
    ".layernorm_before": ".self_attention_residual.pre",
    ".layernorm_after": ".feed_forward_residual.pre",
    ".mlp.fc1": ".feed_forward.W_in",
    ".mlp.fc2": ".feed_forward.W_out",
    "vit.layernorm": "encoder.norm",
    "classifier": "head",
}


def renamed(name: str) -> str:
    for theirs, ours in OURS.items():
        name = name.replace(theirs, ours)
    return name


@pytest.mark.parametrize("patches", [CUT, Patches(height=8, width=8, patch=4)], ids=["colour", "grey"])
def test_a_whole_model_is_the_one_of_transformers(patches: Patches) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.ViTForImageClassification(
        transformers.ViTConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
            image_size=(patches.height, patches.width), patch_size=patches.patch,
            num_channels=patches.channels, num_labels=5, attn_implementation="eager",
        )
    ).double().eval()  # fmt: skip
    for parameter in theirs.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    model = build(vit(patches)).double().eval()
    state = {renamed(name): value for name, value in theirs.state_dict().items()}
    kernel = state["embedding.projection.weight"]
    state["embedding.projection.weight"] = kernel.permute(0, 2, 3, 1).flatten(1)
    for name in ("embedding.class_token", "encoder.positions.table.weight"):
        state[name] = state[name][0]
    model.load_state_dict(state, strict=True)

    x = images(patches)
    with torch.inference_mode():
        expected = theirs(x.permute(0, 3, 1, 2), output_attentions=True, output_hidden_states=True)
        with capture() as trace:
            logits = model(x)
        theirs.set_attn_implementation("sdpa")
        torch.testing.assert_close(model(x), theirs(x.permute(0, 3, 1, 2)).logits, rtol=0, atol=1e-10)
    close = {"rtol": 0, "atol": 1e-6}  # where it shows its weights, it sums them in fp32
    torch.testing.assert_close(logits, expected.logits, **close)
    assert len(expected.attentions) == 2
    for layer, weights in enumerate(expected.attentions):
        path = f"encoder.layers.{layer}.self_attention"
        torch.testing.assert_close(trace[f"{path}.weights"], weights, **close)
        torch.testing.assert_close(
            trace[f"{path}_residual.resid_pre"], expected.hidden_states[layer], **close
        )


def test_a_mean_over_patches_counts_the_first_vector_too() -> None:
    model = build(vit(encoder_head=ClassHead(n_classes=5, pool="mean"))).double().eval()
    with capture("encoder.final_norm") as trace:
        logits = model(images())
    vectors = trace["encoder.final_norm"]
    assert vectors.shape == (2, 7, 16)
    state = model.state_dict()
    expected = sum(vectors[:, i] for i in range(7)) / 7 @ state["head.weight"].T + state["head.bias"]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-10)


def test_without_a_head_each_patch_has_its_vector() -> None:
    bare = vit().model_copy(update={"encoder_head": TransformerConfig.model_fields["encoder_head"].default})
    assert build(bare).double()(images()).shape == (2, 7, 16)


def test_parameters_are_set_from_the_seed_alone() -> None:
    one, same, other = (build(vit(), seed=seed).state_dict() for seed in (1, 1, 2))
    for name in ("embedding.class_token", "embedding.projection.weight"):
        assert one[name].isfinite().all()
        assert torch.equal(one[name], same[name])
        assert not torch.equal(one[name], other[name])
    assert "embedding.table.weight" not in one


def test_the_digits_model_has_as_many_parameters_as_it_should() -> None:
    """8 x 8 pixels in patches of 2: 4 x 64 + 64, a first vector, 17 positions, two layers, a norm, ten classes."""
    settings = vit(
        Patches(height=8, width=8, patch=2), d_model=64, encoder_head=ClassHead(n_classes=10),
    )  # fmt: skip
    settings = settings.model_copy(update={"encoder": stack(d_ff=128, positions=Learned()).fitted(64)})
    layer = 4 * 4160 + (64 * 128 + 128) + (128 * 64 + 64) + 2 * 128
    expected = 320 + 64 + 17 * 64 + 2 * layer + 128 + 650
    assert sum(parameter.numel() for parameter in build(settings).parameters()) == expected


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (torch.zeros(4, 6, 3), "images must be of shape (batch, 4, 6, 3), not (4, 6, 3)"),
        (torch.zeros(2, 6, 4, 3), "images must be of shape (batch, 4, 6, 3), not (2, 6, 4, 3)"),
        (torch.zeros(2, 4, 6, 1), "images must be of shape (batch, 4, 6, 3), not (2, 4, 6, 1)"),
        (torch.zeros(0, 4, 6, 3), "images must be of shape (batch, 4, 6, 3), not (0, 4, 6, 3)"),
        (torch.zeros(2, 4, 6, 3).long(), "images must be floating-point numbers, not int64"),
        (
            torch.full((1, 4, 6, 3), torch.nan),
            "images must be finite numbers, and these hold some that are not",
        ),
    ],
)
def test_what_is_no_image_of_this_model_is_refused(given: Tensor, sentence: str) -> None:
    with pytest.raises(AtlasError) as refusal:
        check_images(given, (4, 6, 3))
    assert str(refusal.value) == sentence


def test_a_model_refuses_before_a_layer_computes() -> None:
    model = build(vit())
    with pytest.raises(AtlasError, match=r"images must be of shape \(batch, 4, 6, 3\)"), capture():
        model(torch.zeros(2, 4, 4, 3))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"encoder_head": TokenHead()}, "a model that reads images has no tokens to predict in their places"),
        ({"max_len": 6}, "an image becomes 7 positions, but max_len is 6"),
        (
            {"decoder": stack(), "encoder_head": TransformerConfig.model_fields["encoder_head"].default},
            "only an encoder that stands alone reads images",
        ),
    ],
)
def test_models_that_cannot_read_images_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AtlasError) as refusal:
        vit(**changes)
    assert str(refusal.value) == sentence


def test_an_image_is_cut_evenly() -> None:
    assert (CUT.rows, CUT.columns, CUT.positions) == (2, 3, 7)
    with pytest.raises(AtlasError) as refusal:
        Patches(height=8, width=9, patch=4)
    assert str(refusal.value) == "an image of 8 x 9 pixels is not cut evenly into patches of 4"


def test_settings_survive_json() -> None:
    assert TransformerConfig.from_json(vit().to_json()) == vit()


def test_a_model_for_images_is_an_encoder() -> None:
    model = build(vit())
    assert isinstance(model, EncoderOnly)
    assert part(model, "embedding").patch == 2
