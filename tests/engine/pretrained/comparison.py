"""A model of `transformers` and ours of the same weights: each layer's residual and weights, output, greedy ids."""

from __future__ import annotations

import torch

from engine.capture import capture

IDS = torch.tensor([[3, 17, 5, 5, 29, 11, 0, 38, 2]])


def assert_same(theirs, ours, stack: str, bound: float = 1e-5, ids=IDS, segments=None) -> None:
    """Final output, each layer's incoming residual, and each layer's attention weights.

    segments: which of two texts each token belongs to, where a model tells them apart.
    """
    more = {} if segments is None else {"token_type_ids": segments}
    with torch.inference_mode():
        expected = theirs(ids, output_attentions=True, output_hidden_states=True, **more)
        with capture() as trace:
            output = ours(ids) if segments is None else ours(ids, segments=segments)
    final = expected.logits if "logits" in expected else expected.last_hidden_state
    torch.testing.assert_close(output, final, rtol=0, atol=bound)
    for i, (weights, residual) in enumerate(
        zip(expected.attentions, expected.hidden_states[:-1], strict=True)
    ):
        layer = f"{stack}.layers.{i}."
        torch.testing.assert_close(trace[layer + "self_attention.weights"], weights, rtol=0, atol=bound)
        torch.testing.assert_close(
            trace[layer + "self_attention_residual.resid_pre"], residual, rtol=0, atol=bound
        )
    torch.testing.assert_close(trace[f"{stack}.final_norm"], expected.hidden_states[-1], rtol=0, atol=bound)


def assert_same_greedy(theirs, ours, max_new_tokens: int = 8) -> None:
    """Token by token what both find likeliest; tiny random models have no end of text worth stopping at."""
    theirs.generation_config.eos_token_id = None
    expected = theirs.generate(
        IDS, attention_mask=torch.ones_like(IDS), max_new_tokens=max_new_tokens, do_sample=False
    )
    found = IDS
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            found = torch.cat([found, ours(found)[:, -1:].argmax(dim=-1)], dim=1)
    assert found.tolist() == expected.tolist()
