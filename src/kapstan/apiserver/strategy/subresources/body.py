"""Bodies that are no objects of the kind they are sent to: an Eviction or a Binding of a pod."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.strategy.typed import struct_of
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("read_body",)

Object = dict[str, Any]


def read_body(gvk: GroupVersionKind, body: Object | None) -> Object:
    """The body as Go's type holds it. BadRequest if it does not fit."""
    struct = struct_of(gvk)
    assert struct is not None
    try:
        return struct.read(body or {}, [])
    except ValueError as error:
        version = f"{gvk.kind} in version {quote(gvk.version)}"
        raise BadRequest(f"{version} cannot be handled as a {gvk.kind}: {error}") from None
