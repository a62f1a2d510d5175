"""Validation: everything that is checked before a write, in one list, so that a client learns all that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapstan.apiserver.request import Request
from kapstan.apiserver.schema.cel.pacing import unhurried
from kapstan.apiserver.schema.objectmeta import validate_object_meta, validate_object_meta_update
from kapstan.machinery.names import name_is_path_segment
from kapstan.machinery.validation import FieldError, Path

__all__ = ("validate_create", "validate_update")

Object = dict[str, Any]

_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


async def validate_create(request: Request, obj: Object) -> list[FieldError]:
    errors = _meta_errors(request, obj["metadata"])
    errors += await _judged(request, obj, None)
    errors += request.strategy.validate(request, obj)
    return errors


async def _judged(request: Request, obj: Object, old: Object | None, subresource: str = "") -> Sequence[FieldError]:
    """What the schema says. Rules of custom kinds may take long."""
    validate = request.kind.intake.validate
    if not request.kind.custom:
        return validate(obj, old, subresource)
    return await unhurried(lambda: validate(obj, old, subresource))


def _meta_errors(request: Request, metadata: Object) -> list[FieldError]:
    kind = request.kind
    errors = validate_object_meta(metadata, namespaced=kind.namespaced, name_check=request.strategy.name_errors)
    if not kind.custom:
        for position, name in enumerate(metadata.get("finalizers") or ()):
            errors += _finalizer_errors(name, Path("metadata", "finalizers").index(position))
    return errors


def _finalizer_errors(name: str, path: Path) -> list[FieldError]:
    """Built-in kinds are stricter about names without a domain than custom ones."""
    if "/" in name or name in _STANDARD_FINALIZERS:
        return []
    return [FieldError.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]


async def validate_update(request: Request, obj: Object, old: Object) -> list[FieldError]:
    """Metadata is looked at twice, by what all kinds share and by the kind's own rules: causes come twice, too."""
    kind, strategy, metadata = request.kind, request.strategy, obj["metadata"]
    errors = validate_object_meta(metadata, namespaced=kind.namespaced, name_check=name_is_path_segment)
    changes = validate_object_meta_update(metadata, old["metadata"])
    errors += changes + changes
    if not kind.custom:
        errors += _meta_errors(request, metadata)
    errors += await _judged(request, obj, old, request.subresource)
    errors += strategy.validate_update(request, obj, old)
    return errors
