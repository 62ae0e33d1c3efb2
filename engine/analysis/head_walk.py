"""One head and one query, from the vectors it reads to the residual stream it writes to.

`walk_head` gathers what the Attention screen shows, beat by beat. Every number is a captured tap, or follows from
taps by the one operation its field names (a product, an exponential), so that the row of weights can be retraced.

Axes: shown (the keys that have a column on screen), key, query, head, d_model, d_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from engine.analysis.head_place import HeadPlace, check, locate, token_rows
from engine.analysis.head_taps import Taps
from engine.analysis.strokes import STROKES

if TYPE_CHECKING:  # figures read these dataclasses, and need no torch for it
    from engine.capture import Trace
    from engine.language_model import LanguageModel, TextTrace
    from engine.model.positions import Rope
    from engine.tokenizers import Token

MAX_COLUMNS = 40  # of shorter inputs every key has a column
WINDOW = 32  # of longer ones this many


@dataclass(frozen=True, eq=False, repr=False)
class HeadWalk:
    """What one head computes for one query. float64 arrays unless said; `shown` are the keys with a column."""

    model: str
    place: HeadPlace
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    key_groups: tuple[range, ...]  # keys that together are one character
    query: int
    focus: int
    shown: tuple[int, ...]
    x_query: np.ndarray  # (d_model,) what the query is made from
    x: np.ndarray  # (shown, d_model) what keys and values are made from
    q: np.ndarray  # (d_k,)
    k: np.ndarray  # (shown, d_k)
    v: np.ndarray  # (shown, d_k)
    projected_with_bias: bool  # q, k and v are x W + b
    projected_then_normed: bool  # q and k are normalized after that
    rotation: Rotation | None
    products: np.ndarray  # (shown, d_k) q * k, after rotation where there is one
    scores: np.ndarray  # (shown,) sums of products
    scale: float  # what scores are multiplied by
    score_range: tuple[float, float]  # of the whole row, as the next
    scaled_range: tuple[float, float]
    scaled: np.ndarray  # (shown,)
    bias: np.ndarray | None  # (shown,) where the position scheme adds one
    masked: np.ndarray  # (shown,) -inf where hidden
    hidden: tuple[str, ...]  # (shown,) "" when visible, else "future", "window" or "padding"
    core: str  # what makes weights of masked scores, in two strokes: softmax or relu
    top: float  # what it takes from each score: the largest of the whole row, with relu nothing
    positive: np.ndarray  # (shown,) its first stroke: exp(masked - top), with relu max(masked, 0)
    total: (
        float  # what it divides these by: their sum over the whole row, with relu the number of keys in sight
    )
    weights: np.ndarray  # (shown,)
    z: np.ndarray  # (d_k,)
    matrix: np.ndarray  # (query, key) float32, all weights of this head
    visible: np.ndarray  # (query, key) bool
    heads: np.ndarray  # (head, d_k) z of every head, for this query
    shares: np.ndarray  # (head,) L2 norm of what each head adds, z_h W_O^h
    out: np.ndarray  # (d_model,) the sub-layer's output
    resid_pre: np.ndarray  # (d_model,)
    resid_post: np.ndarray  # (d_model,)
    normed_after: bool  # Post-Norm: resid_post is the norm of the sum

    @property
    def column(self) -> int:
        """Index into `shown` of the key in focus."""
        return self.shown.index(self.focus)

    @property
    def first_key_share(self) -> float:
        """Mean weight on the first key, 0..1, over the queries that may read something else as well."""
        choosers = self.visible.sum(axis=1) > 1
        return float(self.matrix[choosers, 0].mean()) if choosers.any() else 0.0

    @property
    def elsewhere(self) -> float:
        """Weight that falls on keys without a column; of a softmax 0..1."""
        hidden = len(self.shown) < len(self.key_tokens)
        return max(0.0, self.row_sum - float(self.weights.sum())) if hidden else 0.0

    @property
    def biased(self) -> np.ndarray:
        """(shown,) scores as the mask finds them."""
        return self.scaled if self.bias is None else self.scaled + self.bias

    @property
    def row_sum(self) -> float:
        """Sum of the query's whole row of weights, shown or not: of a softmax 1, or 0 where it may look nowhere."""
        return float(self.matrix[self.query].sum(dtype=np.float64))

    @property
    def weighted(self) -> np.ndarray:
        """(shown, d_k) weight times value: what each key contributes to z."""
        return self.weights[:, None] * self.v


@dataclass(frozen=True, eq=False)
class Rotation:
    """Query and keys after RoPE (Su et al. 2021): pairs (i, i + half) turned by position * frequency_i radians.

    half: how many pairs are turned, d_k / 2 unless a part of the head stays as it is. stretched: how many times longer
    each wave is than its place gives it, for texts longer than those it was trained on; 1 where it is not.
    """

    q: np.ndarray  # (d_k,)
    k: np.ndarray  # (shown, d_k)
    frequencies: np.ndarray  # (half,) radians per position
    stretched: np.ndarray  # (half,)


def walk_head(
    lm: LanguageModel,
    trace: TextTrace,
    *,
    kind: str,
    layer: int,
    head: int,
    query: int,
    focus: int,
    chain: Trace | None = None,
) -> HeadWalk:
    """Gather one head's computation for one query.

    `trace` is the whole model's; `chain` the layer's own steps, when somebody has them already; `focus` is the key
    whose column is lit. Of many keys a window around `focus` gets columns. Raises AtlasError when the model has no
    such attention, layer, head or token, and when one of these numbers is none.
    """
    place = locate(lm, kind, layer, head)
    stack = lm.config.stacks[place.stack]
    queries, keys = token_rows(trace, place)
    check(query, len(queries.tokens), "query")
    check(focus, len(keys.tokens), "key")
    taps = Taps(chain or lm.layer_trace(trace, place.stack, layer), place, query)
    shown = columns(len(keys.tokens), focus)
    read = taps.per_key("k", shown), taps.per_key("v", shown)
    rotation = rotate(lm, taps, shown)
    q, k = (rotation.q, rotation.k) if rotation else (taps.row("q"), read[0])
    scores, scaled, biased = taps.row("scores"), taps.row("scaled"), taps.row("biased")
    masked_row = taps.row("masked")
    strokes = STROKES[stack.core](masked_row)
    z = taps.heads("z")
    residual = f"{place.path}_residual"
    return HeadWalk(
        model=lm.title,
        place=place,
        query_tokens=queries.tokens,
        key_tokens=keys.tokens,
        key_groups=keys.groups,
        query=query,
        focus=focus,
        shown=shown,
        x_query=taps.at(f"{residual}.normed"),
        x=memory(trace, taps)[list(shown)],
        q=taps.row("q"),
        k=read[0],
        v=read[1],
        projected_with_bias=stack.attention_bias,
        projected_then_normed=stack.qk_norm,
        rotation=rotation,
        products=q * k,
        scores=scores[list(shown)],
        scale=stack.scale,
        score_range=(float(scores.min()), float(scores.max())),
        scaled_range=(float(scaled.min()), float(scaled.max())),
        scaled=scaled[list(shown)],
        bias=None if np.array_equal(scaled, biased) else (biased - scaled)[list(shown)],
        masked=masked_row[list(shown)],
        hidden=tuple(reason(lm, place, bool(taps.visible[query, key]), query, key) for key in shown),
        core=stack.core,
        top=strokes.top,
        positive=strokes.positive[list(shown)],
        total=strokes.divisor,
        weights=taps.row("weights")[list(shown)],
        z=z[head],
        matrix=taps.matrix,
        visible=taps.visible,
        heads=z,
        shares=head_shares(lm, place, z),
        out=taps.at(f"{place.path}.out"),
        resid_pre=taps.at(f"{residual}.resid_pre"),
        resid_post=taps.at(f"{residual}.resid_post"),
        normed_after=stack.placement == "post",
    )


def strongest_key(chain: Trace, place: HeadPlace, query: int) -> int:
    """The key that gets most of a query's weight; the first of equals."""
    return int(chain[f"{place.path}.weights"][0, place.head, query].argmax())


def columns(n_keys: int, focus: int) -> tuple[int, ...]:
    """All keys, or of more than MAX_COLUMNS a window of neighbours with the focus near its middle."""
    if n_keys <= MAX_COLUMNS:
        return tuple(range(n_keys))
    start = min(max(0, focus - WINDOW // 2), n_keys - WINDOW)
    return tuple(range(start, start + WINDOW))


def memory(trace: TextTrace, taps: Taps) -> np.ndarray:
    """(key, d_model) what keys and values are projected from: the encoder's last word, or this layer's own input."""
    if taps.place.kind == "cross":
        return trace.array("encoder.final_norm", 0).astype(np.float64)
    return taps.array(f"{taps.place.path}_residual.normed")


def rotate(lm: LanguageModel, taps: Taps, shown: tuple[int, ...]) -> Rotation | None:
    if lm.config.stacks[taps.place.stack].positions.scheme != "rope" or taps.place.kind == "cross":
        return None
    q, k = taps.row("q_rotated"), taps.per_key("k_rotated", shown)
    rope = cast("Rope", lm.model.get_submodule(f"{taps.place.stack}.positions"))
    found = rope.frequencies(taps.trace[f"{taps.place.path}.q_rotated"])
    frequencies = found.numpy(force=True).astype(np.float64)
    plain = rope.base ** -(np.arange(0, rope.width, 2) / rope.width)
    return Rotation(q, k, frequencies, plain / frequencies if rope.stretch else np.ones_like(plain))


def reason(lm: LanguageModel, place: HeadPlace, visible: bool, query: int, key: int) -> str:
    """Why a key is hidden from a query, in one word; empty when it is not."""
    if visible:
        return ""
    if place.kind == "masked" and key > query:
        return "future"
    window = lm.config.stacks[place.stack].windows[place.layer]
    return "window" if window is not None and abs(query - key) > window else "padding"


def head_shares(lm: LanguageModel, place: HeadPlace, z: np.ndarray) -> np.ndarray:
    """(head,) L2 norm of z_h W_O^h, the part of the output that is each head's own."""
    w_o = lm.parameter(f"{place.path}.W_o.weight").astype(np.float64)  # (d_model, head * d_k)
    per_head = w_o.reshape(w_o.shape[0], *z.shape)  # (d_model, head, d_k)
    return np.linalg.norm(np.einsum("mhk,hk->hm", per_head, z), axis=-1)
