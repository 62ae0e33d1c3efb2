"""What is measured, in words: the titles and units of curves and of the scores of heads, and what a kind of line is."""

from __future__ import annotations

from engine.config import N_

TITLES = {
    "loss": (N_("Loss"), N_("nats a token")),
    "held_out_loss": (N_("Loss, held out"), N_("nats a token")),
    "right": (N_("Right"), N_("share")),
    "accuracy": (N_("Right tokens, held out"), N_("share")),
    "exact": (N_("Right answers, held out"), N_("share")),
    "alignment": (N_("Heads on the true place"), N_("share")),
    "entropy": (N_("Entropy of each head"), N_("nats")),
    "learning_rate": (N_("Learning rate"), ""),
    "gradient_norm": (N_("Norm of the gradient"), N_("log scale")),
    "gradient_norms": (N_("Norm of the gradient, by layer"), N_("log scale")),
    "update_ratios": (N_("Length of a step over that of the weights"), N_("log scale")),
}
LEGENDS = {
    "loss": {"batch": N_("this batch"), "held_out": N_("held out")},
    "right": {"batch": N_("tokens"), "held_out": N_("held out"), "written": N_("whole answers")},
    "alignment": {"best": N_("best head"), "head": N_("others")},
    "entropy": {"head": N_("heads")},
}
SCORES = {
    "loss": N_("loss of this text, nats a token"),
    "true_place": N_("on the true place, share"),
    "repeats": N_("on what followed an earlier copy, weight"),
    "previous": N_("on the token before, weight"),
    "first": N_("on the first token, weight"),
    "entropy": N_("entropy of a row, nats"),
}
