"""CustomResourceSchema: everything that the schema of one version of a custom kind does to its objects.

The order in which a server uses it: `prune` what a client sent, `default`, let admission change the object, `prune` and
`default` again, `validate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.schema.accept import compile_acceptor
from kapstan.apiserver.schema.coerce import InvalidMetadata, coerce_embedded, has_embedded
from kapstan.apiserver.schema.default import compile_defaulter
from kapstan.apiserver.schema.explain import explain
from kapstan.apiserver.schema.listtype import compile_uniqueness, validate_list_types
from kapstan.apiserver.schema.objectmeta import validate_embedded
from kapstan.apiserver.schema.prune import prune
from kapstan.apiserver.schema.ratchet import Correlated
from kapstan.machinery.schema import Schema, compile_schema
from kapstan.machinery.validation import ErrorType, FieldError, Path

if TYPE_CHECKING:
    from kapstan.apiserver.schema.cel.rules import RuleNode

__all__ = ("CustomResourceSchema",)

Object = dict[str, Any]

# Failures after which rules are not evaluated: they could not rely on the schema.
_BLOCKING = frozenset(
    (ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID)
)
_STATUS = Path("status")
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class CustomResourceSchema:
    """The compiled schema of one version of a custom kind. Thread-safe and immutable."""

    def __init__(self, source: Mapping[str, Any], *, preserve_unknown: bool = False) -> None:
        """`source` is the version's `openAPIV3Schema`, `preserve_unknown` the CRD's old `preserveUnknownFields`."""
        self.schema: Schema = compile_schema(source)
        self._preserve_unknown = preserve_unknown
        self._accepts = compile_acceptor(self.schema)
        status = self.schema.properties.get("status")
        self._status = status
        self._accepts_status = compile_acceptor(status or Schema({}))
        self._defaulter = compile_defaulter(self.schema)
        self._has_embedded = has_embedded(self.schema)
        self._is_unique = compile_uniqueness(self.schema)

    def prune(self, obj: Object, *, nulls: bool = True) -> list[str]:
        """Drop what the schema does not know and, unless told otherwise, nulls that it forbids.

        Returns the paths of unknown fields, for `fieldValidation`; raises InvalidMetadata if an embedded resource's
        metadata cannot be read. The object's own metadata is left alone: see `coerce.decode_object_meta`.
        """
        unknown = [] if self._preserve_unknown else prune(obj, self.schema, nulls=nulls)
        if self._has_embedded:
            error, paths = coerce_embedded(obj, self.schema)
            if error is not None:
                raise InvalidMetadata(str(error))
            unknown += paths
        return unknown

    def default(self, obj: Object) -> None:
        """Fill in defaults."""
        if self._defaulter is not None:
            self._defaulter.apply(obj)

    def validate(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """What is wrong with an object to be created, or to take the place of an old one. Metadata is not looked at."""
        correlated = Correlated(obj, old, self.schema) if old is not None else None
        errors = [] if self._accepts(obj) else explain(obj, self.schema, correlated=correlated)
        if self._has_embedded:
            errors += validate_embedded(obj, self.schema)
        errors += self._list_type_errors(obj, old)
        return errors + self._rule_errors(obj, old, correlated, errors)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        """What is wrong with an update of the status alone."""
        errors: list[FieldError] = []
        correlated = Correlated(obj, old, self.schema)
        status, schema = obj.get("status"), self._status
        if "status" in obj and schema is not None and not self._accepts_status(status):
            below = correlated.key("status") or Correlated(status, old.get("status"), schema)
            errors = explain(status, schema, _STATUS, below)
        errors += self._list_type_errors(obj, old)
        return errors + self._rule_errors(obj, old, correlated, errors)

    @cached_property
    def _rules(self) -> RuleNode | None:
        """Compiled when the first object comes: a definition may have hundreds of rules."""
        from kapstan.apiserver.schema.cel.rules import compile_rules

        return compile_rules(self.schema)

    def _rule_errors(
        self, obj: Object, old: Object | None, correlated: Correlated | None, errors: list[FieldError]
    ) -> list[FieldError]:
        if self._rules is None:
            return []
        if any(error.type in _BLOCKING for error in errors):
            return [FieldError.invalid(Path(), None, _NOT_CHECKED)]
        return self._rules.validate(obj, old, correlated)

    def _list_type_errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Duplicates, unless there have been some before."""
        if self._is_unique is None or self._is_unique(obj):
            return []
        errors = validate_list_types(obj, self.schema)
        if errors and old is not None and validate_list_types(old, self.schema):
            return []
        return errors
