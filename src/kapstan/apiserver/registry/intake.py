"""Intake of built-in kinds: what becomes of an object on its way in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapstan.apiserver.schema.prune import prune
from kapstan.apiserver.strategy.base import Strategy
from kapstan.apiserver.strategy.typed import shape, struct_of
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import FieldError

__all__ = ("BuiltinIntake",)

Object = dict[str, Any]


class BuiltinIntake:
    """Built-in kinds: Go's types give them their shape, strategies their defaults and rules."""

    def __init__(self, schema: Schema, gvk: GroupVersionKind, strategy: Strategy) -> None:
        self._schema = schema
        self._struct = struct_of(gvk)
        self._strategy = strategy

    def shape(self, obj: Object, *, applied: bool = False, converted: bool = False) -> list[str]:
        metadata = obj.get("metadata")
        cleared = isinstance(metadata, dict) and metadata.get("managedFields") == []  # nobody shall own anything
        if self._struct is None:
            unknown = prune(obj, self._schema)
        else:
            try:
                unknown = shape(self._struct, obj)
            except ValueError as error:
                raise BadRequest(str(error)) from error
        self._strategy.default(obj)
        if cleared:
            obj["metadata"]["managedFields"] = []
        return unknown

    def validate(self, obj: Object, old: Object | None, subresource: str = "") -> Sequence[FieldError]:
        return ()
