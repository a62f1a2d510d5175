"""Validation: everything that is checked before a write, in one list, so that a client learns all that is wrong."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.request import Request
from kapstan.apiserver.schema.objectmeta import validate_object_meta, validate_object_meta_update
from kapstan.machinery.names import name_is_path_segment
from kapstan.machinery.validation import FieldError

__all__ = ("validate_create", "validate_update")

Object = dict[str, Any]


def validate_create(request: Request, obj: Object) -> list[FieldError]:
    kind, strategy = request.kind, request.strategy
    errors = validate_object_meta(obj["metadata"], namespaced=kind.namespaced, name_check=strategy.name_errors)
    errors += kind.intake.validate(obj, None)
    errors += strategy.validate(request, obj)
    return errors


def validate_update(request: Request, obj: Object, old: Object) -> list[FieldError]:
    kind, strategy = request.kind, request.strategy
    errors = validate_object_meta(obj["metadata"], namespaced=kind.namespaced, name_check=name_is_path_segment)
    errors += validate_object_meta_update(obj["metadata"], old["metadata"])
    errors += kind.intake.validate(obj, old, request.subresource)
    errors += strategy.validate_update(request, obj, old)
    return errors
