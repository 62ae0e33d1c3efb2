from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn

from engine.capture import Tap, Trace, capture, listening, name_taps, taps
from engine.config import AtlasError
from engine.edits import zero_head
from engine.model.build import build
from tests.engine.recipes import ASSEMBLIES, llama, part

IDS = torch.tensor([[1, 2, 3, 4, 5]])


class Doubling(nn.Module):
    """The smallest thing with taps: x, 2x, 4x."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = Tap("batch pos")
        self.fourfold = Tap("batch pos")
        name_taps(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.fourfold(2 * self.twice(2 * x))


@pytest.fixture
def doubling() -> Doubling:
    return Doubling()


X = torch.tensor([[1.0, 3.0]])


def test_a_trace_is_a_mapping_in_the_order_of_computation(doubling: Doubling) -> None:
    with capture() as trace:
        doubling(X)
    assert list(trace) == ["twice", "fourfold"]
    assert trace["twice"].tolist() == [[2.0, 6.0]]
    assert trace.dims("twice") == ("batch", "pos")
    assert trace.nbytes == 2 * 2 * 4


def test_names_are_globs(doubling: Doubling) -> None:
    for names, kept in [
        ("f*", ["fourfold"]),
        (["twice"], ["twice"]),
        (["t*", "*old"], ["twice", "fourfold"]),
    ]:
        with capture(names) as trace:
            doubling(X)
        assert list(trace) == kept


def test_without_names_nothing_is_kept_but_edits_work(doubling: Doubling) -> None:
    with capture((), edits={"twice": lambda value, _: value + 1}) as trace:
        out = doubling(X)
    assert len(trace) == 0
    assert out.tolist() == [[6.0, 14.0]]


def test_an_edit_sees_what_came_before_and_changes_what_comes_after(doubling: Doubling) -> None:
    seen: list[list[str]] = []

    def edit(value: Tensor, so_far: Trace) -> Tensor:
        seen.append(list(so_far))
        value.zero_()  # writing into it must not reach any other tap
        return value

    with capture(edits={"fourfold": edit}) as trace:
        out = doubling(X)
    assert seen == [["twice"]]
    assert out.tolist() == trace["fourfold"].tolist() == [[0.0, 0.0]]
    assert trace["twice"].tolist() == [[2.0, 6.0]]


def test_an_edit_that_writes_in_place_spares_the_tap_it_shares_a_tensor_with() -> None:
    """Without a position bias, `biased` is the very tensor that `scaled` recorded."""
    path, model = "decoder.layers.0.self_attention", build(llama()).eval()
    with capture() as whole:
        model(IDS)
    with capture(edits={f"{path}.biased": lambda value, _: value.zero_()}) as edited:
        model(IDS)
    assert torch.equal(edited[f"{path}.scaled"], whole[f"{path}.scaled"])
    assert edited[f"{path}.biased"].eq(0).all()


@pytest.mark.parametrize("wrong", [lambda value, _: value[:, :1], lambda value, _: 3])
def test_an_edit_must_return_the_same_shape(doubling: Doubling, wrong) -> None:
    sentence = r"the edit of twice returned .* but a tensor of shape \(1, 2\)"
    with pytest.raises(AtlasError, match=sentence), capture(edits={"twice": wrong}):
        doubling(X)


@pytest.mark.parametrize("arguments", [{"names": "twise"}, {"edits": {"twise": lambda value, _: value}}])
def test_a_name_that_is_none_is_said_with_its_neighbours(doubling: Doubling, arguments: dict) -> None:
    with pytest.raises(AtlasError, match="no tap is called twise; near it are twice"), capture(**arguments):
        doubling(X)


def test_a_capture_in_which_nothing_runs_says_so() -> None:
    with pytest.raises(AtlasError, match="no model ran"), capture("*.weights"):
        pass


def test_an_exception_passes_and_leaves_nothing_behind(doubling: Doubling) -> None:
    with pytest.raises(RuntimeError, match="own"), capture("no such name"):
        raise RuntimeError("own")
    assert not listening()
    assert doubling(X).tolist() == [[4.0, 12.0]]


def test_an_edit_that_fails_in_the_middle_of_a_model_leaves_nothing_behind(doubling: Doubling) -> None:
    def fail(value: Tensor, _) -> Tensor:
        raise RuntimeError("own")

    with capture() as outer:
        with pytest.raises(RuntimeError, match="own"), capture(edits={"twice": fail}):
            doubling(X)
        assert doubling(X).tolist() == [[4.0, 12.0]]
    assert list(outer) == ["twice", "fourfold"]
    assert not listening()


def test_an_inner_capture_silences_the_outer_and_hands_back(doubling: Doubling) -> None:
    with capture() as outer:
        with capture() as inner:
            doubling(X)
        assert len(inner) == 2
        assert len(outer) == 0
        doubling(10 * X)
    assert outer["twice"].tolist() == [[20.0, 60.0]]
    assert not listening()


def test_frames_are_tidy(doubling: Doubling) -> None:
    with capture() as trace:
        doubling.to(torch.bfloat16)(X.bfloat16())
    frame = trace.frame("twice")
    assert frame.to_dict("list") == {"batch": [0, 0], "pos": [0, 1], "value": [2.0, 6.0]}


@pytest.mark.parametrize("name", ASSEMBLIES)
def test_every_tap_is_heard_under_its_path(name: str) -> None:
    model = build(ASSEMBLIES[name]).eval()
    ids = (IDS, IDS) if name == "encoder-decoder" else (IDS,)
    with capture() as trace:
        model(*ids)
    assert set(trace) == set(taps(model))
    for stack, settings in ASSEMBLIES[name].stacks.items():
        for layer in range(settings.n_layers):
            assert f"{stack}.layers.{layer}.self_attention.weights" in trace
    assert ("logits" in trace) == (name != "encoder-only")
    for tap, value in trace.items():
        assert value.ndim == len(trace.dims(tap)), tap
        assert not value.requires_grad


def test_taps_are_not_in_the_state_dict() -> None:
    model = build(llama())
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


def test_grad_keeps_the_graph() -> None:
    model = build(llama()).eval()
    with capture("*.weights", grad=True) as trace:
        logits = model(IDS)
    weights = trace["decoder.layers.0.self_attention.weights"]
    (gradient,) = torch.autograd.grad(logits[0, -1, 3], weights)
    assert gradient.shape == weights.shape
    assert gradient.abs().sum() > 0


def test_captured_values_may_be_written_to() -> None:
    model = build(llama()).eval()
    before = model(IDS)
    with capture() as trace:
        model(IDS)
    for value in trace.values():
        value.fill_(0)
    assert torch.equal(model(IDS), before)


def test_silencing_a_head_takes_away_what_it_added() -> None:
    model = build(llama()).eval()
    z, out = "decoder.layers.0.self_attention.z", "decoder.layers.0.self_attention.out"
    with capture([z, out]) as whole:
        model(IDS)
    with capture([z, out], edits={z: zero_head(1)}) as edited:
        model(IDS)
    assert edited[z][:, 1].abs().sum() == 0
    d_k = whole[z].shape[-1]
    W_o = part(model, "decoder.layers.0.self_attention").W_o.weight[:, d_k : 2 * d_k]
    torch.testing.assert_close(whole[out] - edited[out], whole[z][:, 1] @ W_o.detach().T)


ATTENTION = "decoder.layers.0.self_attention"
unchecked = contextmanager(inspect.unwrap(capture))  # without the tests' own check of types
REFUSED_EDITS = {
    "a glob": (
        {"*.z": lambda value, _: 0 * value},
        "an edit is for one tap and takes its exact name, not *.z",
    ),
    "a list": ([1], "edits are given by the name of their tap, not as list"),
    "nothing to call": (
        {"head": None},
        "the edit of head must be a function of a value and the trace so far, not NoneType",
    ),
    "one argument": (
        {"head": lambda value: value},
        "the edit of head must be a function of a value and the trace so far, not <lambda>",
    ),
    "the stream": (
        {f"{ATTENTION}.out": zero_head(1)},
        f"{ATTENTION}.out has the axes batch, pos, d_model, none of which counts heads",
    ),
    "a head too many": ({f"{ATTENTION}.z": zero_head(4)}, f"{ATTENTION}.z has no head 4; the last one is 3"),
    "a head before the first": (
        {f"{ATTENTION}.z": zero_head(-1)},
        f"{ATTENTION}.z has no head -1; the last one is 3",
    ),
    "complex numbers": (
        {f"{ATTENTION}.z": lambda value, _: value * 1j},
        (
            f"the edit of {ATTENTION}.z returned strided complex64 cpu, but a tensor that holds a real number for each "
            "place belongs there"
        ),
    ),
    "no numbers": (
        {f"{ATTENTION}.z": lambda value, _: value.to("meta")},
        (
            f"the edit of {ATTENTION}.z returned strided float32 meta, but a tensor that holds a real number for each "
            "place belongs there"
        ),
    ),
}


@pytest.mark.parametrize(("edits", "sentence"), REFUSED_EDITS.values(), ids=REFUSED_EDITS)
def test_an_edit_that_would_be_ignored_or_misapplied_is_refused(edits, sentence: str) -> None:
    model = build(llama()).eval()
    with pytest.raises(AtlasError) as refused, unchecked([], edits):
        model(IDS)
    assert str(refused.value) == sentence


def test_every_axis_of_heads_can_be_silenced() -> None:
    model, name = build(llama()).eval(), f"{ATTENTION}.k"
    with capture([name], {name: zero_head(1)}) as trace:
        model(IDS)
    assert trace.dims(name)[1] == "kv_head"
    assert not trace[name][:, 1].any()
    assert trace[name][:, 0].any()


@pytest.mark.parametrize("head", ["0", 0.0, True, None])
def test_a_head_is_told_by_a_whole_number(head) -> None:
    with pytest.raises(AtlasError, match="a head is told by its number, not by"):
        inspect.unwrap(zero_head)(head)


def test_an_array_is_a_copy_and_its_name_must_be_known(doubling: Doubling) -> None:
    with capture() as trace:
        doubling(X)
    trace.array("twice")[:] = 9
    assert trace["twice"].tolist() == [[2.0, 6.0]]
    for ask in (trace.array, trace.frame):
        with pytest.raises(AtlasError) as refused:
            ask("twic")
        assert str(refused.value) == "this trace holds no twic; near it are twice"


def test_names_that_are_no_texts_are_refused() -> None:
    for names in (5, [5]):
        with pytest.raises(AtlasError) as refused, unchecked(names):
            pass
        assert str(refused.value) == "names are the names of taps or globs, not int"


def test_asking_for_weights_takes_no_other_road() -> None:
    """Unheard, heard, and heard in layer 1 only: the same logits, causal, and the weights are those that were used."""
    model, path = build(llama()).double().eval(), "decoder.layers.1.self_attention"
    ids = torch.tensor([[1, 2, 3, 4, 5, 6]])
    unheard = model(ids)
    with capture() as trace:
        heard = model(ids)
    with capture(f"{path}.*") as only:
        partly = model(ids)
    assert torch.equal(heard, partly)
    assert (heard - unheard).abs().max() < 1e-10
    weights, v = only[f"{path}.weights"], only[f"{path}.v"].repeat_interleave(2, dim=1)
    assert weights.shape == (1, 4, 6, 6)
    assert weights.triu(1).eq(0).all()
    merged = (weights @ v).transpose(1, 2).flatten(-2)
    torch.testing.assert_close(part(model, path).W_o(merged), trace[f"{path}.out"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda visible: visible.to(torch.uint8),
        lambda visible: visible.long(),
        lambda visible: visible.float(),
        lambda visible: torch.where(visible, 0.0, -torch.inf),  # true numbers would say the opposite
    ],
    ids=["uint8", "int64", "float32 of 0 and 1", "float32 of 0 and -inf"],
)
def test_what_may_be_attended_is_said_in_truth_values_only(wrong) -> None:
    model, name = build(llama()).eval(), "decoder.layers.0.self_attention.visible"
    with capture(edits={name: lambda visible, _: visible.clone()}):
        model(IDS)
    dtype = str(wrong(torch.ones(1, dtype=torch.bool)).dtype).removeprefix("torch.")
    sentence = f"the edit of {name} returned {dtype}, but bool belongs there: True means may attend"
    with pytest.raises(AtlasError, match=sentence), capture(edits={name: lambda visible, _: wrong(visible)}):
        model(IDS)


def test_each_thread_hears_its_own_runs_and_no_others() -> None:
    model = build(llama()).eval()
    inputs = {"one": IDS, "other": IDS.flip(1)}
    with torch.no_grad():
        expected = {who: traced(model, ids) for who, ids in inputs.items()}
    wrong: list[str] = []
    counts = dict.fromkeys(inputs, 0)

    def work(who: str) -> None:
        with torch.no_grad():
            for _ in range(100):
                counts[who] += 1
                if not torch.equal(traced(model, inputs[who]), expected[who]):
                    wrong.append(who)

    threads = [threading.Thread(target=work, args=(who,)) for who in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == {"one": 100, "other": 100}
    assert wrong == []


def traced(model: nn.Module, ids: Tensor) -> Tensor:
    with capture("decoder.layers.1.self_attention.weights") as trace:
        model(ids)
    return trace["decoder.layers.1.self_attention.weights"]


def test_memory_stays_flat_over_many_captures() -> None:
    model = build(llama()).eval()

    def tensors() -> int:
        gc.collect()
        return sum(type(thing) is Tensor for thing in gc.get_objects())

    with torch.no_grad():
        traced(model, IDS)
        before = tensors()
        for _ in range(200):
            with capture():
                model(IDS)
        assert tensors() <= before


UNHEARD = """
import timeit
from engine.capture import Tap
tap = Tap("batch")
print(min(timeit.repeat(lambda: tap(1.0), number=2000, repeat=20)) / 2000)
"""


def test_a_tap_nobody_listens_to_is_nearly_free() -> None:
    """In a process of its own, without the shape checks. The aim is 0.1 us; a busy machine gets room."""
    cost = subprocess.run([sys.executable, "-c", UNHEARD], capture_output=True, text=True, check=True).stdout
    assert float(cost) < 1e-6


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiled_model_has_no_taps_in_its_way(doubling: Doubling) -> None:
    compiled = torch.compile(doubling, backend="eager", fullgraph=True)
    with capture(()) as trace:
        assert compiled(X).tolist() == [[4.0, 12.0]]
    assert len(trace) == 0
