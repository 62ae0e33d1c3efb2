"""What a model is: frozen, validated settings that travel as JSON. No torch here.

A TransformerConfig has one StackConfig for each stack it is made of; which stacks exist decides the assembly.
A variant with settings of its own (a position scheme) is a small type of its own, so an impossible
combination cannot be written down. Only engine/model/build.py turns these settings into modules.

transformer  TransformerConfig: the whole
stack        StackConfig: equal layers, with their norms and feed-forward
positions    the position schemes, and how rotations are stretched
heads        what an encoder that stands alone ends in
patches      images in place of text
"""

from __future__ import annotations

from engine.config.heads import ClassHead, EncoderHead, NoHead, TokenHead
from engine.config.patches import Patches
from engine.config.positions import (
    Alibi,
    Factors,
    Learned,
    Linear,
    Llama3,
    NoPositions,
    Positions,
    Rope,
    Scaling,
    Shaw,
    Sinusoidal,
    T5Buckets,
)
from engine.config.stack import FeedForwardConfig, NormConfig, Placement, StackConfig
from engine.config.transformer import Assembly, Initialisation, TransformerConfig
from engine.errors import N_, AtlasError  # what others look for here
from engine.settings import Settings

__all__ = [
    "N_", "Alibi", "Assembly", "AtlasError", "ClassHead", "EncoderHead", "Factors", "FeedForwardConfig",
    "Initialisation", "Learned", "Linear", "Llama3", "NoHead", "NoPositions", "NormConfig", "Patches", "Placement",
    "Positions", "Rope", "Scaling", "Settings", "Shaw", "Sinusoidal", "StackConfig", "T5Buckets", "TokenHead",
    "TransformerConfig",
]  # fmt: skip
