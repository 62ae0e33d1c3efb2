"""Home: what this is, a sentence to type, and the ways in."""

from __future__ import annotations

from pages.components import shell
from pages.components.language import _

shell.guard()
with shell.frame("home", _("Attention Atlas"), _("every number a Transformer computes with your sentence")):
    pass
