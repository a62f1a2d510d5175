"""Intake: what schemas do to objects on their way in, for built-in kinds and for custom ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapstan.apiserver.schema.default import compile_defaulter
from kapstan.apiserver.schema.prune import prune
from kapstan.apiserver.strategy.base import Strategy
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import FieldError

__all__ = ("BuiltinIntake",)

Object = dict[str, Any]


class BuiltinIntake:
    """Built-in kinds: the schema gives shape and types, the strategy defaults and rules."""

    def __init__(self, schema: Schema, strategy: Strategy) -> None:
        self._schema = schema
        self._strategy = strategy
        self._defaulter = compile_defaulter(schema)

    def shape(self, obj: Object) -> list[str]:
        unknown = prune(obj, self._schema)
        if self._defaulter is not None:
            self._defaulter.apply(obj)
        self._strategy.default(obj)
        return unknown

    def validate(self, obj: Object, old: Object | None, subresource: str = "") -> Sequence[FieldError]:
        return ()
