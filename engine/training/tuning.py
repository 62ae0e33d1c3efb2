"""The model that a run trains: fresh, or a trained one of which only a part goes on learning."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from engine.config import TransformerConfig
from engine.model.build import build
from engine.model.lora import add_lora, freeze_all_but_head, merged
from engine.model.transformer import Transformer
from engine.tokenizers import Tokenizer
from engine.training.settings import TrainingSettings
from engine.training.starts import take_over


def model_for(config: TransformerConfig, tokenizer: Tokenizer, settings: TrainingSettings) -> Transformer:
    """With gradients where it is to learn. Raises AtlasError where the trained model cannot be gone on from."""
    model = build(config, settings.seed)
    if settings.start_from is None:
        return model
    taken = take_over(model, tokenizer, Path(settings.start_from))
    fresh = [weight for name, weight in model.named_parameters() if name not in taken]
    if settings.tune == "head":
        freeze_all_but_head(model)
    if settings.tune == "lora":
        add_lora(model, settings.lora_rank, settings.lora_alpha, settings.lora_targets, settings.seed)
    for weight in fresh:
        weight.requires_grad_(True)
    return model


def whole(model: Transformer) -> dict[str, Tensor]:
    """Weights by the names that `build` gives them, low-rank updates added to their matrices."""
    return merged(model).state_dict()
