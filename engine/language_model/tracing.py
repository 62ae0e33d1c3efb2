"""A text, an image, or one layer again, with the taps heard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from engine.capture import Edit, Trace, capture
from engine.errors import AtlasError, is_whole, need_kind, shown
from engine.images import places
from engine.language_model.text_trace import TextTrace
from engine.language_model.writing import written
from engine.model.inputs import as_numbers
from engine.model.stack import Stack
from engine.model.transformer import EncoderDecoder
from engine.tokenizers import Encoding

if TYPE_CHECKING:
    from engine.language_model import LanguageModel

Names = str | Iterable[str] | None
Edits = Mapping[str, Edit] | None
WHOLE_UP_TO = 64  # tokens; a longer trace keeps only what grows with the text, not with its square


def trace_text(
    lm: LanguageModel, text: str, target: str | None, names: Names, edits: Edits, grad: bool
) -> TextTrace:
    source, target_text, cut = _texts(lm, text, target)
    by_itself = source is not None and target_text is not None and target is None
    texts = [encoding for encoding in (source, target_text) if encoding]
    heard = _heard(lm, max(map(len, texts)), names, edits, grad, lambda: _read(lm, texts))
    return TextTrace(heard, source, target_text, by_itself, edits or {}, cut)


def _texts(
    lm: LanguageModel, text: str, target: str | None
) -> tuple[Encoding | None, Encoding | None, int | None]:
    """(source, target, cut): who reads what, and after how many tokens a target of the model's own was cut."""
    if isinstance(lm.model, EncoderDecoder):
        read, cut = written(lm, text) if target is None else (lm.encode(target, begin=True), None)
        return lm.encode(text), read, cut
    if lm.config.encoder:
        return lm.encode(text) if target is None else lm.encode_pair(text, target), None, None
    if target is not None:
        raise AtlasError("{model} takes one text: only an encoder-decoder has a target", model=lm.title)
    return None, lm.encode(text), None


def _read(lm: LanguageModel, texts: list[Encoding]) -> None:
    ids = [lm.batch(encoding.ids) for encoding in texts]
    if any(texts[0].segments):
        lm.model(*ids, segments=lm.batch(texts[0].segments))
    else:
        lm.model(*ids)


def trace_image(lm: LanguageModel, image: Any, names: Names, edits: Edits, grad: bool) -> TextTrace:
    patches = lm.config.patches
    if patches is None:
        raise AtlasError("{model} reads texts, not images", model=lm.title)
    values = as_numbers(image, "an image", next(lm.model.parameters()))
    flat = patches.channels == 1 and values.ndim == 2
    batch, source = values[None, ..., None] if flat else values[None], places(patches)
    heard = _heard(lm, len(source), names, edits, grad, lambda: lm.model(batch))
    return TextTrace(heard, source, None, False, edits or {})


def _heard(
    lm: LanguageModel, length: int, names: Names, edits: Edits, grad: bool, read: Callable[[], object]
) -> Trace:
    need_kind("grad", grad, bool)
    if names is None:
        names = "*" if length <= WHOLE_UP_TO else _narrow(lm)
    with torch.set_grad_enabled(grad), capture(names, edits, grad) as heard:
        read()
    return heard


def _narrow(lm: LanguageModel) -> list[str]:
    """The taps of what grows with the text alone."""
    return [name for name, dims in lm.taps.items() if not {"query", "key"} <= set(dims)]


def trace_layer(lm: LanguageModel, trace: TextTrace, stack: str, layer: int) -> TextTrace:
    need_kind("what a layer is computed from", trace, TextTrace)
    _check_layer(lm, stack, layer)
    path = f"{stack}.layers.{layer}."
    if all(name in trace for name in lm.taps if name.startswith(path)):
        heard = trace.under(path)
    else:
        heard = _run_layer(lm, trace, stack, layer, path)
    return TextTrace(heard, trace.source, trace.target, trace.written, trace.edits, trace.cut)


def _check_layer(lm: LanguageModel, stack: str, layer: int) -> None:
    stacks = lm.config.stacks
    need_kind("stack", stack, str)
    if stack not in stacks:
        raise AtlasError(
            "{model} has no stack called {stack}; it has: {known}",
            model=lm.title, stack=stack, known=", ".join(stacks),
        )  # fmt: skip
    if not is_whole(layer):
        raise AtlasError("a layer is told by its number, not by {layer}", layer=shown(layer))
    if layer not in range(stacks[stack].n_layers):
        raise AtlasError(
            "{model} has no layer {layer} in the {stack}; the last one is {last}",
            model=lm.title, layer=layer, stack=stack, last=stacks[stack].n_layers - 1,
        )  # fmt: skip


def _run_layer(lm: LanguageModel, trace: TextTrace, stack: str, layer: int, path: str) -> Trace:
    entry = f"{path}self_attention_residual.resid_pre"
    both = stack == "decoder" and lm.config.encoder is not None
    for needed in (entry, *["encoder.final_norm"] * both):
        if needed not in trace:
            raise AtlasError("this trace holds no {name}, from which a layer is computed", name=needed)
    edits = {name: edit for name, edit in trace.edits.items() if name.startswith(path)}
    edits.pop(entry, None)  # what the trace holds is already edited
    module = lm.model.get_submodule(stack)
    assert isinstance(module, Stack)
    memory = trace.get("encoder.final_norm") if stack == "decoder" else None
    with torch.no_grad(), capture(f"{path}*", edits) as heard:
        module.layers[layer](trace[entry], *module.given(trace[entry], memory=memory)[layer])
    return heard
