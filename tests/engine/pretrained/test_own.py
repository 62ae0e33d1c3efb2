"""Models of one's own: nanoGPT's and torch's modules by a table of names, and every way a table can be wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save_file
from torch import nn

import engine
from engine.config import (
    AtlasError,
    FeedForwardConfig,
    Learned,
    NoPositions,
    NormConfig,
    StackConfig,
    TransformerConfig,
)
from engine.pretrained import matching
from engine.tokenizers import CharacterTokenizer

VOCAB, WIDTH, HEADS, LENGTH = 20, 16, 4, 12
TOKENIZER = CharacterTokenizer("abcdefghijklmnop")
IDS = torch.tensor([[4, 9, 7, 5, 13]])

# Karpathy's nanoGPT in as few lines as it takes: the names, the fused projection and the mask it saves are his.


class Block(nn.Module):
    attn: Any
    mlp: Any

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH, bias=bias), nn.LayerNorm(WIDTH, bias=bias)
        self.attn, self.mlp = nn.Module(), nn.Module()
        self.attn.c_attn, self.attn.c_proj = nn.Linear(WIDTH, 3 * WIDTH, bias), nn.Linear(WIDTH, WIDTH, bias)
        self.attn.register_buffer("bias", torch.tril(torch.ones(LENGTH, LENGTH))[None, None])
        self.mlp.c_fc, self.mlp.c_proj = nn.Linear(WIDTH, 4 * WIDTH, bias), nn.Linear(4 * WIDTH, WIDTH, bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = [
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in self.attn.c_attn(self.ln_1(x)).split(WIDTH, dim=2)
        ]
        z = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.attn.c_proj(z.transpose(1, 2).flatten(2))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x))))


class NanoGPT(nn.Module):
    transformer: Any

    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(VOCAB, WIDTH), "wpe": nn.Embedding(LENGTH, WIDTH),
            "h": nn.ModuleList([Block(bias), Block(bias)]), "ln_f": nn.LayerNorm(WIDTH, bias=bias),
        })  # fmt: skip
        self.lm_head = nn.Linear(WIDTH, VOCAB, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        parts = self.transformer
        x = parts["wte"](ids) + parts["wpe"](torch.arange(ids.shape[1]))
        for block in parts["h"]:
            x = block(x)
        return self.lm_head(parts["ln_f"](x))


NANO = TransformerConfig(
    vocab_size=VOCAB, d_model=WIDTH, max_len=LENGTH, scale_embeddings=False,
    decoder=StackConfig(
        n_layers=2, n_heads=HEADS, positions=Learned(), feed_forward=FeedForwardConfig(activation="gelu")
    ),
)  # fmt: skip
NANO_WITHOUT_BIASES = TransformerConfig(
    vocab_size=VOCAB, d_model=WIDTH, max_len=LENGTH, scale_embeddings=False,
    decoder=StackConfig(
        n_layers=2, n_heads=HEADS, positions=Learned(), norm=NormConfig(bias=False), attention_bias=False,
        feed_forward=FeedForwardConfig(activation="gelu", bias=False),
    ),
)  # fmt: skip
LAYER = r"decoder.layers.\1."
NANO_NAMES = [
    (r"wte\.weight", "embedding.table.weight"),
    (r"wpe\.weight", "decoder.positions.table.weight"),
    (r"h\.(\d+)\.ln_1\.(weight|bias)", LAYER + r"self_attention_residual.pre.\2"),
    (r"h\.(\d+)\.ln_2\.(weight|bias)", LAYER + r"feed_forward_residual.pre.\2"),
    (r"h\.(\d+)\.attn\.c_attn\.(weight|bias)", [LAYER + rf"self_attention.W_{part}.\2" for part in "qkv"]),
    (r"h\.(\d+)\.attn\.c_proj\.(weight|bias)", LAYER + r"self_attention.W_o.\2"),
    (r"h\.(\d+)\.mlp\.c_fc\.(weight|bias)", LAYER + r"feed_forward.W_in.\2"),
    (r"h\.(\d+)\.mlp\.c_proj\.(weight|bias)", LAYER + r"feed_forward.W_out.\2"),
    (r"ln_f\.(weight|bias)", r"decoder.norm.\1"),
    (r"lm_head\.weight", None),
]


@pytest.fixture
def nano() -> NanoGPT:
    return stirred(NanoGPT())


def stirred(model: Any) -> Any:
    """Every parameter away from the 0 and 1 it starts with, so that one left out or exchanged shows."""
    for value in model.parameters():
        value.data += 0.3 * torch.randn_like(value)
    return model.eval()


def opened(path: Any, renames: Any = NANO_NAMES, config: Any = NANO, **changes: Any) -> engine.LanguageModel:
    return engine.load(path, config=config, renames=renames, **{"tokenizer": TOKENIZER, **changes})


@pytest.mark.parametrize(
    "wrapper", ["", "module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod.", "model."]
)
def test_nanogpt_as_its_training_loop_saves_it(nano, tmp_path, wrapper):
    state = {wrapper + name: value for name, value in nano.state_dict().items()}
    torch.save(
        {"model": state, "optimizer": {}, "iter_num": 5, "model_args": {"n_layer": 2}}, tmp_path / "ckpt.pt"
    )
    lm = opened(tmp_path / "ckpt.pt")
    torch.testing.assert_close(lm.model(IDS), nano(IDS), rtol=1e-5, atol=1e-5)
    assert lm.card["family"] == "own"
    assert lm.card["stored_as"] == "F32"
    assert lm.trace("abc").tokens[0].label == "a"


def test_nanogpt_without_biases_has_none_in_its_norms_either(tmp_path):
    theirs = stirred(NanoGPT(bias=False))
    torch.save({"model": theirs.state_dict()}, tmp_path / "ckpt.pt")
    lm = opened(tmp_path / "ckpt.pt", config=NANO_WITHOUT_BIASES)
    torch.testing.assert_close(lm.model(IDS), theirs(IDS), rtol=1e-5, atol=1e-5)
    assert not [name for name in lm.model.state_dict() if name.endswith("bias")]
    with pytest.raises(AtlasError, match=r"lacks 17 of the tensors .*\.bias"):
        opened(tmp_path / "ckpt.pt")


def test_a_rule_may_name_the_prefix_or_leave_it(nano, tmp_path):
    torch.save(nano.state_dict(), tmp_path / "ckpt.pt")
    spelt = [
        (pattern if pattern.startswith("lm") else rf"transformer\.{pattern}", name)
        for pattern, name in NANO_NAMES
    ]
    assert torch.equal(
        opened(tmp_path / "ckpt.pt", spelt).model(IDS), opened(tmp_path / "ckpt.pt").model(IDS)
    )


class TorchEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 24, dropout=0.0, batch_first=True)
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.encoder(self.embed(ids))


TORCH = TransformerConfig(
    vocab_size=VOCAB, d_model=WIDTH, max_len=LENGTH, scale_embeddings=False,
    encoder=StackConfig(n_layers=2, n_heads=HEADS, d_ff=24, positions=NoPositions(), placement="post"),
)  # fmt: skip
THEIRS, OURS = r"encoder\.layers\.(\d+)\.", r"encoder.layers.\1."
TORCH_NAMES = [
    (r"embed\.weight", "embedding.table.weight"),
    (THEIRS + r"self_attn\.in_proj_(weight|bias)", [OURS + rf"self_attention.W_{part}.\2" for part in "qkv"]),
    (THEIRS + r"self_attn\.out_proj\.(weight|bias)", OURS + r"self_attention.W_o.\2"),
    (THEIRS + r"linear1\.(weight|bias)", OURS + r"feed_forward.W_in.\2"),
    (THEIRS + r"linear2\.(weight|bias)", OURS + r"feed_forward.W_out.\2"),
    (THEIRS + r"norm1\.(weight|bias)", OURS + r"self_attention_residual.post.\2"),
    (THEIRS + r"norm2\.(weight|bias)", OURS + r"feed_forward_residual.post.\2"),
]


def test_torchs_own_encoder_whose_q_k_and_v_are_one_matrix(tmp_path):
    theirs = stirred(TorchEncoder())
    save_file(theirs.state_dict(), tmp_path / "encoder.safetensors")
    lm = opened(tmp_path / "encoder.safetensors", TORCH_NAMES, TORCH)
    torch.testing.assert_close(lm.model(IDS), theirs(IDS), rtol=1e-5, atol=1e-5)


def test_the_parts_of_a_fused_tensor_may_differ_in_height(tmp_path):
    config = TransformerConfig(
        vocab_size=VOCAB, d_model=8, max_len=LENGTH,
        decoder=StackConfig(n_layers=1, n_heads=4, n_kv_heads=2, attention_bias=False),
    )  # fmt: skip
    state = dict(engine_state(config))
    parts = [state.pop(f"decoder.layers.0.self_attention.W_{part}.weight") for part in "qkv"]
    assert [len(part) for part in parts] == [8, 4, 4]
    save_file({**state, "qkv": torch.cat(parts)}, tmp_path / "own.safetensors")
    names = [("qkv", [f"decoder.layers.0.self_attention.W_{part}.weight" for part in "qkv"])]
    lm = opened(tmp_path / "own.safetensors", names, config)
    for part, expected in zip("qkv", parts, strict=True):
        assert torch.equal(
            lm.model.state_dict()[f"decoder.layers.0.self_attention.W_{part}.weight"], expected
        )


def engine_state(config: TransformerConfig) -> dict[str, torch.Tensor]:
    from engine.model.build import build

    return {name: value.detach().clone() for name, value in build(config, seed=3).state_dict().items()}


def test_without_a_table_the_names_are_ours(tmp_path):
    state = {f"module.{name}": value for name, value in engine_state(NANO).items()}
    save_file(state, tmp_path / "own.safetensors")
    lm = opened(tmp_path / "own.safetensors", None)
    assert torch.equal(lm.model.state_dict()["decoder.norm.weight"], state["module.decoder.norm.weight"])


@pytest.fixture
def folder(nano, tmp_path):
    """The same said in a file beside the weights."""
    torch.save({"model": nano.state_dict()}, tmp_path / "ckpt.pt")
    (tmp_path / "tokenizer.json").write_text(TOKENIZER.to_json())
    write(tmp_path, config=json.loads(NANO.to_json()), renames=NANO_NAMES)
    return tmp_path


def write(folder: Any, **values: Any) -> None:
    (folder / "atlas.json").write_text(json.dumps(values))


def test_a_folder_that_says_it_itself(nano, folder):
    lm = engine.load(folder)
    torch.testing.assert_close(lm.model(IDS), nano(IDS), rtol=1e-5, atol=1e-5)
    assert lm.title == folder.name
    halved = engine.load(folder, dtype="bfloat16")
    assert halved.dtype == torch.bfloat16
    torch.save({}, folder / "old.pt")  # with a second file of weights, it has to say which
    with pytest.raises(AtlasError, match=r"has no model\.safetensors and no pytorch_model\.bin"):
        engine.load(folder)
    write(
        folder,
        config=json.loads(NANO.to_json()),
        renames=NANO_NAMES,
        weights="ckpt.pt",
        tokenizer="tokenizer.json",
    )
    assert torch.equal(engine.load(folder).model(IDS), lm.model(IDS))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"config": None}, r"atlas\.json: the configuration must be a JSON object"),
        ({"config": {"self": 1}}, r"atlas\.json: vocab_size is missing"),
        ({"config": {**NANO.model_dump(), "zz": 1}}, r"atlas\.json: there is no setting called zz"),
        ({"weights": "../ckpt.pt"}, r'"weights" should be the name of a file beside it, not "\.\./ckpt\.pt"'),
        ({"weights": "/ckpt.pt"}, r'"weights" should be the name of a file beside it, not "/ckpt\.pt"'),
        ({"weights": ".."}, r'"weights" should be the name of a file beside it, not "\.\."'),
        ({"weights": ""}, r'"weights" should be the name of a file beside it, not ""'),
        ({"weights": None}, r'"weights" should be the name of a file beside it, not null'),
        (
            {"tokenizer": "sub/tokenizer.json"},
            r'"tokenizer" should be the name of a file beside it, not "sub',
        ),
        (
            {"renames": {"wte": "x"}},
            r'atlas\.json \("renames"\): the table of names is a list of .*, not dict',
        ),
        (
            {"renames": [["x", None]] * 10_001},
            r"atlas\.json .* has 10001 rules, and no more than 10000 are read",
        ),
        (
            {"renames": [["x" * 1001, None]]},
            r"atlas\.json .*: the rule that begins with x+ is longer than 1000",
        ),
        ({"renames": [["x", "y" * 1001]]}, r"the rule that begins with x is longer than 1000"),
        (
            {"renames": [[r".*c_attn\.bias", ["decoder.norm.bias"] * 2]]},
            r"the rule \.\*c_attn\\\.bias gives the name decoder\.norm\.bias twice",
        ),
        ({"renames": [[r"wte\.weight", "foo"]]}, r"transformer\.wte\.weight -> foo"),
        ({"rename": []}, r"atlas\.json should have config, .*: rename is unknown or missing"),
        ({"weights": 3}, r'"weights" should be the name of a file beside it, not 3'),
        ({"weights": "other.pt"}, r"other\.pt is neither a file nor a folder"),
        ({"tokenizer": "vocab.json"}, r"There is no .*vocab\.json, without which text cannot become tokens"),
        ({"renames": "wte"}, "the table of names is a list of rules, not str"),
        ({"renames": [["wte"]]}, r"a rule of the table is a pattern and our name for it.*not \['wte'\]"),
        ({"renames": [["wte", 3]]}, "a rule of the table is a pattern"),
        ({"renames": [3]}, "a rule of the table is a pattern"),
        ({"renames": [["wte(", "embedding.table.weight"]]}, r"the rule wte\( cannot be used"),
        (
            {"renames": [[r"wte\.weight", r"embedding.\3"]]},
            r"the rule wte\\\.weight .*invalid group reference",
        ),
    ],
)
def test_a_description_that_is_wrong(folder, changes, says):
    write(folder, **{"config": json.loads(NANO.to_json()), "renames": NANO_NAMES, **changes})
    with pytest.raises(AtlasError, match=says) as caught:
        engine.load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "pattern", ["(a|aa|a.*)*(.+)+Z", "(.*.*)*.*.*.*.*.*.*!", "((.|..|...){1,90}){1,90}!"]
)
def test_a_pattern_that_finds_no_end(folder, monkeypatch, pattern):
    monkeypatch.setattr(matching, "_SECONDS", 1.0)
    write(folder, config=json.loads(NANO.to_json()), renames=[[pattern, None], *NANO_NAMES])
    with pytest.raises(AtlasError, match=r"atlas\.json .*: matching the names .* takes more than 1 s"):
        engine.load(folder)


@pytest.mark.parametrize("content", ["", "[]", "null", "{}", "[" * 100_000, "\x00"])
def test_a_description_that_is_none(folder, content):
    (folder / "atlas.json").write_text(content)
    with pytest.raises(AtlasError, match=r"atlas\.json (cannot be read|does not hold|should have)"):
        engine.load(folder)


def test_half_a_checkpoint_lists_what_is_missing(nano, tmp_path):
    state = {name: value for name, value in nano.state_dict().items() if ".mlp." not in name}
    torch.save(state, tmp_path / "ckpt.pt")
    with pytest.raises(
        AtlasError, match=r"lacks 8 of the tensors .*\(decoder\.layers\.0\.feed_forward\.W_in\.bias"
    ):
        opened(tmp_path / "ckpt.pt")


def test_a_table_that_matches_nothing_lists_both_sides(nano, tmp_path):
    torch.save(nano.state_dict(), tmp_path / "ckpt.pt")
    for table in ([], [("blocks.*", "embedding.table.weight")]):
        with pytest.raises(
            AtlasError, match=r"lacks 36 .*decoder.*holds 29 that nothing knows \(transformer\.wte"
        ):
            opened(tmp_path / "ckpt.pt", table)


def test_two_tensors_for_one_name(nano, tmp_path):
    torch.save(nano.state_dict(), tmp_path / "ckpt.pt")
    table = [(r"lm_head\.weight", "embedding.table.weight"), *NANO_NAMES]
    with pytest.raises(
        AtlasError, match=r"wte\.weight and lm_head\.weight, which both mean embedding\.table\.weight"
    ):
        opened(tmp_path / "ckpt.pt", table)


def test_a_name_that_the_model_has_not(nano, tmp_path):
    torch.save(nano.state_dict(), tmp_path / "ckpt.pt")
    table = [(r"ln_f\.(weight|bias)", r"decoder.last_norm.\1"), *NANO_NAMES]
    with pytest.raises(AtlasError, match=r"lacks 2 .*decoder\.norm\.bias.*holds 2 that nothing knows"):
        opened(tmp_path / "ckpt.pt", table)


def test_a_shape_that_the_settings_do_not_call_for(nano, tmp_path):
    torch.save(nano.state_dict(), tmp_path / "ckpt.pt")
    heads = TransformerConfig(
        **{**NANO.model_dump(), "decoder": {**NANO.model_dump()["decoder"], "n_kv_heads": 2, "d_ff": 60}}
    )
    with pytest.raises(
        AtlasError, match=r"attn\.c_attn\.\w+ has the shape 48( x 16)? where .* calls for 32( x 16)?"
    ):
        opened(tmp_path / "ckpt.pt", config=heads)


def test_what_belongs_together(nano, tmp_path):
    torch.save(nano.state_dict(), tmp_path / "ckpt.pt")
    with pytest.raises(AtlasError, match="renames belongs to a model of one's own: give its config too"):
        engine.load(tmp_path / "ckpt.pt", renames=NANO_NAMES)
    with pytest.raises(AtlasError, match="config is a TransformerConfig, not dict"):
        opened(tmp_path / "ckpt.pt", config={})
    with pytest.raises(
        AtlasError, match=r"There is no .*tokenizer\.json, without which text cannot become tokens"
    ):
        opened(tmp_path / "ckpt.pt", tokenizer=None)
    with pytest.raises(AtlasError, match=r"one file of a model: open the folder .*, or give its own config"):
        engine.load(tmp_path / "ckpt.pt")
