"""beartype, with whole numbers accepted where floats are asked for, as type checkers do (PEP 484)."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
