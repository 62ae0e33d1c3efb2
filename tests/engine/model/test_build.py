from __future__ import annotations

import copy
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from engine.capture import capture, taps
from engine.config import (
    Alibi,
    AtlasError,
    FeedForwardConfig,
    Learned,
    NoPositions,
    NormConfig,
    Positions,
    Rope,
    Shaw,
    Sinusoidal,
    T5Buckets,
    TransformerConfig,
)
from engine.model.build import build, build_empty
from engine.model.transformer import DecoderOnly, Embedding, EncoderOnly
from tests.engine.recipes import ASSEMBLIES, bert, config, llama, part, stack, vaswani

every_assembly = pytest.mark.parametrize("settings", ASSEMBLIES.values(), ids=ASSEMBLIES)
IDS = torch.tensor([[1, 2, 3, 4, 5]])
NINE = torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8, 9]])


def run(settings: TransformerConfig, model, ids: Tensor = IDS) -> Tensor:
    return model(ids, ids) if settings.assembly == "encoder-decoder" else model(ids)


@every_assembly
def test_the_same_seed_gives_the_same_weights_and_draws_from_nobody(settings: TransformerConfig) -> None:
    before = torch.get_rng_state()
    one, same, other = build(settings, seed=1), build(settings, seed=1), build(settings, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    weights = [dict(model.named_parameters()) for model in (one, same, other)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    matrices = [name for name, weight in weights[0].items() if weight.ndim == 2]
    assert not any(torch.equal(weights[0][name], weights[2][name]) for name in matrices)


@every_assembly
def test_layers_share_no_weights_and_do_not_start_equal(settings: TransformerConfig) -> None:
    model = build(settings)
    for where, described in settings.stacks.items():
        blocks = model.get_submodule(f"{where}.layers").children()
        layers = [dict(block.named_parameters()) for block in blocks]
        assert len(layers) == described.n_layers
        for first, second in pairwise(layers):
            for name, weight in first.items():
                assert weight.data_ptr() != second[name].data_ptr()
                assert weight.ndim < 2 or not torch.equal(weight, second[name])


def test_parameters_grow_by_the_same_number_with_each_layer() -> None:
    counts = [sum(p.numel() for p in build(llama(n_layers=n)).parameters()) for n in (1, 2, 3)]
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0


@every_assembly
def test_every_parameter_is_set(settings: TransformerConfig) -> None:
    empty = dict(build_empty(settings).named_parameters())
    assert all(parameter.is_meta for parameter in empty.values())
    for name, parameter in build(settings).named_parameters():
        assert parameter.shape == empty[name].shape
        assert parameter.isfinite().all()
        is_norm = name.rsplit(".", 2)[-2] in ("pre", "post", "norm", "embedding_norm")
        if parameter.ndim == 1:
            assert parameter.unique().tolist() == [1.0 if is_norm and name.endswith("weight") else 0.0], name


def test_matrices_are_xavier_and_scaled_embeddings_have_unit_variance() -> None:
    model = build(config(d_model=64, vocab_size=5000, decoder=stack(n_heads=4, d_ff=256)))
    weight = part(model, "decoder.layers.0.feed_forward").W_in.weight.detach()
    bound = (6 / (64 + 256)) ** 0.5
    assert float(weight.abs().max()) == pytest.approx(bound, rel=1e-3)
    assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=2e-2)
    assert float(part(model, "embedding")(torch.arange(5000)[None]).detach().std()) == pytest.approx(
        1, rel=1e-2
    )


@every_assembly
def test_weights_go_into_an_empty_model(settings: TransformerConfig) -> None:
    model = build(settings).eval()
    loaded = build_empty(settings).eval()
    loaded.load_state_dict(model.state_dict(), strict=True, assign=True)
    assert torch.equal(run(settings, loaded), run(settings, model))


def test_norms_by_placement() -> None:
    pre = dict(build(vaswani()).named_parameters())
    assert not any(name.endswith("stack.norm.weight") or ".pre." in name for name in pre)
    model = build(config(encoder=stack(placement="pre"), decoder=stack(placement="pre")))
    names = dict(model.named_parameters())
    assert {"encoder.norm.weight", "decoder.norm.weight"} <= names.keys()
    assert not any(".post." in name for name in names)
    assert "encoder.norm.weight" not in dict(build(vaswani()).named_parameters())


@pytest.mark.parametrize(
    ("placement", "slots", "final"),
    [
        ("pre", {"pre"}, True),
        ("post", {"post"}, False),
        ("sandwich", {"pre", "branch_norm"}, True),
        ("deepnorm", {"post"}, False),
    ],
)
def test_each_residual_has_the_norms_of_its_placement(placement: str, slots: set[str], final: bool) -> None:
    both = stack(placement=placement, n_layers=1)
    names = dict(build(config(encoder=both, decoder=both)).named_parameters())
    for where, sublayers in [("encoder", 2), ("decoder", 3)]:
        found = [name.split(".")[-3:-1] for name in names if name.startswith(where) and "_residual" in name]
        assert {slot for _, slot in found} == slots
        assert len({tuple(pair) for pair in found}) == sublayers * len(slots)
        assert (f"{where}.norm.weight" in names) == final


def test_a_post_norm_stack_has_just_normalized() -> None:
    out = build(bert()).eval()(IDS)
    torch.testing.assert_close(out.mean(-1), torch.zeros(1, 5), rtol=0, atol=1e-5)
    torch.testing.assert_close(out.var(-1, unbiased=False), torch.ones(1, 5), rtol=0, atol=1e-4)


def test_a_norm_may_be_none() -> None:
    model = build(config(decoder=stack(norm=NormConfig(kind="none"))))
    assert not any("residual" in name or "norm" in name for name, _ in model.named_parameters())
    assert model(IDS).isfinite().all()


@pytest.mark.parametrize("tied", [True, False])
def test_scaling_stands_before_positions_and_only_there(tied: bool) -> None:
    """Sixteen ones times sqrt(16) are fours; the sinusoidal waves that follow are not scaled."""
    model = build(vaswani().model_copy(update={"tied_embeddings": tied})).eval()
    assert isinstance(model.embedding, Embedding)
    model.embedding.table.weight.data.fill_(1)
    with capture(["*.embed", "*.position"]) as trace:
        model(IDS, IDS)
    for name in ("encoder", "decoder"):
        assert trace[f"{name}.embed"].unique().tolist() == [4.0]
        assert (trace[f"{name}.position"] - trace[f"{name}.embed"]).abs().max() <= 1 + 1e-6
        assert trace[f"{name}.position"][0, 0, :4].tolist() == [
            4,
            5,
            4,
            5,
        ]  # sin 0 and cos 0 at the first token


def test_parallel_sublayers_read_the_same_stream() -> None:
    """Each has a norm of its own, and both are added to what both have read (GPT-J, GPT-NeoX)."""
    model = build(config(decoder=stack(parallel=True, n_layers=1))).double().eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    with capture("decoder.layers.0.*") as trace:
        model(IDS)
    x = trace["decoder.layers.0.self_attention_residual.resid_pre"]
    layer = part(model, "decoder.layers.0")
    normed = layer.feed_forward_residual.pre(x)
    attended = trace["decoder.layers.0.self_attention.out"]
    expected = x + attended + layer.feed_forward(normed)
    end = trace["decoder.layers.0.feed_forward_residual.resid_post"]
    torch.testing.assert_close(end, expected, rtol=0, atol=1e-10)
    in_turn = x + attended + layer.feed_forward(layer.feed_forward_residual.pre(x + attended))
    assert (end - in_turn).abs().max() > 1e-2


@pytest.mark.parametrize("assembly", ["encoder", "decoder", "both"])
def test_layers_of_attention_only(assembly: str) -> None:
    """The stream is what entered plus what each attention gave; nothing else has weights or is heard."""
    alone = stack(feed_forward=FeedForwardConfig(kind="none"))
    stacks = {name: alone for name in ("encoder", "decoder") if assembly in (name, "both")}
    settings = config(**stacks)
    assert [described.d_ff for described in settings.stacks.values()] == [0] * len(stacks)
    model = build(settings).double().eval()
    assert not any("feed_forward" in name for name in [*model.state_dict(), *taps(model)])
    with capture() as trace:
        run(settings, model)
    for name in stacks:
        given = [
            value for path, value in trace.items() if path.startswith(name) and path.endswith("attention.out")
        ]
        assert len(given) == (4 if (name, assembly) == ("decoder", "both") else 2)
        expected = part(model, f"{name}.norm")(trace[f"{name}.position"] + sum(given))
        torch.testing.assert_close(trace[f"{name}.final_norm"], expected, rtol=0, atol=1e-10)


def test_the_induction_model_has_as_many_parameters_as_it_should() -> None:
    """Two layers of four 64 x 64 matrices with biases and a norm, an embedding of 32 x 64, a last norm."""
    layers = stack(
        n_layers=2, n_heads=2, d_ff=None, positions=Rope(), feed_forward=FeedForwardConfig(kind="none")
    )
    model = build(config(vocab_size=32, d_model=64, decoder=layers))
    assert sum(parameter.numel() for parameter in model.parameters()) == 2 * (4 * 4160 + 128) + 2048 + 128


def test_dropout_falls_on_the_sum_of_embeddings_and_positions() -> None:
    """What is kept is the whole sum, times 1 / (1 - 0.5); what is dropped is all of it."""
    model = build(config(decoder=stack(dropout=0.5))).train()
    with capture(["decoder.position", "decoder.layers.0.self_attention_residual.resid_pre"]) as trace:
        model(IDS)
    summed, entry = trace.values()
    kept = entry != 0
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(entry[kept], 2 * summed[kept])


def test_t5_has_one_bias_for_all_layers_and_none_between_texts() -> None:
    """Three layers, scores not scaled; a decoder's buckets are of what lies to the left only."""
    t5 = {"n_layers": 3, "positions": T5Buckets(buckets=8, farthest=6), "scale": 1.0}
    model = build(config(encoder=stack(**t5), decoder=stack(**t5))).double().eval()
    with capture(["*.scores", "*.scaled", "*.biased"]) as trace:
        model(IDS, IDS)
    for name in ("encoder", "decoder"):
        table = part(model, f"{name}.positions.table").weight
        # one to the right is bucket 4 + 1 where both sides count, and 0 where nothing is to the right
        right, left = (table[5] if name == "encoder" else table[0]), table[1]
        for layer in range(3):
            path = f"{name}.layers.{layer}.self_attention"
            assert torch.equal(trace[f"{path}.scaled"], trace[f"{path}.scores"])
            bias = trace[f"{path}.biased"] - trace[f"{path}.scaled"]
            torch.testing.assert_close(bias[0, :, 0, 1], right, rtol=0, atol=1e-12)
            torch.testing.assert_close(bias[0, :, 1, 0], left, rtol=0, atol=1e-12)
    for layer in range(3):
        path = f"decoder.layers.{layer}.cross_attention"
        assert torch.equal(trace[f"{path}.biased"], trace[f"{path}.scores"])


@pytest.mark.parametrize("tied", [True, False])
def test_tied_weights_are_one_parameter(tied: bool) -> None:
    settings = config(decoder=stack(), tied_embeddings=tied)
    model = build(settings).eval()
    assert isinstance(model, DecoderOnly)
    assert ("head.weight" in model.state_dict()) != tied
    with capture("decoder.final_norm") as trace:
        logits = model(IDS)
    unembedding = model.embedding.table.weight if tied else model.state_dict()["head.weight"]
    torch.testing.assert_close(logits, trace["decoder.final_norm"] @ unembedding.T)


@pytest.mark.parametrize("tied", [True, False])
def test_what_leaves_the_last_stack_is_scaled_before_it_is_compared_with_the_vocabulary(tied: bool) -> None:
    model = build(config(decoder=stack(), tied_embeddings=tied, logit_scale=0.25, head_bias=True)).double()
    state = model.eval().state_dict()
    state["head.bias"].uniform_()
    with capture("decoder.final_norm") as trace:
        logits = model(IDS)
    unembedding = state["embedding.table.weight" if tied else "head.weight"]
    expected = trace["decoder.final_norm"] @ unembedding.T / 4 + state["head.bias"]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-10)


def test_a_copy_of_a_tied_model_is_tied_to_itself() -> None:
    model = build(llama()).eval()
    twin = copy.deepcopy(model)
    twin.get_parameter("embedding.table.weight").data.zero_()
    assert twin(IDS).eq(0).all()
    assert not model(IDS).eq(0).all()


def test_embedding_norm_stands_after_positions_and_segments() -> None:
    model = build(bert()).eval()
    assert isinstance(model, EncoderOnly)
    with capture(
        ["encoder.embed", "encoder.position", "encoder.layers.0.self_attention_residual.resid_pre"]
    ) as trace:
        model(IDS)
    encoder, tokens = model.encoder, model.embedding(IDS)
    torch.testing.assert_close(trace["encoder.embed"], tokens + part(encoder, "segments.table").weight[0])
    positions = part(encoder, "positions.table").weight[:5]
    torch.testing.assert_close(trace["encoder.position"], trace["encoder.embed"] + positions)
    entry = trace["encoder.layers.0.self_attention_residual.resid_pre"]
    torch.testing.assert_close(entry, encoder.embedding_norm(trace["encoder.position"]))


@every_assembly
def test_what_fills_up_has_a_vector_like_any_other_and_nobody_reads_it(settings: TransformerConfig) -> None:
    """Three tokens filled up to five with token 0, whose vector becomes a thousand: what is real stays as it was."""
    model = build(settings).double().eval()
    table = model.get_parameter("embedding.table.weight")
    assert table.norm(dim=1).gt(0).all()
    ids, lengths = torch.tensor([[1, 2, 3, 0, 0], [4, 3, 2, 1, 5]]), torch.tensor([3, 5])
    read = (
        (ids, torch.tensor([[6, 7], [7, 8]]), lengths)
        if settings.decoder and settings.encoder
        else (ids, lengths)
    )
    with torch.no_grad(), capture("*.final_norm") as before:
        model(*read)
    table.data[0] = 1e3
    with torch.no_grad(), capture("*.final_norm") as after:
        model(*read)
    for name, value in after.items():
        real = slice(None) if (settings.encoder and name.startswith("decoder")) else slice(3)
        torch.testing.assert_close(value[0, real], before[name][0, real], rtol=0, atol=1e-10)
        torch.testing.assert_close(value[1], before[name][1], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "scheme", [NoPositions(), Sinusoidal(), Rope(), Shaw(), Alibi(), T5Buckets()], ids=str
)
def test_positions_that_are_not_learned_have_no_end(scheme: Positions) -> None:
    """Nine tokens where eight were planned."""
    model = build(config(max_len=8, decoder=stack(positions=scheme))).eval()
    torch.testing.assert_close(model(NINE)[:, :8], model(NINE[:, :8]), rtol=0, atol=1e-5)


def test_learned_positions_have_an_end() -> None:
    model = build(config(max_len=8, decoder=stack(positions=Learned()))).eval()
    assert model(NINE[:, :8]).isfinite().all()
    with pytest.raises(AtlasError, match=r"^9 tokens are too many: this model has learned 8 positions$"):
        model(NINE)


@every_assembly
def test_computed_tables_are_not_saved(settings: TransformerConfig) -> None:
    state = build(settings).state_dict()
    tables = [name for name in state if "positions" in name]
    assert bool(tables) == any(isinstance(s.positions, Learned) for s in settings.stacks.values())


def test_a_model_may_be_loaded_with_another_length_unless_positions_are_learned() -> None:
    short, long = (build(llama().model_copy(update={"max_len": n})) for n in (32, 64))
    long.load_state_dict(short.state_dict())
    with pytest.raises(RuntimeError, match=r"encoder\.positions\.table"):
        build(bert().model_copy(update={"max_len": 32})).load_state_dict(build(bert()).state_dict())


@every_assembly
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_model_runs_in_any_precision(settings: TransformerConfig, dtype: torch.dtype) -> None:
    model = build(settings).to(dtype).eval()
    with capture("*.weights"):
        out = run(settings, model)
    assert out.dtype == dtype
    assert out.isfinite().all()


def test_dropout_works_in_training_only() -> None:
    model = build(llama(dropout=0.5))
    assert not torch.equal(model(IDS), model(IDS))
    model.eval()
    assert torch.equal(model(IDS), model(IDS))


@pytest.mark.parametrize("dropout", [0.0, 1.0])
def test_dropout_at_its_ends(dropout: float) -> None:
    out = build(llama(dropout=dropout)).train()(IDS)
    assert out.isfinite().all()


def test_the_first_loss_is_that_of_a_guess() -> None:
    """A fresh model knows nothing, ln(13) = 2.565 nats, and is a little too sure of it."""
    untied = config(vocab_size=13, d_model=32, decoder=stack(positions=NoPositions()), tied_embeddings=False)
    model = build(untied)
    ids = torch.randint(13, (8, 20))
    loss = torch.nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    assert 2.4 < loss.item() < 3.6
