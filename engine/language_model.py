"""A model with its tokenizer, behind one face: what a notebook sees and every screen uses.

lm = load("smollm2-135m")                      # catalogue, embedded model, folder or GGUF file
trace = lm.trace("The animal didn't cross the street")
trace["decoder.layers.13.self_attention.weights"], trace.tokens, trace.logits
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.capture import Edit, Trace, as_numpy, capture, taps
from engine.config import AtlasError, TransformerConfig
from engine.decoding import (
    GREEDY,
    BeamStep,
    Reader,
    Round,
    Sampling,
    Step,
    beam_search,
    speculate,
    target_reader,
    text_reader,
    write,
)
from engine.decoding.filters import check_sampling
from engine.decoding.limits import check
from engine.errors import is_whole, need_kind, shown
from engine.images import places
from engine.model.inputs import check_tensor
from engine.model.stack import Stack
from engine.model.transformer import EncoderDecoder, EncoderOnly, Transformer
from engine.tokenizers import Encoding, Token, Tokenizer

if TYPE_CHECKING:
    import numpy as np

Read = tuple[TransformerConfig, Transformer, Tokenizer, Mapping[str, Any]]

OWN = (
    "config",
    "renames",
    "tokenizer",
    "base",
)  # of models of one's own, and of adapters; see pretrained.own
EMBEDDED = Path(__file__).parent.parent / "assets" / "models"
WHOLE_UP_TO = 64  # tokens; a longer trace keeps only what grows with the text, not with its square
WRITES_UP_TO = 64  # tokens of a target, or twice as many as the source has: not every model ends by itself


def load(
    name_or_path: str | Path, *, device: str = "cpu", dtype: str = "float32", **own: Any
) -> LanguageModel:
    """A model by its name in the catalogue, by the name of an embedded one, from a folder or a GGUF file.

    The folder may be a training run's, whose best weights are taken, and the file a snapshot of a run or of an embedded
    model.
    device: cpu, cuda or mps; dtype: float32, float16 or bfloat16, which the model computes in. A model of one's own
    takes its config, renames and tokenizer; see pretrained.own.
    Raises AtlasError, one sentence, for whatever is missing, truncated, foreign or too large.
    """
    if not isinstance(name_or_path, str | Path):
        raise AtlasError("load takes a name or a path, not {kind}", kind=type(name_or_path).__name__)
    own = _own(own)
    folder = EMBEDDED / str(name_or_path) if str(name_or_path) in embedded() else Path(name_or_path)
    if "config" not in own and has_card(folder):
        read = _read_folder  # only it imports what it needs, and so do the others
    elif "config" not in own and is_of_a_run(folder):
        read = _read_run
    else:
        from engine.pretrained.loader import load as read

        folder = name_or_path
    config, model, tokenizer, card = read(folder, device=device, dtype=dtype, **own)
    return LanguageModel(card["name"], card["title"], config, tokenizer, model, card)


def _own(given: Mapping[str, Any]) -> dict[str, Any]:
    """What else `load` was given. Raises AtlasError for what it does not know."""
    for name in given:
        if name not in OWN:
            raise AtlasError("load takes {known}, and no {name}", known=", ".join(OWN), name=name)
    return {name: value for name, value in given.items() if value is not None}


def _refuse_own(folder: str | Path, own: Mapping[str, Any]) -> None:
    """Raises AtlasError where a model that is whole is given parts of one's own."""
    for name in own:
        raise AtlasError(
            "{model} has all it needs, so that no {name} belongs to it",
            model=os.path.basename(folder), name=name,
        )  # fmt: skip


def has_card(path: Path) -> bool:
    """Whether this is a folder of a model with its card, or a snapshot in one."""
    from engine.training.model_folder import folder_around

    return os.path.isfile(
        folder_around(path) / "card.json"
    )  # pathlib's own raises for a path that is too long


def is_of_a_run(path: Path) -> bool:
    """Whether this is the folder of a training run, or weights in one."""
    from engine.training.runs.folder import RunFolder

    return RunFolder.around(path) is not None


def _read_run(path: str | Path, *, device: str, dtype: str, **own: Any) -> Read:
    from engine.pretrained import devices
    from engine.training.runs.opening import open_run

    _refuse_own(path, own)
    target = devices.target(device, dtype)
    config, model, tokenizer, card = open_run(Path(path))
    return config, model.to(target.device, target.dtype), tokenizer, card


def _read_folder(folder: str | Path, *, device: str, dtype: str, **own: Any) -> Read:
    from engine.pretrained import devices
    from engine.training.model_folder import load_checkpoint

    _refuse_own(folder, own)
    target, path = devices.target(device, dtype), Path(folder)
    weights = path if path.suffix == ".safetensors" else path / "model.safetensors"
    if weights.is_file():
        target.need(weights.stat().st_size // devices.WIDEST, 0, str(folder))
    config, model, tokenizer, card = load_checkpoint(folder)
    return config, model.to(target.device, target.dtype), tokenizer, card


def embedded() -> list[str]:
    """Names of the models that came with the project."""
    return sorted(card.parent.name for card in EMBEDDED.glob("*/card.json"))


@dataclass(frozen=True)
class Site:
    """One kind of attention in a model: the stack it is in, and its name there."""

    stack: str
    sublayer: str

    def path(self, layer: int) -> str:
        """Where its taps are: path(3) + ".weights"."""
        return f"{self.stack}.layers.{layer}.{self.sublayer}"


class TextTrace(Trace):
    """A trace that knows the texts it was made from.

    source: what the encoder read, or None without one; target: what the decoder read, or None without one.
    written: the model wrote the target itself. cut: after how many tokens, where it had not ended by then; else None.
    """

    def __init__(
        self,
        heard: Trace,
        source: Encoding | None,
        target: Encoding | None,
        written: bool,
        edits: Mapping[str, Edit],
        cut: int | None = None,
    ) -> None:
        super().__init__(heard)
        self.source, self.target, self.written, self.edits = source, target, written, edits
        self.cut = cut

    def __repr__(self) -> str:
        """A line of a notebook: how much of what is held, as a mapping is too long to print."""
        read = " and ".join(f"{len(text)} tokens" for text in self.texts.values())
        return f"<{type(self).__name__} of {read}: {len(self)} values, {self.nbytes:,} bytes>"

    @property
    def texts(self) -> dict[str, Encoding]:
        """What each stack read, by its name."""
        both = {"encoder": self.source, "decoder": self.target}
        return {stack: text for stack, text in both.items() if text is not None}

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Tokens of the last stack's text: of the target where there is one, of the source otherwise."""
        return [*self.texts.values()][-1].tokens

    @property
    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]

    @property
    def logits(self) -> Tensor:
        """(batch, pos, vocab): what is expected after each token, or by an encoder in its place.

        Raises AtlasError where there are none, as in a classifier, whose trace["logits"] are (batch, class).
        """
        if "logits" not in self or "vocab" not in self.dims("logits"):
            raise AtlasError(
                "this trace holds no logits: the model predicts no tokens, or they were not asked for"
            )
        return self["logits"]


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Read-only after loading, so threads and sessions may share it. `card` says where it comes from."""

    name: str
    title: str
    config: TransformerConfig
    tokenizer: Tokenizer
    model: Transformer
    card: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model.eval()

    def __repr__(self) -> str:
        """A line of a notebook: settings and weights are too long to print."""
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return f"<{type(self).__name__} {self.title}: {self.config.assembly}, {count:,} parameters>"

    @property
    def max_len(self) -> int:
        """The longest text in tokens, specials included."""
        return self.config.max_len

    @property
    def device(self) -> torch.device:
        """Where the model computes, and what it reads must be."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The type of number that the model computes in."""
        return next(self.model.parameters()).dtype

    def batch(self, ids: list[int]) -> Tensor:
        """One text as a batch, (1, pos), where the model is. Raises AtlasError for what are no whole numbers."""
        try:
            found = torch.as_tensor(ids, device=self.device)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            found = None
        if found is None or found.ndim != 1 or (found.numel() and found.dtype != torch.long):
            raise AtlasError("token ids are a list of whole numbers, not {ids}", ids=shown(ids))
        return found.long()[None]

    @property
    def sites(self) -> dict[str, Site]:
        """The kinds of attention there are: self (encoder), masked (decoder), cross (decoder to encoder)."""
        found = {}
        if self.config.encoder:
            found["self"] = Site("encoder", "self_attention")
        if self.config.decoder:
            found["masked"] = Site("decoder", "self_attention")
        if len(found) == 2:
            found["cross"] = Site("decoder", "cross_attention")
        return found

    @cached_property
    def taps(self) -> dict[str, tuple[str, ...]]:
        """Every tap's name, with the names of its axes."""
        return {name: tap.dims for name, tap in taps(self.model).items()}

    @cached_property
    def reads_pairs(self) -> bool:
        """Whether two texts can be read together: an encoder alone, and a tokenizer that joins them."""
        if self.config.decoder or self.config.patches:
            return False
        joined = self.tokenizer.encode_pair("", "")
        return joined is not None and max(joined.segments) < max(1, self.config.stacks["encoder"].n_segments)

    def encode(self, text: str, begin: bool = False) -> Encoding:
        """A text as this model reads it; with `begin`, as the input of its decoder.

        Raises AtlasError if there is nothing to read, if it is longer than max_len, if a token is none of those the
        model has a vector for or one that it reads in no text, or if it reads images.
        """
        _need_text(text)
        need_kind("begin", begin, bool)
        if self.config.patches:
            raise AtlasError("{model} reads images, not texts", model=self.title)
        encoding = self.tokenizer.encode(text, begin)
        if not begin and all(token.special for token in encoding.tokens):
            raise AtlasError("there is nothing to read: type at least one word")
        return self._readable(encoding)

    def encode_pair(self, first: str, second: str) -> Encoding:
        """Two texts as this model reads them together, each token with its segment.

        Raises AtlasError as `encode` does, where the tokenizer joins no two texts, and where the model does not tell so
        many segments apart.
        """
        _need_text(first)
        _need_text(second)
        encoding = self.tokenizer.encode_pair(first, second)
        if encoding is None:
            raise AtlasError("{model} reads one text: its tokenizer does not join two", model=self.title)
        if all(token.special for token in encoding.tokens):
            raise AtlasError("there is nothing to read: type at least one word")
        needed, known = max(encoding.segments) + 1, max(1, self.config.stacks["encoder"].n_segments)
        if needed > known:
            raise AtlasError(
                "{model} does not tell two texts apart: they need {needed} segments, and it has learned {limit}",
                model=self.title, needed=needed, limit=self.config.stacks["encoder"].n_segments,
            )  # fmt: skip
        return self._readable(encoding)

    def _readable(self, encoding: Encoding) -> Encoding:
        """The encoding itself, if the model can read it."""
        if len(encoding) > self.max_len:
            raise AtlasError(
                "this text has {n} tokens, more than the {limit} that {model} can read",
                n=len(encoding),
                limit=self.max_len,
                model=self.title,
            )
        for position, id in enumerate(encoding.ids):
            if not 0 <= id < self.config.vocab_size:
                raise AtlasError(
                    "token {id} at position {position} is not among the {limit} tokens that {model} knows",
                    id=id,
                    position=position,
                    limit=self.config.vocab_size,
                    model=self.title,
                )
            if id in self.tokenizer.unread_ids:
                raise AtlasError(
                    "{piece} at position {position} is what {model} fills texts up with, and it reads none inside "
                    "a text: leave it out",
                    piece=self.tokenizer.piece(id), position=position, model=self.title,
                )  # fmt: skip
        return encoding

    def trace(
        self,
        text: str,
        target: str | None = None,
        names: str | Iterable[str] | None = None,
        edits: Mapping[str, Edit] | None = None,
        grad: bool = False,
    ) -> TextTrace:
        """Read a text and keep what the taps hear. `names`, `edits` and `grad` are those of `capture`.

        An encoder-decoder reads `target` with its decoder, or without one what it writes itself, up to 64 tokens or
        twice the source's; an encoder alone reads it as the second of two texts. All taps are kept by default; of texts
        beyond 64 tokens not the query-by-key ones, which `layer_trace` makes again.
        """
        source, target_text, cut = self._texts(text, target)
        written = source is not None and target_text is not None and target is None
        texts = [encoding for encoding in (source, target_text) if encoding]
        heard = self._heard(max(map(len, texts)), names, edits, grad, lambda: self._read(texts))
        return TextTrace(heard, source, target_text, written, edits or {}, cut)

    def trace_image(
        self,
        image: Any,
        names: str | Iterable[str] | None = None,
        edits: Mapping[str, Edit] | None = None,
        grad: bool = False,
    ) -> TextTrace:
        """Look at an image, (height, width, channels) or of one channel (height, width), and keep what the taps hear.

        As `trace` does of a text; its tokens are the patches. Raises AtlasError for what is no image of the size
        that this model reads, and for a model that reads texts.
        """
        patches = self.config.patches
        if patches is None:
            raise AtlasError("{model} reads texts, not images", model=self.title)
        values = _numbers("an image", image, next(self.model.parameters()))
        flat = patches.channels == 1 and values.ndim == 2
        batch, source = values[None, ..., None] if flat else values[None], places(patches)
        heard = self._heard(len(source), names, edits, grad, lambda: self.model(batch))
        return TextTrace(heard, source, None, False, edits or {})

    def _heard(
        self,
        length: int,
        names: str | Iterable[str] | None,
        edits: Mapping[str, Edit] | None,
        grad: bool,
        read: Callable[[], object],
    ) -> Trace:
        need_kind("grad", grad, bool)
        if names is None:
            names = "*" if length <= WHOLE_UP_TO else self._narrow_taps
        with torch.set_grad_enabled(grad), capture(names, edits, grad) as heard:
            read()
        return heard

    def _read(self, texts: list[Encoding]) -> None:
        ids = [self.batch(encoding.ids) for encoding in texts]
        if any(texts[0].segments):
            self.model(*ids, segments=self.batch(texts[0].segments))
        else:
            self.model(*ids)

    def layer_trace(self, trace: TextTrace, stack: str, layer: int) -> TextTrace:
        """Every tap of one layer: taken from the trace, or computed again from what the layer found there.

        Raises AtlasError for a layer that the model has not, and for a trace without what the layer found.
        """
        need_kind("what a layer is computed from", trace, TextTrace)
        self._check_layer(stack, layer)
        path = f"{stack}.layers.{layer}."
        if all(name in trace for name in self.taps if name.startswith(path)):
            heard = trace.under(path)
        else:
            heard = self._run_layer(trace, stack, layer, path)
        return TextTrace(heard, trace.source, trace.target, trace.written, trace.edits, trace.cut)

    def _check_layer(self, stack: str, layer: int) -> None:
        stacks = self.config.stacks
        need_kind("stack", stack, str)
        if stack not in stacks:
            raise AtlasError(
                "{model} has no stack called {stack}; it has: {known}",
                model=self.title, stack=stack, known=", ".join(stacks),
            )  # fmt: skip
        if not is_whole(layer):
            raise AtlasError("a layer is told by its number, not by {layer}", layer=shown(layer))
        if layer not in range(stacks[stack].n_layers):
            raise AtlasError(
                "{model} has no layer {layer} in the {stack}; the last one is {last}",
                model=self.title, layer=layer, stack=stack, last=stacks[stack].n_layers - 1,
            )  # fmt: skip

    def _run_layer(self, trace: TextTrace, stack: str, layer: int, path: str) -> Trace:
        entry = f"{path}self_attention_residual.resid_pre"
        both = stack == "decoder" and self.config.encoder is not None
        for needed in (entry, *["encoder.final_norm"] * both):
            if needed not in trace:
                raise AtlasError("this trace holds no {name}, from which a layer is computed", name=needed)
        edits = {name: edit for name, edit in trace.edits.items() if name.startswith(path)}
        edits.pop(entry, None)  # what the trace holds is already edited
        module = self.model.get_submodule(stack)
        assert isinstance(module, Stack)
        memory = trace.get("encoder.final_norm") if stack == "decoder" else None
        with torch.no_grad(), capture(f"{path}*", edits) as heard:
            module.layers[layer](trace[entry], *module.given(trace[entry], memory=memory)[layer])
        return heard

    def steps(self, text: str, max_new_tokens: int, sampling: Sampling = GREEDY) -> Iterator[Step]:
        """One token a step, greedily unless told otherwise: of what follows a text, or of its target."""
        reader, ids = self._reader(text)
        return write(reader, ids, sampling=sampling, **self._limits(max_new_tokens))

    def search(
        self, text: str, max_new_tokens: int, beams: int = 4, length_penalty: float = 1.0
    ) -> Iterator[BeamStep]:
        """Beam search, one token of every beam a step; the last step's first finished text is the result."""
        reader, ids = self._reader(text)
        limits = self._limits(max_new_tokens)
        return beam_search(reader, ids, beams=beams, length_penalty=length_penalty, **limits)

    def speculate(
        self,
        text: str,
        max_new_tokens: int,
        draft: LanguageModel,
        sampling: Sampling = GREEDY,
        ahead: int = 4,
    ) -> Iterator[Round]:
        """What `steps` writes, with `draft` proposing `ahead` tokens a round. No longer than either model can read.

        Raises AtlasError for a draft that cuts texts into other tokens.
        """
        need_kind("draft", draft, LanguageModel)
        if draft.tokenizer is not self.tokenizer and draft.tokenizer.to_json() != self.tokenizer.to_json():
            raise AtlasError(
                "{draft} cannot propose tokens to {model}: their tokenizers differ",
                draft=draft.title,
                model=self.title,
            )
        (target, ids), (small, _) = self._reader(text), draft._reader(text)
        limits = self._limits(max_new_tokens)
        limits["max_len"] = min(self.max_len, draft.max_len)
        return speculate(target, small, ids, ahead=ahead, sampling=sampling, **limits)

    def generate(
        self,
        text: str,
        max_new_tokens: int = 16,
        sampling: Sampling = GREEDY,
        *,
        beams: int = 1,
        length_penalty: float = 1.0,
    ) -> str:
        """What the model writes, greedily unless told otherwise: the continuation of a text, or the target of a source.

        sampling: how tokens are drawn, such as Sampling(temperature=0.8, top_p=0.9, seed=1); beams: more than one for a
        beam search, which draws nothing. Raises AtlasError for both together.
        """
        check(beams=beams, length_penalty=length_penalty)
        check_sampling(sampling)
        if beams == 1:
            return self.tokenizer.decode(
                [int(step.ids) for step in self.steps(text, max_new_tokens, sampling)]
            )
        if not sampling.greedy:
            raise AtlasError("a search with {beams} beams draws nothing: leave sampling out", beams=beams)
        steps = list(self.search(text, max_new_tokens, beams, length_penalty))
        return self.tokenizer.decode(steps[-1].finished[0].ids) if steps else ""

    def _reader(self, text: str) -> tuple[Reader, Tensor]:
        """Who writes, and what it goes on from: the text, or the beginning of a target."""
        model = self.model
        if isinstance(model, EncoderOnly):
            raise AtlasError("{model} reads in both directions and cannot write", model=self.title)
        ids = self.batch(self.encode(text).ids)
        if isinstance(model, EncoderDecoder):
            return target_reader(model, ids), self.batch(self.encode("", begin=True).ids)
        return text_reader(model), ids

    def _limits(self, max_new_tokens: int) -> dict[str, Any]:
        return {
            "max_new_tokens": max_new_tokens,
            "max_len": self.max_len,
            "eos_id": self.tokenizer.eos_id,
            "suppressed": self.tokenizer.suppressed_ids,
        }

    def parameters_by_part(self) -> dict[str, int]:
        """How many parameters each part has: {"embedding": 28311552, "decoder.feed_forward": ...}."""
        counts: Counter[str] = Counter()
        for name, parameter in self.model.named_parameters():
            counts[part_of(name)] += parameter.numel()
        return dict(counts)

    def parameter(self, name: str) -> np.ndarray:
        """A copy of one parameter for numpy, on the CPU. Raises AtlasError for a name that the model has not."""
        parameters = dict(self.model.named_parameters(remove_duplicate=False))
        need_kind("the name of a parameter", name, str)
        if name not in parameters:
            raise AtlasError("{model} has no parameter {name}", model=self.title, name=name)
        return as_numpy(parameters[name])

    def with_parameters(self, values: Mapping[str, Any]) -> LanguageModel:
        """A copy with some weights replaced. Raises AtlasError for a name, shape or number that cannot be."""
        need_kind("weights by the names of their parameters", values, Mapping)
        model = copy.deepcopy(self.model)
        parameters = dict(model.named_parameters())
        for name, value in values.items():
            if name not in parameters:
                raise AtlasError("{model} has no parameter {name}", model=self.title, name=name)
            new = _numbers(name, value, parameters[name])
            if new.shape != parameters[name].shape:
                raise AtlasError(
                    "{name} takes numbers of shape {expected}, not of shape {got}",
                    name=name,
                    expected=tuple(parameters[name].shape),
                    got=tuple(new.shape),
                )
            if beyond := int((~new.isfinite()).sum()):
                raise AtlasError(
                    "{name} takes numbers that are finite in {dtype}, and {count} of these are not",
                    name=name, dtype=str(new.dtype).removeprefix("torch."), count=beyond,
                )  # fmt: skip
            parameters[name].data.copy_(new)
        return replace(self, model=model)

    def _texts(self, text: str, target: str | None) -> tuple[Encoding | None, Encoding | None, int | None]:
        """(source, target, cut): who reads what, and after how many tokens a target of the model's own was cut."""
        if isinstance(self.model, EncoderDecoder):
            read, cut = self._written(text) if target is None else (self.encode(target, begin=True), None)
            return self.encode(text), read, cut
        if self.config.encoder:
            return self.encode(text) if target is None else self.encode_pair(text, target), None, None
        if target is not None:
            raise AtlasError("{model} takes one text: only an encoder-decoder has a target", model=self.title)
        return None, self.encode(text), None

    def _written(self, text: str) -> tuple[Encoding, int | None]:
        """The target that the model makes of a source, greedily, without the EOS that ends it; and how many tokens it
        had when it was cut, None where it ended.
        """
        limit = min(self.max_len, max(WRITES_UP_TO, 2 * len(self.encode(text))))
        ids, stop = [], None
        for step in self.steps(text, limit):
            ids.append(int(step.ids))
            stop = step.stop
        ended = stop == "end"
        return self.tokenizer.written(ids[:-1] if ended else ids), None if ended else len(ids)

    @cached_property
    def _narrow_taps(self) -> list[str]:
        return [name for name, dims in self.taps.items() if not {"query", "key"} <= set(dims)]


def _need_text(text: Any) -> None:
    if not isinstance(text, str):
        raise AtlasError("a text is read, not {kind}", kind=type(text).__name__)


def _numbers(name: str, value: Any, like: Tensor) -> Tensor:
    """A tensor of whatever holds real numbers. Raises AtlasError for words, and for rows of unequal length."""
    dtype = None if hasattr(value, "__array__") else like.dtype  # one of its own is looked at first
    try:
        found = value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=dtype, device="cpu")
    except Exception as error:  # whatever an object does when it is to become numbers
        raise AtlasError(
            "{name} takes numbers, in rows of equal length: {reason}",
            name=name,
            reason=(str(error) or type(error).__name__).splitlines()[0],
        ) from None
    check_tensor(found, name)
    if found.is_complex():
        raise AtlasError("{name} takes real numbers, and these are complex", name=name)
    return found.to(like.dtype).to(like.device)  # in this order, since Metal has no float64


def part_of(parameter: str) -> str:
    """The part of a model that a parameter belongs to, by its name."""
    stack, _, rest = parameter.partition(".")
    if stack in ("embedding", "head"):
        return stack
    part = rest.split(".")[2] if rest.startswith("layers.") else rest.split(".")[0]
    return f"{stack}.{'norms' if part.endswith(('norm', '_residual')) else part}"
