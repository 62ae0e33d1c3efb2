"""A text read with every snapshot of a model: what OverTime holds, computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatch
from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.head_place import locate, token_rows
from engine.analysis.head_scores import Looked, scores
from engine.analysis.over_time import Look, OverTime
from engine.config import AtlasError
from engine.training.probe import Probe

if TYPE_CHECKING:
    from engine.language_model import LanguageModel, TextTrace

MOST_TOKENS = 64  # of a text: there is a matrix for every moment


def replay(lm: LanguageModel, moments: Iterable[tuple[int, LanguageModel]], probe: Probe) -> OverTime:
    """lm: the model as it was in the end, which writes a target where none is given; moments: steps made, and the model
    after them. Raises AtlasError for a text that is too long, and where there are no moments.
    """
    probe, steps, traces = fixed(lm, probe), [], []
    names = ["*.weights", "*.visible", *(["logits"] if probe.goes_on else [])]
    for step, then in moments:
        steps.append(step)
        traces.append(then.trace(probe.text, probe.target, names=names))
    if not steps:
        raise AtlasError("There are no snapshots of {model}.", model=lm.title)
    looks = {kind: look(lm, kind, traces, probe) for kind in lm.sites}
    losses = [text_loss(lm, trace) if probe.goes_on else np.nan for trace in traces]
    return OverTime(lm.title, probe, np.array(steps), np.array(losses), looks)


def fixed(lm: LanguageModel, probe: Probe) -> Probe:
    """The probe with what the finished model writes, where it has no target. Raises AtlasError if it is too long."""
    trace = lm.trace(probe.text, probe.target, names=[])
    longest = max(len(text) for text in trace.texts.values())
    if longest > MOST_TOKENS:
        raise AtlasError(
            "this text has {n} tokens; over training time up to {limit} are followed",
            n=longest, limit=MOST_TOKENS,
        )  # fmt: skip
    written = lm.tokenizer.decode(trace.ids) if trace.written else probe.target
    return replace(probe, target=written)


def text_loss(lm: LanguageModel, trace: TextTrace) -> float:
    """Mean nats of each token that a decoder is asked for, its end included where a target has one."""
    ids = trace.ids
    if "decoder" not in lm.config.stacks:
        return float("nan")
    if trace.source is not None and lm.tokenizer.eos_id is not None:
        ids = [*ids, lm.tokenizer.eos_id]
    logits = trace.array("logits", 0).astype(np.float64)[: len(ids) - 1]
    if not len(logits):
        return float("nan")
    tops = logits.max(-1)
    logs = tops + np.log(np.exp(logits - tops[:, None]).sum(-1))
    return float((logs - logits[np.arange(len(logits)), ids[1:]]).mean())


def look(lm: LanguageModel, kind: str, traces: list[TextTrace], probe: Probe) -> Look:
    stack = lm.config.stacks[lm.sites[kind].stack]
    places = [
        locate(lm, kind, layer, head) for layer in range(stack.n_layers) for head in range(stack.n_heads)
    ]
    layers = [places[layer * stack.n_heads] for layer in range(stack.n_layers)]
    queries, keys = token_rows(traces[-1], layers[0])
    truths = [probe.places if fnmatch(place.path, probe.sites) else {} for place in layers]
    weights = [[trace.array(f"{place.path}.weights", 0) for place in layers] for trace in traces]
    found = [
        [
            scores(Looked(values, queries.ids, own=kind != "cross", places=true))
            for values, true in zip(each, truths, strict=True)
        ]
        for each in weights
    ]
    return Look(
        kind=kind,
        places=tuple(places),
        queries=tuple(token.label for token in queries.tokens),
        keys=tuple(token.label for token in keys.tokens),
        weights=np.array([np.concatenate(each) for each in weights], dtype=np.float32),
        visible=np.array([traces[-1].array(f"{place.path}.visible", 0) for place in places]),
        scores={
            name: np.array([np.concatenate([layer[name] for layer in each]) for each in found])
            for name in found[-1][0]
        },
    )
