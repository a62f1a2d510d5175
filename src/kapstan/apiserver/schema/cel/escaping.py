"""Escaping: how expressions write the names of properties that are no identifiers."""

from __future__ import annotations

import re
from functools import lru_cache

from kapstan.apiserver.schema.cel.parser import RESERVED

__all__ = ("escape",)

_SUPPORTED = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_PARTS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


@lru_cache(maxsize=4096)
def escape(name: str) -> str | None:
    """The identifier for a property; None if it has none and cannot be reached."""
    if name in RESERVED:
        return f"__{name}__"
    if not _SUPPORTED.fullmatch(name):
        return None
    return re.sub(r"__|[./-]", lambda match: _PARTS[match[0]], name)
