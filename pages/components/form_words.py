"""What the fields of settings are called on screen: by a title of their own, or by the standard term."""

from __future__ import annotations

from pages.components.language import N_, _

WORDS = {
    "steps": N_("steps"),
    "batch_size": N_("batch size"),
    "learning_rate": N_("learning rate"),
    "schedule": N_("schedule"),
    "warmup": N_("warm-up, steps"),
    "final_rate": N_("share of the rate at the end"),
    "label_smoothing": N_("label smoothing"),
    "weight_decay": N_("weight decay"),
    "beta1": "β₁",
    "beta2": "β₂",
    "eps": "ε",
    "clip": N_("clip the gradient at"),
    "accumulate": N_("parts of a batch"),
    "precision": N_("precision"),
    "compile": N_("compile"),
    "device": N_("device"),
    "seed": N_("seed"),
    "evaluate_every": N_("evaluate every, steps"),
    "evaluate_count": N_("held-out examples"),
    "patience": N_("patience, evaluations"),
    "details_every": N_("look at layers every, steps"),
    "tune": N_("what is trained"),
    "start_from": N_("start from the weights in"),
    "lora_rank": N_("rank of LoRA"),
    "lora_alpha": N_("alpha of LoRA"),
    "d_model": "d_model",
    "d_ff": "d_ff",
    "n_layers": N_("layers"),
    "n_heads": N_("attention heads"),
    "n_kv_heads": N_("key and value heads"),
    "positions": N_("positions"),
    "placement": N_("place of the norms"),
    "core": N_("weights by"),
    "window": N_("window, tokens"),
    "dropout": N_("dropout"),
    "kind": N_("kind"),
    "activation": N_("activation"),
    "bias": N_("bias"),
    "qk_norm": N_("norm of queries and keys"),
    "attention_bias": N_("bias in attention"),
    "initialisation": N_("initialisation"),
    "partition": N_("partition"),
    "minutes": N_("time, minutes"),
    "gpus": N_("GPUs"),
    "cpus": N_("processors"),
    "memory_gb": N_("memory, GB"),
    "account": N_("account"),
    "base": N_("base"),
    "order": N_("order"),
    "fraction": N_("share that is turned"),
    "reach": N_("reach"),
    "buckets": N_("buckets"),
    "farthest": N_("farthest"),
}


# What may be chosen -> what it is called, where that is more than the value with blanks.
OPTIONS = {
    "more_data": N_("more text"),
    "dropout": N_("dropout"),
    "label_smoothing": N_("label smoothing"),
    "learned": N_("learned"),
    "sinusoidal": N_("sinusoidal"),
    "shaw": "Shaw",
    "t5": "T5",
    "rope": "RoPE",
    "alibi": "ALiBi",
    "xavier_uniform": "Xavier",
    "kaiming": "Kaiming",
    "torch": N_("torch's own rule"),
    "normal": N_("a normal distribution"),
}


def option(value: object) -> str:
    """What a value that may be chosen is called: Q4_0 is a name and stays as it is."""
    said = str(value)
    return _(OPTIONS.get(said, said.replace("_", " ") if said.islower() else said))


def word(name: str, title: str) -> str:
    """The title that the settings give the field; one that is only made of its name gives way to a term."""
    made = title == name.replace("_", " ").title()
    return _(WORDS[name]) if made and name in WORDS else _(title) or name
