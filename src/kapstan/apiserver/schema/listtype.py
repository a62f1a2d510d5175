"""List types: items of a set are unique, and so are the keys of the items of a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapstan.machinery.golang import to_json
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import FieldError, Path

__all__ = ("compile_uniqueness", "validate_list_types")


def compile_uniqueness(schema: Schema) -> Callable[[Any], bool] | None:
    """A quick test that no list below has duplicates; None if none could.

    It may fail for values that only look equal to Python (1 and True); `validate_list_types` has the last word.
    """
    items = compile_uniqueness(schema.items) if schema.items is not None else None
    own = _own_uniqueness(schema)
    if own is not None or items is not None:
        return _list_test(own, items)
    fields = {
        name: test for name, child in schema.properties.items() if (test := compile_uniqueness(child)) is not None
    }
    additional = compile_uniqueness(schema.additional) if isinstance(schema.additional, Schema) else None
    return _object_test(fields, additional) if fields or additional is not None else None


def _own_uniqueness(schema: Schema) -> Callable[[list[Any]], bool] | None:
    if schema.list_type == "set":
        return lambda value: len(set(value)) == len(value)
    if schema.list_type != "map":
        return None
    if len(schema.list_map_keys) == 1:
        (name,) = schema.list_map_keys
        return lambda value: len({item.get(name) for item in value}) == len(value)
    names = schema.list_map_keys
    return lambda value: len({tuple(map(item.get, names)) for item in value}) == len(value)


def _list_test(own: Callable[[list[Any]], bool] | None, items: Callable[[Any], bool] | None) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        if type(value) is not list:
            return True
        try:
            return (own is None or own(value)) and (items is None or all(map(items, value)))
        except (TypeError, AttributeError):  # items that cannot be hashed or have no keys
            return False

    return test


def _object_test(
    fields: dict[str, Callable[[Any], bool]], additional: Callable[[Any], bool] | None
) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        if type(value) is not dict:
            return True
        for name, check in fields.items():
            if name in value and not check(value[name]):
                return False
        return additional is None or all(map(additional, value.values()))

    return test


def validate_list_types(value: Any, schema: Schema | None, path: Path | None = None) -> list[FieldError]:
    """Duplicates in sets and maps, at any depth."""
    path = path or Path()
    errors: list[FieldError] = []
    if schema is None:
        return errors
    if type(value) is dict:
        for key, item in value.items():
            if type(item) is not dict and type(item) is not list:
                continue
            if key in schema.properties:
                errors += validate_list_types(item, schema.properties[key], path.child(key))
            if isinstance(schema.additional, Schema):
                errors += validate_list_types(item, schema.additional, path.key(key))
    elif type(value) is list:
        if schema.list_type == "set":
            errors += _duplicates(value, path)
        elif schema.list_type == "map":
            errors += _map_errors(value, schema, path)
        if schema.items is not None:
            for position, item in enumerate(value):
                errors += validate_list_types(item, schema.items, path.index(position))
    return errors


def _map_errors(value: list[Any], schema: Schema, path: Path) -> list[FieldError]:
    for position, item in enumerate(value):
        if item is not None and type(item) is not dict:
            detail = "must be an object for an array of list-type map"
            return [FieldError.invalid(path.index(position), item, detail)]
    names = schema.list_map_keys
    keys = [{name: item[name] for name in names if name in item} if item else {} for item in value]
    return _duplicates(keys, path)


def _duplicates(items: list[Any], path: Path) -> list[FieldError]:
    """The second of equal items is reported; a third is not."""
    times: dict[tuple[type, Any], int] = {}
    errors = []
    for position, item in enumerate(items):
        comparable = to_json(item) if isinstance(item, dict | list) else item
        key = (type(item), comparable)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            errors.append(FieldError.duplicate(path.index(position), item))
    return errors
