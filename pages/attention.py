"""Attention: one head, one query, beat by beat."""

from __future__ import annotations

from pages.components import controls, library, panels, shell
from pages.components.language import _

shell.guard()
with shell.frame("attention", _("Attention"), beats=True):
    with controls.row():
        controls.model(library.default())
        controls.offer()
    panels.lesson("attention")
