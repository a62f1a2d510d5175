"""Fields of values at run time: `a.b`, `has(a.b)`, `a.?b`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapstan.apiserver.schema.cel.library.standard import find_in_map
from kapstan.apiserver.schema.cel.values import NONE, EvaluationError, MapValue, Optional

if TYPE_CHECKING:
    from kapstan.apiserver.schema.cel.evaluate import Frame, Run

__all__ = ("has_field", "optional_field", "select", "struct_select")


def struct_select(operand: Run, field: str) -> Run:
    """A field of a declared object: nearly always a value of the schema, whose fields are known."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if isinstance(value, MapValue):
            found, item = value.find(field)
            if found:
                return item
            raise EvaluationError(f"no such key: {field}")
        return select(value, field)

    return run


def select(value: Any, field: str) -> Any:
    """`value.field`."""
    if type(value) is dict:
        if field in value:
            return value[field]
    elif isinstance(value, MapValue):
        found, item = value.find(field)
        if found:
            return item
    elif isinstance(value, Optional):
        return optional_field(value, field)
    raise EvaluationError(f"no such key: {field}")


def has_field(value: Any, field: str) -> bool:
    """`has(value.field)`."""
    if type(value) is dict:
        return field in value
    if isinstance(value, MapValue):
        return value.find(field)[0]
    if isinstance(value, Optional):
        return optional_field(value, field).present
    return False


def optional_field(value: Any, field: str) -> Optional:
    """`value.?field`."""
    if isinstance(value, Optional):
        return optional_field(value.value, field) if value.present else NONE
    if type(value) is dict or isinstance(value, MapValue):
        found, item = find_in_map(value, field)
        return Optional(item) if found else NONE
    return NONE
