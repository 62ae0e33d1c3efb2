"""What must hold for any model that a configuration can describe: drawn at random, in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from torch import Tensor

from engine.capture import capture
from engine.config import (
    FeedForwardConfig,
    Learned,
    NoPositions,
    NormConfig,
    Rope,
    Sinusoidal,
    StackConfig,
    TransformerConfig,
)
from engine.model.build import build
from engine.model.transformer import EncoderDecoder, Transformer
from tests.engine.recipes import part

EXACT = {"rtol": 0, "atol": 1e-10}
VOCAB, MAX_LEN = 11, 12


@st.composite
def stacks(draw) -> StackConfig:
    n_kv_heads = draw(st.integers(1, 3))
    return StackConfig(
        n_layers=draw(st.integers(1, 3)),
        n_heads=n_kv_heads * draw(st.integers(1, 3)),
        n_kv_heads=n_kv_heads,
        d_k=2 * draw(st.integers(1, 3)),
        d_ff=draw(st.integers(1, 6)),
        positions=draw(st.sampled_from([NoPositions(), Sinusoidal(), Learned(), Rope()])),
        norm=NormConfig(kind=draw(st.sampled_from(["layernorm", "rmsnorm"]))),
        placement=draw(st.sampled_from(["pre", "post"])),
        feed_forward=FeedForwardConfig(
            kind=draw(st.sampled_from(["plain", "gated"])),
            activation=draw(st.sampled_from(["relu", "gelu", "gelu_tanh", "silu"])),
            bias=draw(st.booleans()),
        ),
        attention_bias=draw(st.booleans()),
        window=draw(st.none() | st.integers(1, 4)),
        embedding_norm=draw(st.booleans()),
        n_segments=draw(st.integers(0, 2)),
    )


@dataclass
class Case:
    """A model, two texts of different length, and two targets for a decoder that has a source."""

    config: TransformerConfig
    seed: int
    ids: Tensor
    lengths: Tensor
    target: Tensor

    @cached_property
    def model(self) -> Transformer:
        return build(self.config, self.seed).double().eval()

    def run(
        self, ids: Tensor | None = None, lengths: Tensor | None = None, target: Tensor | None = None
    ) -> Tensor:
        ids = self.ids if ids is None else ids
        if isinstance(self.model, EncoderDecoder):
            return self.model(ids, self.target if target is None else target, lengths)
        return self.model(ids, lengths)


@st.composite
def cases(draw) -> Case:
    which = draw(st.sampled_from([("encoder",), ("decoder",), ("encoder", "decoder")]))
    config = TransformerConfig(
        vocab_size=VOCAB,
        d_model=2 * draw(st.integers(1, 6)),
        max_len=MAX_LEN,
        tied_embeddings=draw(st.booleans()),
        scale_embeddings=draw(st.booleans()),
        **{name: draw(stacks()) for name in which},
    )
    n, n_target = draw(st.integers(2, 8)), draw(st.integers(2, 6))
    ids = torch.tensor(
        draw(st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=n, max_size=n), min_size=2, max_size=2))
    )
    return Case(
        config,
        draw(st.integers(0, 1000)),
        ids,
        torch.tensor([n, draw(st.integers(1, n))]),
        ids[:, :1].repeat(1, n_target),
    )


def for_any_model(test):
    quiet = settings(
        max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
    )
    return quiet(given(case=cases())(torch.no_grad()(test)))


@for_any_model
def test_the_steps_and_the_fused_kernel_agree(case: Case) -> None:
    fused = case.run(lengths=case.lengths)
    with capture(()):
        explicit = case.run(lengths=case.lengths)
    torch.testing.assert_close(fused, explicit, **EXACT)


@for_any_model
def test_listening_changes_no_bit(case: Case) -> None:
    with capture(()):
        unheard = case.run(lengths=case.lengths)
    with capture():
        heard = case.run(lengths=case.lengths)
    assert torch.equal(heard, unheard)


@for_any_model
def test_rows_sum_to_one_and_hidden_keys_weigh_nothing(case: Case) -> None:
    with capture(["*.weights", "*.visible"]) as trace:
        case.run(lengths=case.lengths)
    for name, weights in trace.items():
        if name.endswith(".weights"):
            visible = trace[name.replace("weights", "visible")][:, None].expand_as(weights)
            assert weights[~visible].eq(0).all()
            sees_something = visible.any(-1).to(weights.dtype)
            torch.testing.assert_close(weights.sum(-1), sees_something, **EXACT)


@for_any_model
def test_a_later_token_changes_nothing_before_it(case: Case) -> None:
    if case.config.decoder is None:
        return
    changed = (case.target if case.config.encoder else case.ids).clone()
    changed[:, -1] = (changed[:, -1] + 1) % VOCAB
    after = case.run(target=changed) if case.config.encoder else case.run(ids=changed)
    assert torch.equal(after[:, :-1], case.run()[:, :-1])


@for_any_model
def test_padding_changes_nothing_whatever_it_is(case: Case) -> None:
    length = int(case.lengths[1])
    filled = torch.cat([case.ids, torch.full((2, 3), 5)], dim=1)
    padded = case.run(ids=filled, lengths=case.lengths)[1]
    alone = case.run(ids=case.ids[1:, :length], target=case.target[1:])[0]
    torch.testing.assert_close(padded[: len(alone)], alone, **EXACT)


@for_any_model
def test_heads_add_up_to_what_the_sublayer_gives(case: Case) -> None:
    with capture(["*.z", "*.out"]) as trace:
        case.run()
    for name, z in trace.items():
        if name.endswith(".z"):
            path = name.removesuffix(".z")
            linear = part(case.model, path).W_o
            d_k = z.shape[-1]
            total = torch.zeros_like(trace[f"{path}.out"])
            for head in range(z.shape[1]):
                total += z[:, head] @ linear.weight[:, head * d_k : (head + 1) * d_k].T
            if linear.bias is not None:
                total += linear.bias
            torch.testing.assert_close(total, trace[f"{path}.out"], **EXACT)


@for_any_model
def test_a_pre_norm_stream_is_the_sum_of_what_was_added(case: Case) -> None:
    with capture(["*.resid_pre", "*.branch", "*.resid_post"]) as trace:
        case.run()
    for stack, settings_of in case.config.stacks.items():
        if settings_of.placement == "pre":
            branches = [
                value for name, value in trace.items() if name.startswith(stack) and name.endswith("branch")
            ]
            start = trace[f"{stack}.layers.0.self_attention_residual.resid_pre"]
            end = trace[f"{stack}.layers.{settings_of.n_layers - 1}.feed_forward_residual.resid_post"]
            torch.testing.assert_close(start + sum(branches), end, **EXACT)


@for_any_model
def test_settings_survive_json(case: Case) -> None:
    assert TransformerConfig.from_json(case.config.to_json()) == case.config


@pytest.mark.parametrize("lengths", [(4, 0), (0, 0)])
def test_an_empty_source_in_a_batch_stays_finite(lengths: tuple[int, int]) -> None:
    stack = StackConfig(n_layers=1, n_heads=2, d_ff=8)
    model = build(
        TransformerConfig(vocab_size=VOCAB, d_model=8, max_len=MAX_LEN, encoder=stack, decoder=stack)
    )
    ids = torch.ones(2, 4, dtype=torch.long)
    assert isinstance(model, EncoderDecoder)
    out = model(ids, ids, torch.tensor(lengths))
    with capture("*.cross_attention.weights") as trace:
        explicit = model(ids, ids, torch.tensor(lengths))
    assert trace["decoder.layers.0.cross_attention.weights"][1].eq(0).all()
    torch.testing.assert_close(out, explicit, rtol=0, atol=1e-5)
    out[0].sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_source_padding_is_hidden_from_every_target_token_and_in_decoding_too() -> None:
    """The padding's id is an ordinary token, and the target has its own: only lengths tell."""
    stack = StackConfig(n_layers=2, n_heads=2, d_ff=8)
    config = TransformerConfig(vocab_size=VOCAB, d_model=8, max_len=MAX_LEN, encoder=stack, decoder=stack)
    model = build(config).double().eval()
    assert isinstance(model, EncoderDecoder)
    source, target = torch.tensor([[5, 6]]), torch.tensor([[2, 7, 1]])
    padded, lengths = torch.tensor([[5, 6, 0, 0]]), torch.tensor([2])
    with capture("*.cross_attention.weights") as trace:
        with_padding = model(padded, target, lengths)
    for weights in trace.values():
        assert weights.shape == (1, 2, 3, 4)
        assert weights[..., 2:].eq(0).all()
    torch.testing.assert_close(with_padding, model(source, target), **EXACT)
    memory = model.encode(padded, lengths)
    for n in range(1, 4):
        step = model.decode(target[:, :n], memory, lengths)
        torch.testing.assert_close(step, with_padding[:, :n], **EXACT)
