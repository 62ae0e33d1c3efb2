"""Writing as a notebook asks for it: greedy unless told otherwise."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
import torch

from engine.config import AtlasError
from engine.decoding import Sampling, beam_search, greedy, target_reader, text_reader
from engine.language_model import LanguageModel
from engine.model.transformer import DecoderOnly, EncoderDecoder
from engine.tokenizers import CharacterTokenizer
from tests.engine.decoding_toys import stirred
from tests.engine.recipes import bert, language_model, llama, vaswani


def wordy(settings, seed: int = 0) -> LanguageModel:
    """What it writes depends on what it has read."""
    lm = language_model(settings.model_copy(update={"tied_embeddings": False}), seed)
    stirred(lm.model)
    return lm


WRITERS = {"decoder-only": wordy(llama()), "encoder-decoder": wordy(vaswani(), seed=1)}
every_writer = pytest.mark.parametrize("lm", WRITERS.values(), ids=WRITERS)


def reader_of(lm: LanguageModel, text: str):
    ids = torch.tensor([lm.encode(text).ids])
    if isinstance(lm.model, EncoderDecoder):
        return target_reader(lm.model, ids), torch.tensor([[1]])
    assert isinstance(lm.model, DecoderOnly)
    return text_reader(lm.model), ids


def limits(lm: LanguageModel, count: int) -> dict[str, Any]:
    return {"max_new_tokens": count, "max_len": 64, "eos_id": 2}


@every_writer
def test_greedy_unless_told_otherwise(lm: LanguageModel) -> None:
    expected = [int(step.ids) for step in greedy(*reader_of(lm, "abca"), **limits(lm, 16))]
    assert [int(step.ids) for step in lm.steps("abca", 16)] == expected
    assert lm.generate("abca") == lm.tokenizer.decode(expected) != ""


@every_writer
def test_drawn_as_the_settings_say(lm: LanguageModel) -> None:
    settings = Sampling(temperature=0.8, top_p=0.9, seed=1)
    assert lm.generate("abca", 12, sampling=settings) == lm.generate("abca", 12, sampling=settings)
    drawn = {lm.generate("abca", 12, sampling=Sampling(temperature=2, seed=seed)) for seed in range(6)}
    assert len(drawn) > 3
    assert all(len(step.kept[0]) <= 3 for step in lm.steps("abca", 4, Sampling(top_k=3)))


@every_writer
def test_with_beams_the_best_text_that_the_search_ends_with(lm: LanguageModel) -> None:
    *_, last = beam_search(*reader_of(lm, "abca"), beams=4, length_penalty=0.5, **limits(lm, 8))
    assert lm.generate("abca", 8, beams=4, length_penalty=0.5) == lm.tokenizer.decode(last.finished[0].ids)
    *_, same = lm.search("abca", 8, beams=4, length_penalty=0.5)
    assert same.finished == last.finished
    *_, one = lm.search("abca", 8, beams=1)
    assert list(one.finished[0].ids) == [int(step.ids) for step in lm.steps("abca", 8)]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_draft_changes_nothing_but_the_work(writer: str) -> None:
    lm, settings = WRITERS[writer], {"decoder-only": llama(), "encoder-decoder": vaswani()}[writer]
    draft = wordy(settings, seed=3)
    rounds = list(lm.speculate("abca", 12, draft))
    written = list(itertools.chain.from_iterable(round.ids for round in rounds))
    assert written == [int(step.ids) for step in lm.steps("abca", 12)]


def test_a_draft_reads_no_further_than_it_can() -> None:
    lm = WRITERS["decoder-only"]
    short = wordy(llama().model_copy(update={"max_len": 9}), seed=3)
    rounds = list(lm.speculate("abca", 12, short))
    assert sum(len(round.ids) for round in rounds) == 5
    assert rounds[-1].stop == "full"


def test_a_draft_with_other_tokens_is_refused() -> None:
    lm = WRITERS["decoder-only"]
    other = LanguageModel("other", "Other", lm.config, CharacterTokenizer("ponmlkjihgfedcba"), lm.model)
    with pytest.raises(AtlasError, match="Other cannot propose tokens to Toy: their tokenizers differ"):
        lm.speculate("abca", 12, other)
    assert json.loads(other.tokenizer.to_json()) != json.loads(lm.tokenizer.to_json())


@every_writer
def test_what_the_tokenizer_says_is_never_written_is_not(lm: LanguageModel) -> None:
    first = [int(step.ids) for step in lm.steps("abca", 1)]
    tokenizer = CharacterTokenizer("abcdefghijklmnop")
    tokenizer.suppressed_ids = tuple(first)
    shy = LanguageModel(lm.name, lm.title, lm.config, tokenizer, lm.model)
    assert all(int(step.ids) not in first for step in shy.steps("abca", 12))
    assert all(not set(first) & set(beam) for step in shy.search("abca", 6) for beam in step.beams)
    assert all(not set(first) & set(round.ids) for round in shy.speculate("abca", 6, shy))


@every_writer
def test_no_tokens_are_no_text(lm: LanguageModel) -> None:
    assert lm.generate("abca", 0) == lm.generate("abca", 0, beams=3) == ""


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beams": 2, "sampling": Sampling()}, "a search with 2 beams draws nothing: leave sampling out"),
        ({"length_penalty": -5}, "length_penalty -5 is out of range"),
        ({"beams": True}, "beams True is out of range"),
        ({"beams": 0}, "beams 0 is out of range: beams = 1, 2, 3"),
        ({"max_new_tokens": -1}, "max_new_tokens -1 is out of range"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AtlasError, match=sentence):
        WRITERS["decoder-only"].generate("abca", **settings)


def test_who_reads_in_both_directions_cannot_write() -> None:
    lm = language_model(bert())
    for writes in (lm.steps, lm.search, lambda text, n: lm.speculate(text, n, lm)):
        with pytest.raises(AtlasError, match="Toy reads in both directions and cannot write"):
            writes("abc", 4)
