"""Managed fields: who owns what, kept current on every write."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.request import Request
from kapstan.machinery.errors import UnsupportedMediaType

__all__ = ("apply", "update")

Object = dict[str, Any]


def update(request: Request, old: Object | None, new: Object) -> None:
    """Give the fields that `new` changes to whoever sent it."""


def apply(request: Request, old: Object | None, config: Object) -> Object:
    """The object after a server-side apply."""
    raise UnsupportedMediaType("server-side apply is not there yet")
