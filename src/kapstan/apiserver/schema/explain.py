"""Explaining: the thorough way to validate, which words every failure exactly as kube-apiserver does.

It follows kube-openapi's order of checks and its way to choose, among the branches of `anyOf` and `oneOf`, the one
that came closest: each passed check counts. On updates it ratchets along the structural part of the schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapstan.apiserver.schema.keywords import (
    Failure,
    Keyword,
    effective_format,
    enum_keyword,
    format_keyword,
    invalid,
    is_unique,
    nameless,
    number_keywords,
    string_keywords,
    type_invalid,
    type_names,
)
from kapstan.apiserver.schema.numeric import go_number, is_json_integer
from kapstan.apiserver.schema.ratchet import Correlated
from kapstan.machinery.golang import quote
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import FieldError, Path

__all__ = ("explain",)

_JSON_TYPES: dict[type, tuple[str, str]] = {
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    bool: ("boolean", ""),
    list: ("array", ""),
    dict: ("object", ""),
}


def explain(
    value: Any, schema: Schema, path: Path | None = None, correlated: Correlated | None = None
) -> list[FieldError]:
    """Everything that is wrong with a value. `path` is where it stands; `correlated` makes it an update."""
    path = path or Path()
    result = _validate(value, schema, "", correlated)
    return [
        failure.make(path.child(name) if (name := failure.name.removeprefix(".")) else path)
        for failure in result.failures
    ]


class _Result:
    """Failures, each message once, and how many checks passed."""

    __slots__ = ("_by_message", "matches")

    def __init__(self) -> None:
        self._by_message: dict[str, Failure] = {}
        self.matches = 0

    @property
    def failures(self) -> Iterable[Failure]:
        return self._by_message.values()

    @property
    def is_valid(self) -> bool:
        return not self._by_message

    def add(self, failure: Failure) -> None:
        self._by_message.setdefault(failure.message, failure)

    def merge(self, other: _Result) -> None:
        for failure in other.failures:
            self.add(failure)
        self.matches += other.matches

    def tolerate(self) -> None:
        self._by_message.clear()


def _validate(value: Any, schema: Schema, name: str, correlated: Correlated | None = None) -> _Result:
    result = _Result()
    value = go_number(value)
    if value is None:
        names = type_names(schema)
        if names and not schema.nullable:
            result.add(type_invalid(name, ",".join(names), "null"))
        else:
            result.matches += 1
        _run(enum_keyword(schema), value, name, result)
    else:
        _validate_present(value, schema, name, correlated, result)
    if correlated is not None and not result.is_valid and correlated.unchanged():
        result.tolerate()
    return result


def _validate_present(value: Any, schema: Schema, name: str, correlated: Correlated | None, result: _Result) -> None:
    if type_names(schema) or effective_format(schema):
        result.matches += 1
        failure = _type_failure(value, schema, name)
        if failure is None:
            result.matches += 1
        else:
            result.add(failure)
    result.merge(_composed(value, schema, name))
    result.matches += 1
    match value:
        case str():
            result.matches += 1
            _run_first(string_keywords(schema), value, name, result)
            if (format := format_keyword(schema)) is not None:
                result.matches += 1
                _run(format, value, name, result)
        case int() | float() if type(value) is not bool:
            result.matches += 2
            for keyword in number_keywords(schema):
                _run(keyword, value, name, result)
        case list():
            result.matches += 2
            _validate_list(value, schema, name, correlated, result)
    result.matches += 1
    _run(enum_keyword(schema), value, name, result)
    if type(value) is dict:
        result.matches += 1
        _validate_object(value, schema, name, correlated, result)
    result.matches += 1


def _run(keyword: Keyword | None, value: Any, name: str, result: _Result) -> bool:
    if keyword is None or keyword.accepts(value):
        return True
    result.add(keyword.complain(value, name))
    return False


def _run_first(keywords: list[Keyword], value: Any, name: str, result: _Result) -> None:
    for keyword in keywords:
        if not _run(keyword, value, name, result):
            return


def _type_failure(value: Any, schema: Schema, name: str) -> Failure | None:
    names, format = type_names(schema), effective_format(schema)
    found, found_format = _JSON_TYPES[type(value)]
    fits = (
        found in names
        or (found == "number" and "integer" in names and is_json_integer(value))
        or (found == "integer" and "number" in names)
    )
    if type(value) in (str, list):
        numeric = "integer" in names or "number" in names
        if format and not numeric:
            return None
    elif format and not fits:
        return type_invalid(name, format, found_format)
    return None if fits else type_invalid(name, ",".join(names), found)


def _validate_list(value: list[Any], schema: Schema, name: str, correlated: Correlated | None, result: _Result) -> None:
    if schema.items is not None:
        for position, item in enumerate(value):
            below = correlated.index(position) if correlated is not None else None
            result.merge(_validate(item, schema.items, f"{name}[{position}]", below))
    size = len(value)
    if schema.min_items is not None and size < schema.min_items:
        result.add(invalid(name, size, f"{name} in body should have at least {schema.min_items} items"))
    if schema.max_items is not None and size > schema.max_items:
        result.add(_too_many(name, size, schema.max_items, "items"))
    if schema.unique_items and not is_unique(value):
        result.add(invalid(name, "", f"{name} in body shouldn't contain duplicates"))


def _too_many(name: str, size: int, limit: int, what: str) -> Failure:
    message = f"{name} in body should have at most {limit} {what}"
    return Failure(name, message, lambda path: FieldError.too_many(path, size, limit))


def _validate_object(
    value: dict[str, Any], schema: Schema, name: str, correlated: Correlated | None, result: _Result
) -> None:
    size = len(value)
    if schema.min_properties is not None and size < schema.min_properties:
        result.add(invalid(name, size, f"{name} in body should have at least {schema.min_properties} properties"))
    if schema.max_properties is not None and size > schema.max_properties:
        result.add(_too_many(name, size, schema.max_properties, "properties"))
    unknown = [key for key in value if key not in schema.properties]
    for key in unknown:
        if schema.additional is False:
            result.add(invalid(name, key, f"{name}.{key} in body is a forbidden property"))
        elif isinstance(schema.additional, Schema):
            below = _field(correlated, key, name)
            result.merge(_validate(value[key], schema.additional, f"{name}.{key}", below))
    for key, child in schema.properties.items():
        if key in value:
            at = f"{name}.{key}" if name else key
            result.merge(_validate(value[key], child, at, _field(correlated, key, name)))
    for key in schema.required:
        if key not in value:
            result.add(_missing(f"{name}.{key}"))


def _field(correlated: Correlated | None, key: str, name: str) -> Correlated | None:
    """apiVersion and kind of the object itself never ratchet: both versions were converted to the same."""
    if correlated is None or (not name and key in ("apiVersion", "kind")):
        return None
    return correlated.key(key)


def _missing(name: str) -> Failure:
    return Failure(name, f"{name} in body is required", FieldError.required)


def _composed(value: Any, schema: Schema, name: str) -> _Result:
    """`anyOf`, `oneOf`, `allOf` and `not`. Nothing ratchets inside of them."""
    result = _Result()
    result.matches += 1
    if schema.any_of:
        _any_of([_validate(value, part, name) for part in schema.any_of], name, result)
    if schema.one_of:
        _one_of([_validate(value, part, name) for part in schema.one_of], name, result)
    if schema.all_of:
        _all_of([_validate(value, part, name) for part in schema.all_of], name, result)
    if schema.not_ is not None and _validate(value, schema.not_, name).is_valid:
        result.add(nameless(f"{quote(name)} must not validate the schema (not)"))
    return result


def _any_of(branches: list[_Result], name: str, result: _Result) -> None:
    passed = next((branch for branch in branches if branch.is_valid), None)
    if passed is None:
        result.add(nameless(f"{quote(name)} must validate at least one schema (anyOf)"))
    result.merge(passed or _closest(branches))


def _one_of(branches: list[_Result], name: str, result: _Result) -> None:
    passed = [branch for branch in branches if branch.is_valid]
    if len(passed) == 1:
        result.merge(passed[0])
        return
    found = f"Found {len(passed)} valid alternatives" if passed else "Found none valid"
    result.add(nameless(f"{quote(name)} must validate one and only one schema (oneOf). {found}"))
    if not passed:
        result.merge(_closest(branches))


def _all_of(branches: list[_Result], name: str, result: _Result) -> None:
    for branch in branches:
        result.merge(branch)
    if not all(branch.is_valid for branch in branches):
        none = "" if any(branch.is_valid for branch in branches) else ". None validated"
        result.add(nameless(f"{quote(name)} must validate all the schemas (allOf){none}"))


def _closest(branches: list[_Result]) -> _Result:
    return max(branches, key=lambda branch: branch.matches)
