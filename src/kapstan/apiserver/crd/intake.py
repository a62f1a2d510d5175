"""What the schema of a custom kind does to its objects, metadata and scale included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kapstan.apiserver.crd.jsonpath import field_path
from kapstan.apiserver.schema.coerce import InvalidMetadata, decode_object_meta
from kapstan.apiserver.schema.custom import CustomResourceSchema
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.validation import FieldError

__all__ = ("CustomIntake", "nested")

Object = dict[str, Any]

_MAX_INT32 = 2**31 - 1
_GO_TYPES = {str: "string", bool: "bool", float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}


class CustomIntake:
    """One version of one custom kind. `scale` is its scale subresource, if it has one."""

    def __init__(self, schema: CustomResourceSchema, scale: Mapping[str, Any] | None) -> None:
        self._schema = schema
        self._scale = scale

    def shape(self, obj: Object, *, applied: bool = False, converted: bool = False) -> list[str]:
        try:
            metadata, unknown = decode_object_meta(obj.get("metadata"))
            obj["metadata"] = metadata
            found = [f"metadata.{path}" for path in unknown] + self._schema.prune(obj, nulls=not applied)
        except InvalidMetadata as error:
            raise BadRequest(str(error)) from error
        if not converted:
            self._schema.default(obj)
        return found

    def validate(self, obj: Object, old: Object | None, subresource: str = "") -> Sequence[FieldError]:
        if subresource == "status" and old is not None:
            return [*self._schema.validate_status(obj, old), *self._scale_errors(obj, spec=False)]
        return [*self._schema.validate(obj, old), *self._scale_errors(obj, spec=True)]

    def _scale_errors(self, obj: Object, *, spec: bool) -> list[FieldError]:
        if self._scale is None:
            return []
        paths = [self._scale["specReplicasPath"]] if spec else []
        errors = []
        for path in (*paths, self._scale["statusReplicasPath"]):
            value = nested(obj, field_path(path))
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                detail = f"{path} accessor error: {value} is of the type {_GO_TYPES[type(value)]}, expected int64"
                errors.append(FieldError.invalid(path, 0, detail))
            elif value < 0:
                errors.append(FieldError.invalid(path, value, "should be a non-negative integer"))
            elif value > _MAX_INT32:
                errors.append(FieldError.invalid(path, value, f"should be less than or equal to {_MAX_INT32}"))
        return errors


def nested(obj: Any, path: Sequence[str]) -> Any:
    """The value at a path of fields; None if there is none."""
    for name in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj
