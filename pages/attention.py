"""Attention: one head, one query, beat by beat."""

from __future__ import annotations

from pages.components import shell
from pages.components.language import _

shell.guard()
with shell.frame("attention", _("Attention"), beats=True):
    pass
