"""With a cache a model reads token by token what it would read at once: the same logits, the same rows of weights."""

from __future__ import annotations

import threading

import pytest
import torch

from engine.capture import capture
from engine.config import Alibi, AtlasError, Learned, Linear, NoPositions, Rope, Shaw, Sinusoidal, T5Buckets
from engine.model.build import build
from engine.model.cache import KVCache
from engine.model.transformer import DecoderOnly, EncoderDecoder
from tests.engine.recipes import config, stack

EXACT = {"rtol": 0, "atol": 1e-10}
SCHEMES = {
    "none": NoPositions(),
    "sinusoidal": Sinusoidal(),
    "learned": Learned(),
    "rope": Rope(),
    "rope stretched": Rope(scaling=Linear(factor=4)),
    "shaw": Shaw(reach=3),
    "t5": T5Buckets(buckets=8, farthest=9),
    "alibi": Alibi(),
}


def decoder_only(**changes) -> DecoderOnly:
    model = build(config(decoder=stack(**changes)), seed=1).double().eval()
    assert isinstance(model, DecoderOnly)
    return model


def encoder_decoder(**changes) -> EncoderDecoder:
    """Stacks of unequal depth and heads."""
    both = {"encoder": stack(n_layers=3, n_heads=2, **changes), "decoder": stack(n_layers=2, **changes)}
    model = build(config(**both), seed=1).double().eval()
    assert isinstance(model, EncoderDecoder)
    return model


def text(length: int, rows: int = 2) -> torch.Tensor:
    return torch.randint(0, 20, (rows, length), generator=torch.Generator().manual_seed(length))


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("n_kv_heads", [1, 4])
@torch.no_grad()
def test_token_by_token_is_all_at_once(scheme, n_kv_heads: int) -> None:
    """A prefix of seven read at once, three more at once, then one by one."""
    model, ids = decoder_only(positions=scheme, n_kv_heads=n_kv_heads), text(14)
    with capture() as whole:
        full = model(ids)
    cache, pieces = KVCache(), []
    for start, end in [(0, 7), (7, 10), (10, 11), (11, 12), (12, 13), (13, 14)]:
        with capture() as trace:
            pieces.append(model(ids[:, start:end], cache=cache))
        for layer in (0, 1):
            rows = trace[f"decoder.layers.{layer}.self_attention.weights"]
            assert rows.shape == (2, 4, end - start, end)
            expected = whole[f"decoder.layers.{layer}.self_attention.weights"][:, :, start:end, :end]
            torch.testing.assert_close(rows, expected, **EXACT)
    torch.testing.assert_close(torch.cat(pieces, dim=1), full, **EXACT)
    assert (cache.slots, cache.length.tolist()) == (14, [14, 14])


@pytest.mark.parametrize(
    "changes",
    [{"window": 3}, {"window": 2, "full_layers": (1,)}, {"core": "relu"}, {"qk_norm": True}],
    ids=str,
)
@torch.no_grad()
def test_whatever_the_attention(changes: dict) -> None:
    model, ids, cache = decoder_only(**changes), text(9), KVCache()
    pieces = [model(ids[:, i : i + 1], cache=cache) for i in range(9)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(ids), **EXACT)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@torch.no_grad()
def test_the_memory_is_projected_once(scheme) -> None:
    model, source, target = encoder_decoder(positions=scheme), text(6), text(5)
    lengths = torch.tensor([6, 4])
    full = model(source, target, lengths)
    memory, cache = model.encode(source, lengths), KVCache()
    first = model.decode(target[:, :2], memory, lengths, cache=cache)
    memory.fill_(torch.nan)  # what is kept is not read again
    rest = [model.decode(target[:, i : i + 1], memory, lengths, cache=cache) for i in (2, 3, 4)]
    torch.testing.assert_close(torch.cat([first, *rest], dim=1), full, **EXACT)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@torch.no_grad()
def test_texts_of_unequal_length_go_on_together(scheme) -> None:
    """Filled up on the right, then one token more for each, twice: as if each had been alone."""
    model, ids, cache = decoder_only(positions=scheme), text(7), KVCache()
    lengths = torch.tensor([7, 4])
    model(ids, lengths, cache=cache)
    new = [model(step, cache=cache)[:, 0] for step in text(2).T[..., None]]
    for row, length in enumerate([7, 4]):
        alone = torch.cat([ids[row, :length], text(2)[row]])[None]
        torch.testing.assert_close(
            torch.stack([step[row] for step in new]), model(alone)[0, length:], **EXACT
        )
    assert cache.length.tolist() == [9, 6]


@torch.no_grad()
def test_beams_go_on_from_one_another() -> None:
    model, ids, cache = decoder_only(positions=Rope()), text(5, rows=3), KVCache()
    model(ids, cache=cache)
    cache.reorder([2, 2, 0])
    token = torch.tensor([[1], [2], [3]])
    expected = model(torch.cat([ids[[2, 2, 0]], token], dim=1))[:, -1]
    torch.testing.assert_close(model(token, cache=cache)[:, -1], expected, **EXACT)


@torch.no_grad()
def test_beams_take_their_source_along() -> None:
    model, source, target = encoder_decoder(), text(6, rows=3), text(2, rows=3)
    lengths, rows, cache = torch.tensor([6, 4, 2]), [2, 2, 0], KVCache()
    memory = model.encode(source, lengths)
    model.decode(target, memory, lengths, cache=cache)
    cache.reorder(rows)
    token = torch.tensor([[1], [2], [3]])
    step = model.decode(token, memory[rows], lengths[rows], cache=cache)[:, -1]
    expected = model(source[rows], torch.cat([target[rows], token], dim=1), lengths[rows])[:, -1]
    torch.testing.assert_close(step, expected, **EXACT)


@torch.no_grad()
def test_beams_take_their_length_along() -> None:
    model, ids, cache = decoder_only(positions=Rope()), text(5, rows=3), KVCache()
    lengths, rows = torch.tensor([5, 3, 4]), [1, 0, 2]
    model(ids, lengths, cache=cache)
    cache.reorder(rows)
    token = torch.tensor([[1], [2], [3]])
    step = model(token, cache=cache)[:, -1]
    assert cache.length.tolist() == [4, 6, 5]
    for i, row in enumerate(rows):
        alone = torch.cat([ids[row, : lengths[row]], token[i]])[None]
        torch.testing.assert_close(step[i], model(alone)[0, -1], **EXACT)


@torch.no_grad()
def test_refused_tokens_are_forgotten() -> None:
    model, ids, cache = decoder_only(positions=Learned()), text(8), KVCache()
    model(ids, cache=cache)
    cache.drop(3)
    assert (cache.slots, cache.length.tolist()) == (5, [5, 5])
    other = text(2)
    expected = model(torch.cat([ids[:, :5], other], dim=1))[:, 5:]
    torch.testing.assert_close(model(other, cache=cache), expected, **EXACT)


def test_threads_that_decode_with_caches_of_their_own_hear_only_themselves() -> None:
    """One model, two texts, forty rounds each: the logits and the rows of weights of each text alone."""
    model = decoder_only(positions=Shaw(reach=3), n_kv_heads=2)
    texts = {"one": text(6, rows=1), "other": text(6, rows=1).flip(1)}
    name = "decoder.layers.1.self_attention.weights"

    def decoded(ids: torch.Tensor) -> torch.Tensor:
        """The logits of the last token, and its row, read token by token."""
        cache = KVCache()
        for i in range(ids.shape[1]):
            with capture(name) as trace:
                logits = model(ids[:, i : i + 1], cache=cache)
        return torch.cat([logits.flatten(), trace[name].flatten()])

    with torch.no_grad():
        alone = {who: decoded(ids) for who, ids in texts.items()}
    assert not torch.equal(alone["one"], alone["other"])
    right = dict.fromkeys(texts, 0)

    def work(who: str) -> None:
        with torch.no_grad():
            for _ in range(40):
                right[who] += torch.equal(decoded(texts[who]), alone[who])

    threads = [threading.Thread(target=work, args=(who,)) for who in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == {"one": 40, "other": 40}


@torch.no_grad()
def test_bytes_held() -> None:
    """Keys and values: 2 x 2 layers x 1 text x 2 kv heads x 9 tokens x 4 numbers x 8 bytes."""
    model, cache = decoder_only(n_kv_heads=2), KVCache()
    assert cache.nbytes == 0
    model(text(9, rows=1), cache=cache)
    assert cache.nbytes == 2 * 2 * 1 * 2 * 9 * 4 * 8


@torch.no_grad()
def test_a_second_text_starts_with_a_cache_of_its_own() -> None:
    model, ids = decoder_only(positions=Learned()), text(4)
    first, second = KVCache(), KVCache()
    model(text(9), cache=first)
    torch.testing.assert_close(model(ids, cache=second), model(ids), **EXACT)


@torch.no_grad()
def test_a_cache_serves_one_memory_whatever_rows_are_chosen_of_it() -> None:
    model, cache = encoder_decoder(), KVCache()
    memory, other = model.encode(text(5)), model.encode(text(6))
    model.decode(text(1), memory, cache=cache)
    for wrong in (other, other[:, :5]):
        with pytest.raises(AtlasError, match="this cache holds what was read beside another memory"):
            model.decode(text(1), wrong, cache=cache)
    assert cache.slots == 1
    cache.reorder([1, 1])
    with pytest.raises(AtlasError, match="beside another memory"):
        model.decode(text(1), memory, cache=cache)
    model.decode(text(1), memory[[1, 1]], cache=cache)
    assert cache.slots == 2


@torch.no_grad()
@pytest.mark.parametrize("changes", [{"n_layers": 3}, {"n_heads": 2}, {}])
def test_a_cache_serves_one_model(changes: dict) -> None:
    cache = KVCache()
    decoder_only()(text(3), cache=cache)
    other = decoder_only(**changes)
    with pytest.raises(AtlasError, match="this cache holds what another model has read"):
        other(text(1), cache=cache)
    cache.drop(3)  # empty again, it may serve anybody
    torch.testing.assert_close(other(text(3), cache=cache), other(text(3)), **EXACT)
