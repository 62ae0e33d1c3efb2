from __future__ import annotations

import copy
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from engine.capture import capture, name_taps
from engine.model.attention import CORES, Attention, ReLU, Sight, Softmax, hide, merge, share, split
from engine.model.masks import Causal, Full, Mask, Padding, Window
from engine.model.positions import Alibi, Positions, Rope, Shaw, T5Buckets
from tests.engine.model import by_hand

INF = float("inf")
EXACT = {"rtol": 0, "atol": 1e-10}
AT = torch.arange(6)[None]
MASKS = {
    "full": Full(),
    "causal": Causal(),
    "window": Window(2),
    "causal window": Causal() & Window(1),
    "padding": Padding(torch.tensor([[1] * 6, [1, 1, 1, 0, 0, 0]]) == 1),
    "padding of nothing": Padding(torch.ones(2, 6) == 1),
    "causal padding": Causal() & Padding(torch.tensor([[1] * 6, [1, 1, 1, 0, 0, 0]]) == 1),
}


def attention(n_heads: int = 4, n_kv_heads: int = 4, d_model: int = 12, d_k: int = 3, **kwargs) -> Attention:
    module = Attention(d_model, n_heads, n_kv_heads, d_k, bias=True, **kwargs).double()
    name_taps(module)
    return module


def sight(mask: Mask, n_queries: int = 6, n_keys: int = 6, positions: Positions | None = None) -> Sight:
    at_q, at_k = torch.arange(n_queries)[None], torch.arange(n_keys)[None]
    scheme = positions or Positions()
    turn = scheme.turn(at_q, torch.zeros(1, dtype=torch.float64))
    return Sight(scheme, at_q, at_k, mask(at_q, at_k), turn=turn)


def text(n: int = 6, d_model: int = 12) -> Tensor:
    return torch.randn(2, n, d_model, dtype=torch.float64)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_explicit_steps_equal_loops_over_numbers(mask: Mask, n_kv_heads: int) -> None:
    module, x, here = attention(n_kv_heads=n_kv_heads), text(), sight(mask)
    with capture() as trace:
        module(x, x, here)
    weights, z = by_hand.attention(trace["q"], trace["k"], trace["v"], here.visible)
    torch.testing.assert_close(trace["weights"], torch.tensor(weights, dtype=torch.float64), **EXACT)
    torch.testing.assert_close(trace["z"], torch.tensor(z, dtype=torch.float64), **EXACT)


def slope(h: int, i: int, j: int) -> float:
    """ALiBi with four heads: 1/4, 1/16, 1/64, 1/256 for each step of distance."""
    return -abs(i - j) * 0.25 ** (h + 1)


def bucket(h: int, i: int, j: int) -> float:
    """T5 with four buckets for both sides: itself, left of it, (none), right of it; told by the table of `numbered`."""
    return 10 * h + (0 if i == j else 1 if j < i else 3)


def bucket_left(h: int, i: int, j: int) -> float:
    """T5 with four buckets for the left: distances 0, 1, 2, and all that are more; what is right counts as 0."""
    return 10 * h + min(max(i - j, 0), 3)


def numbered(both_sides: bool) -> T5Buckets:
    """Bucket b of head h holds 10 h + b."""
    scheme = T5Buckets(4, 4, 3, both_sides=both_sides).double()
    scheme.table.weight.data = torch.arange(4.0)[:, None].double() + 10 * torch.arange(4.0).double()
    return scheme


def shaw(scale: float) -> tuple[Shaw, dict]:
    scheme = Shaw(2, 2, 3, scale).double()
    for table in (scheme.keys, scheme.values):
        table.data = torch.randn(2, 5, 3, dtype=torch.float64)
    return scheme, {"a_k": scheme.keys[1].detach(), "a_v": scheme.values[1].detach()}


RULES = {
    "alibi": (Alibi(), {"bias": slope}),
    "t5, both sides": (numbered(True), {"bias": bucket}),
    "t5, left": (numbered(False), {"bias": bucket_left}),
    "shaw": shaw(3**-0.5),
    "no scale": (Positions(), {"scale": 1.0}),
    "no scale, alibi": (Alibi(), {"scale": 1.0, "bias": slope}),
    "half, shaw": tuple(rule if isinstance(rule, Shaw) else {**rule, "scale": 0.5} for rule in shaw(0.5)),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(("scheme", "rules"), RULES.values(), ids=RULES)
def test_schemes_scales_and_cores_equal_loops_over_numbers(
    scheme: Positions, rules: dict, core: str, mask: Mask
) -> None:
    module = attention(n_kv_heads=2, layer=1, scale=rules.get("scale"), core=CORES[core])
    x, here = text(), sight(mask, positions=scheme)
    with capture() as trace:
        out = module(x, x, here)
    told = by_hand.Rules(**rules, core=core)
    weights, z = by_hand.attention(trace["q"], trace["k"], trace["v"], here.visible, told)
    torch.testing.assert_close(trace["weights"], torch.tensor(weights, dtype=torch.float64), **EXACT)
    torch.testing.assert_close(trace["z"], torch.tensor(z, dtype=torch.float64), **EXACT)
    torch.testing.assert_close(module(x, x, here), out, **EXACT)  # fused, where there is a kernel


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("name", ["alibi", "t5, both sides", "t5, left"])
def test_a_bias_equals_torch_scaled_dot_product(name: str, mask: Mask) -> None:
    """As a mask of numbers, with -inf where nobody may look."""
    scheme, bias = RULES[name][0], RULES[name][1]["bias"]
    module, x, here = attention(), text(), sight(mask, positions=scheme)
    with capture() as trace:
        module(x, x, here)
    added = torch.tensor([[[bias(h, i, j) for j in range(6)] for i in range(6)] for h in range(4)]).double()
    added = added.where(here.visible[:, None], -INF)
    expected = F.scaled_dot_product_attention(trace["q"], trace["k"], trace["v"], added)
    torch.testing.assert_close(trace["z"], expected, **EXACT)


@pytest.mark.parametrize("fused", [True, False])
def test_queries_and_keys_have_norms_of_their_own_before_they_are_turned(fused: bool) -> None:
    """RMSNorm over the four numbers of each head, then RoPE; values have none."""
    norms = nn.RMSNorm(4, eps=1e-6), nn.RMSNorm(4, eps=1e-6)
    for norm in norms:
        norm.weight.data = torch.rand(4) + 0.5
    module, x = attention(d_k=4, n_kv_heads=2, norms=norms), text()
    here = sight(Causal(), positions=Rope(100.0, 4))
    q, k, v = (split(linear(x), n) for linear, n in ((module.W_q, 4), (module.W_k, 2), (module.W_v, 2)))
    q, k = (here.positions.rotate(norm(part), here.turn) for norm, part in zip(norms, (q, k), strict=True))
    k, v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)
    z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    with nullcontext() if fused else capture(()):
        out = module(x, x, here)
    torch.testing.assert_close(out, module.W_o(z.transpose(1, 2).flatten(-2)), **EXACT)


def test_relu_weights_by_hand() -> None:
    """Scores 3, -1, 6 and one that is hidden: three can be seen."""
    assert ReLU()(torch.tensor([[[[3.0, -1.0, 6.0, -INF]]]])).tolist() == [[[[1.0, 0.0, 2.0, 0.0]]]]
    assert ReLU()(torch.tensor([[[[-INF, -INF]]]])).tolist() == [[[[0.0, 0.0]]]]


def test_what_a_layer_knows_by_its_number_is_its_own() -> None:
    """Shaw has vectors for each layer, T5's numbers are shared by all."""
    for positions, differ in [(shaw(1.0)[0], True), (numbered(True), False)]:
        q = torch.randn(2, 4, 6, 3, dtype=torch.float64)
        first, second = (positions.bias(q, AT, AT, layer) for layer in (0, 1))
        assert torch.equal(first, second) != differ


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("positions", [Positions(), Rope(10_000.0, 4)], ids=["none", "rope"])
def test_fused_and_explicit_agree(mask: Mask, n_kv_heads: int, positions: Positions) -> None:
    module, x = attention(n_kv_heads=n_kv_heads, d_k=4), text()
    here = sight(mask, positions=positions)
    fused = module(x, x, here)
    with capture(()):
        explicit = module(x, x, here)
    torch.testing.assert_close(fused, explicit, **EXACT)
    single, x = module.float(), x.float()
    here = replace(here, turn=positions.turn(here.at_q, x))
    with capture(()):
        explicit = single(x, x, here)
    torch.testing.assert_close(single(x, x, here), explicit, rtol=0, atol=1e-5)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_explicit_equals_torch_scaled_dot_product(mask: Mask) -> None:
    module, x, here = attention(), text(), sight(mask)
    with capture() as trace:
        module(x, x, here)
    expected = F.scaled_dot_product_attention(trace["q"], trace["k"], trace["v"], here.visible[:, None])
    torch.testing.assert_close(trace["z"], expected, **EXACT)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_equals_torch_multihead_attention(mask: Mask) -> None:
    module, x, here = attention(), text(), sight(mask)
    oracle = nn.MultiheadAttention(12, 4, batch_first=True, dtype=torch.float64)
    oracle.load_state_dict(as_torch_names(module))
    hidden = (~here.visible).expand(2, -1, -1).repeat_interleave(4, dim=0)  # there, True means hidden
    out, weights = oracle(x, x, x, attn_mask=hidden, average_attn_weights=False)
    with capture() as trace:
        mine = module(x, x, here)
    torch.testing.assert_close(mine, out, **EXACT)
    torch.testing.assert_close(trace["weights"], weights, **EXACT)


def as_torch_names(module: Attention) -> dict[str, Tensor]:
    q, k, v = module.W_q, module.W_k, module.W_v
    return {
        "in_proj_weight": torch.cat([q.weight, k.weight, v.weight]),
        "in_proj_bias": torch.cat([q.bias, k.bias, v.bias]),
        "out_proj.weight": module.W_o.weight,
        "out_proj.bias": module.W_o.bias,
    }


def test_cross_attention_reads_a_memory_of_another_length() -> None:
    module, x, memory = attention(), text(3), text(5)
    there = sight(Padding(torch.tensor([[1] * 5, [1, 1, 0, 0, 0]]) == 1), 3, 5)
    oracle = nn.MultiheadAttention(12, 4, batch_first=True, dtype=torch.float64)
    oracle.load_state_dict(as_torch_names(module))
    out, _ = oracle(x, memory, memory, key_padding_mask=~there.visible[:, 0])
    with capture() as trace:
        torch.testing.assert_close(module(x, memory, there), out, **EXACT)
    assert trace["weights"].shape == (2, 4, 3, 5)
    assert trace["visible"].shape == (2, 3, 5)


@pytest.mark.parametrize("lengths", [(1, 1), (1, 5), (2, 7)])
def test_odd_shapes_keep_all_their_axes(lengths: tuple[int, int]) -> None:
    n_queries, n_keys = lengths
    module = attention(n_heads=1, n_kv_heads=1, d_k=12)
    with capture() as trace:
        module(text(n_queries), text(n_keys), sight(Full(), *lengths))
    assert trace["weights"].shape == (2, 1, n_queries, n_keys)


def test_heads_are_split_and_merged_without_mixing_tokens() -> None:
    z = torch.arange(8.0).reshape(1, 2, 2, 2)  # (batch, head, pos, d_k)
    assert merge(z).tolist() == [[[0, 1, 4, 5], [2, 3, 6, 7]]]
    assert torch.equal(split(merge(z), 2), z)


def test_shared_keys_go_to_neighbouring_heads() -> None:
    k = torch.tensor([[[[1.0]], [[2.0]]]])
    assert share(k, 4).flatten().tolist() == [1, 1, 2, 2]


def test_without_positions_tokens_may_be_permuted() -> None:
    module, x = attention(), text()
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    here = sight(Full())
    torch.testing.assert_close(module(x[:, order], x[:, order], here), module(x, x, here)[:, order], **EXACT)


def test_each_step_with_nothing_to_do_hands_on_the_same_tensor() -> None:
    module, x = attention().eval(), text()
    with capture() as trace:
        module(x, x, sight(Full()))
    same = [
        ("q_rotated", "q"),
        ("k_rotated", "k"),
        ("biased", "scaled"),
        ("masked", "biased"),
        ("dropped", "weights"),
    ]
    for later, earlier in same:
        assert trace[later].data_ptr() == trace[earlier].data_ptr(), later


def test_the_chain_from_scores_to_weights() -> None:
    module, x = attention(), text()
    with capture() as trace:
        module(x, x, sight(Causal()))
    torch.testing.assert_close(trace["scores"], trace["q"] @ trace["k"].mT, **EXACT)
    torch.testing.assert_close(trace["scaled"], trace["scores"] / 3**0.5, **EXACT)
    assert torch.equal(trace["masked"].isneginf(), ~trace["visible"][:, None].expand(2, 4, 6, 6))
    torch.testing.assert_close(trace["weights"].sum(-1), torch.ones(2, 4, 6, dtype=torch.float64), **EXACT)
    assert trace["weights"][trace["masked"].isneginf()].eq(0).all()


def test_weights_are_kept_before_dropout() -> None:
    module, x = attention(dropout=0.2), text()
    with capture() as trace:
        module.train()(x, x, sight(Full()))
    torch.testing.assert_close(trace["weights"].sum(-1), torch.ones(2, 4, 6, dtype=torch.float64), **EXACT)
    dropped = trace["dropped"] == 0
    assert dropped.any()
    torch.testing.assert_close(trace["dropped"][~dropped], trace["weights"][~dropped] / 0.8, **EXACT)


def test_with_one_key_its_weight_is_1_whatever_dropout_does() -> None:
    module, x = attention(dropout=0.2).train(), text(1)
    with capture() as trace:
        for _ in range(20):
            module(x, x, sight(Full(), 1, 1))
            assert trace["weights"].unique().tolist() == [1.0]
            assert set(trace["dropped"].unique().tolist()) <= {0.0, 1.25}


@pytest.mark.parametrize("listen", [True, False], ids=["explicit", "fused"])
def test_a_query_that_may_look_nowhere_gets_zeros_and_spoils_nothing(listen: bool) -> None:
    visible = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]).bool()[None]
    at = torch.arange(4)[None]
    module, x = attention(), text(4).requires_grad_()
    if listen:
        with capture(grad=True) as trace:
            out = module(x, x, Sight(Positions(), at, at, visible))
        assert trace["weights"][:, :, 3].eq(0).all()
        assert trace["z"][:, :, 3].eq(0).all()
    else:
        out = module(x, x, Sight(Positions(), at, at, visible))
    assert torch.equal(out[:, 3], module.W_o.bias.expand(2, -1))
    out[:, :2].sum().backward()
    gradients = [x.grad, *(parameter.grad for parameter in module.parameters())]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


def test_a_whole_head_may_be_blinded_by_an_edit() -> None:
    def blind(value: Tensor, _) -> Tensor:
        value[:, 2] = -INF
        return value

    module, x = attention(), text()
    with capture(edits={"masked": blind}) as trace:
        module(x, x, sight(Full()))
    assert trace["weights"][:, 2].eq(0).all()
    torch.testing.assert_close(trace["weights"][:, 3].sum(-1), torch.ones(2, 6, dtype=torch.float64), **EXACT)


def test_a_score_that_is_not_a_number_is_not_hidden() -> None:
    masked = torch.tensor([[[[float("nan"), 1.0], [-INF, -INF]]]])
    weights = Softmax()(masked)
    assert weights[0, 0, 0].isnan().all()
    assert weights[0, 0, 1].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_masks_hold_in_every_precision(dtype: torch.dtype) -> None:
    scores = torch.tensor([[[[-20_000.0, 3.0], [1.0, 1.0]]]], dtype=dtype)
    visible = torch.tensor([[[True, False], [True, True]]])
    weights = Softmax()(hide(scores, visible))
    assert weights.dtype == dtype
    assert weights.tolist() == [[[[1.0, 0.0], [0.5, 0.5]]]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("positions", [Positions(), Alibi(), shaw(1.0)[0]], ids=["none", "alibi", "shaw"])
def test_two_masks_at_once_hide_wholly_in_half_precision(dtype: torch.dtype, positions: Positions) -> None:
    module, here = (
        attention().to(dtype),
        sight(MASKS["causal padding"], positions=copy.deepcopy(positions).to(dtype)),
    )
    with capture() as trace:
        out = module(text().to(dtype), text().to(dtype), here)
    hidden = ~here.visible[:, None].expand(2, 4, 6, 6)
    assert trace["masked"][hidden].isneginf().all()
    assert trace["weights"][hidden].eq(0).all()
    assert trace["weights"].dtype == out.dtype == dtype
    assert out.isfinite().all()


def test_half_precision_is_summed_in_single() -> None:
    """4,096 equal scores: a sum in half precision stalls at 2,048 and gives twice the weight."""
    assert Softmax()(torch.zeros(1, 1, 1, 4096, dtype=torch.float16)).unique().tolist() == [2**-12]
