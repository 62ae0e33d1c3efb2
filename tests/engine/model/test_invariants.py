"""What must hold for any model that settings can describe, in double precision.

Every variant is tried by name in every assembly, and settings are drawn at random: some each time, and
many with `python -m pytest tests/engine/model/test_invariants.py --hypothesis-profile=long` (see tests/conftest.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from engine.capture import Trace, capture
from engine.config import ClassHead, NoHead, Patches, StackConfig, TransformerConfig
from engine.model.build import build
from engine.model.cache import KVCache
from engine.model.transformer import DecoderOnly, EncoderDecoder, Transformer
from tests.engine.model.any_config import ASSEMBLIES, MAX_LEN, VARIANTS, VOCAB, configs, named
from tests.engine.recipes import part


def close(actual: Tensor, expected: Tensor) -> None:
    """Equal but for rounding: 1e-10, of the largest number where that exceeds 1."""
    size = max(1.0, float(expected.abs().max()))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10 * size)


@dataclass
class Case:
    """A model, two texts of different length, two targets for a decoder with a source, cut into pieces."""

    config: TransformerConfig
    seed: int
    ids: Tensor
    lengths: Tensor
    target: Tensor
    cuts: list[int] = field(default_factory=list)

    @cached_property
    def model(self) -> Transformer:
        """Shaken, because norms of weight 1 and biases of 0 would hide a mistake in where they go."""
        model = build(self.config, self.seed).double().eval()
        generator = torch.Generator().manual_seed(self.seed)
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.data.add_(noise, alpha=0.1)
        return model

    @property
    def written(self) -> Tensor:
        """What the decoder reads."""
        return self.target if self.config.encoder else self.ids

    def run(
        self, ids: Tensor | None = None, lengths: Tensor | None = None, target: Tensor | None = None
    ) -> Tensor:
        ids = self.ids if ids is None else ids
        if isinstance(self.model, EncoderDecoder):
            return self.model(ids, self.target if target is None else target, lengths)
        return self.model(ids, lengths)

    def heard(self, *names: str) -> Trace:
        """What is captured while the padded texts are read."""
        with capture(names) as trace:
            self.run(lengths=self.lengths)
        return trace


# ── what must hold ──────────────────────────────────────────────────────────────────────────────────────────


def the_steps_and_the_fused_kernel_agree(case: Case) -> None:
    fused = case.run(lengths=case.lengths)
    with capture(()):
        explicit = case.run(lengths=case.lengths)
    close(fused, explicit)


def listening_changes_no_bit(case: Case) -> None:
    with capture(()):
        unheard = case.run(lengths=case.lengths)
    with capture():
        heard = case.run(lengths=case.lengths)
    assert torch.equal(heard, unheard)


def rows_sum_to_one_and_hidden_keys_weigh_nothing(case: Case) -> None:
    trace = case.heard("*.weights", "*.visible")
    for name in trace:
        if not name.endswith(".weights"):
            continue
        weights = trace[name]
        visible = trace[name.replace("weights", "visible")][:, None].expand_as(weights)
        assert weights[~visible].eq(0).all()
        assert weights.ge(0).all()
        if case.config.stacks[name.split(".")[0]].core == "softmax":
            close(weights.sum(-1), visible.any(-1).to(weights.dtype))


def a_later_token_changes_no_bit_before_it(case: Case) -> None:
    if case.config.decoder is None:
        return
    changed = case.written.clone()
    changed[:, -1] = (changed[:, -1] + 1) % VOCAB
    after = case.run(target=changed) if case.config.encoder else case.run(ids=changed)
    assert torch.equal(after[:, :-1], case.run()[:, :-1])


def padding_changes_nothing_whatever_it_is(case: Case) -> None:
    length = int(case.lengths[1])
    filled = torch.cat([case.ids, torch.full((2, 3), 5)], dim=1)
    padded = case.run(ids=filled, lengths=case.lengths)[1]
    alone = case.run(ids=case.ids[1:, :length], target=case.target[1:])[0]
    close(padded[: len(alone)], alone)


def heads_add_up_to_what_the_sublayer_gives(case: Case) -> None:
    trace = case.heard("*.z", "*.out")
    for name, z in trace.items():
        if not name.endswith(".z"):
            continue
        path, d_k = name.removesuffix(".z"), z.shape[-1]
        linear = part(case.model, path).W_o
        total = torch.zeros_like(trace[f"{path}.out"])
        for head in range(z.shape[1]):
            total += z[:, head] @ linear.weight[:, head * d_k : (head + 1) * d_k].T
        if linear.bias is not None:
            total += linear.bias
        close(total, trace[f"{path}.out"])


def a_stream_that_is_never_normalized_is_the_sum_of_what_was_added(case: Case) -> None:
    trace = case.heard("*.resid_pre", "*.branch", "*.resid_post")
    for stack, described in case.config.stacks.items():
        if described.placement not in ("pre", "sandwich"):
            continue
        branches = [trace[name] for name in trace if name.startswith(stack) and name.endswith("branch")]
        sublayers = [
            "self_attention",
            *["cross_attention"] * (stack == "decoder" and bool(case.config.encoder)),
        ]
        sublayers += ["feed_forward"] * (described.feed_forward.kind != "none")
        assert len(branches) == len(sublayers) * described.n_layers
        start = trace[f"{stack}.layers.0.self_attention_residual.resid_pre"]
        end = trace[f"{stack}.layers.{described.n_layers - 1}.{sublayers[-1]}_residual.resid_post"]
        close(start + sum(branches), end)


def a_cache_changes_nothing(case: Case) -> None:
    ids, cache = case.written, KVCache()
    edges = [0, *sorted({cut for cut in case.cuts if 0 < cut < ids.shape[1]}), ids.shape[1]]
    pieces = [ids[:, start:end] for start, end in pairwise(edges)]
    if isinstance(case.model, EncoderDecoder):
        memory = case.model.encode(case.ids, case.lengths)
        read = [case.model.decode(piece, memory, case.lengths, cache=cache) for piece in pieces]
        close(torch.cat(read, dim=1), case.run(lengths=case.lengths))
    elif isinstance(case.model, DecoderOnly):
        close(torch.cat([case.model(piece, cache=cache) for piece in pieces], dim=1), case.run())


def settings_survive_json(case: Case) -> None:
    assert TransformerConfig.from_json(case.config.to_json()) == case.config


INVARIANTS: list[Callable[[Case], None]] = [
    the_steps_and_the_fused_kernel_agree,
    listening_changes_no_bit,
    rows_sum_to_one_and_hidden_keys_weigh_nothing,
    a_later_token_changes_no_bit_before_it,
    padding_changes_nothing_whatever_it_is,
    heads_add_up_to_what_the_sublayer_gives,
    a_stream_that_is_never_normalized_is_the_sum_of_what_was_added,
    a_cache_changes_nothing,
    settings_survive_json,
]


# ── for whom ────────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n, n_target = draw(st.integers(2, 8)), draw(st.integers(2, 8))

    def two_texts(n: int) -> Tensor:
        row = st.lists(st.integers(0, VOCAB - 1), min_size=n, max_size=n)
        return torch.tensor(draw(st.lists(row, min_size=2, max_size=2)))

    return Case(
        draw(configs()),
        draw(st.integers(0, 1000)),
        two_texts(n),
        torch.tensor([n, draw(st.integers(1, n))]),
        two_texts(n_target),
        draw(st.lists(st.integers(1, 7), max_size=3)),
    )


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda one: one.__name__)
@given(case=cases())
@settings(max_examples=settings().max_examples // 10)  # a model is made for each
@torch.no_grad()
def test_any_model(invariant: Callable[[Case], None], case: Case) -> None:
    invariant(case)


@pytest.mark.parametrize("assembly", ASSEMBLIES)
@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_every_variant(variant: str, assembly: str) -> None:
    ids = torch.tensor([[1, 2, 3, 4, 5, 6, 7], [8, 9, 1, 2, 0, 0, 3]])
    target = torch.tensor([[2, 10, 4, 4, 1, 7], [3, 3, 5, 8, 6, 2]])
    case = Case(named(variant, assembly), 1, ids, torch.tensor([7, 4]), target, [3, 4])
    for invariant in INVARIANTS:
        invariant(case)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_every_variant_looking_at_images(variant: str) -> None:
    """All of one size, so nothing is filled up; by turns with each head there is for images."""
    head = [NoHead(), ClassHead(n_classes=3), ClassHead(n_classes=3, pool="mean")][len(variant) % 3]
    cut = Patches(height=4, width=6, patch=2, channels=2)
    config = named(variant, "encoder-only").model_copy(update={"patches": cut, "encoder_head": head})
    images = torch.randn(2, 4, 6, 2, dtype=torch.float64)
    case = Case(config, 1, images, torch.tensor([7, 7]), torch.zeros(2, 2))
    for invariant in INVARIANTS:
        if invariant is not padding_changes_nothing_whatever_it_is:
            invariant(case)


@torch.no_grad()
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
    close(with_padding, model(source, target))
    memory = model.encode(padded, lengths)
    for n in range(1, 4):
        step = model.decode(target[:, :n], memory, lengths)
        close(step, with_padding[:, :n])
