"""What one sees when something is wrong: the doors of the Clinic, in the order in which they are shown."""

from __future__ import annotations

from engine.config import N_

SYMPTOMS: dict[str, str] = {
    "loss_stays": N_("The loss does not fall"),
    "nan": N_("NaN, or an overflow"),
    "repeats": N_("It writes one word again and again"),
    "endless": N_("It does not stop"),
    "good_loss_bad_text": N_("The loss is good, the text is bad"),
    "slow": N_("It is slow"),
    "long_inputs": N_("Long inputs fail"),
    "overfits": N_("It overfits"),
    "batch": N_("Results change with the batch"),
    "elsewhere": N_("It works here and fails elsewhere"),
}
