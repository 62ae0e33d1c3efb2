"""Models: what is here, what can be had, and what each is made of."""

from __future__ import annotations

from pages.components import shell
from pages.components.language import _

shell.guard()
with shell.frame("models", _("Models")):
    pass
