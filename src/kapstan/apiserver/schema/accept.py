"""Accepting: the quick way to validate. A schema is compiled to closures that say yes or no.

Nearly every object that is written is valid; only for the others does `explain` walk again and word the failures. The
two agree because both are made of the same keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from kapstan.apiserver.schema.keywords import (
    effective_format,
    enum_keyword,
    format_keyword,
    is_unique,
    number_keywords,
    string_keywords,
    type_names,
)
from kapstan.apiserver.schema.numeric import INT32, INT64, is_json_integer
from kapstan.machinery.schema import Schema

__all__ = ("Acceptor", "compile_acceptor")

# A test, or its constant outcome.
Check: TypeAlias = "Callable[[Any], bool] | bool"
# What to test for a value of each Python type.
Acceptor: TypeAlias = "dict[type, Check]"

_MAX_REMEMBERED = 512
_MAX_REMEMBERED_LENGTH = 128

_PYTHON_TYPES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


def compile_acceptor(schema: Schema) -> Callable[[Any], bool]:
    """A function that says whether a value is valid."""
    table = _compile(schema, {})

    def accepts(value: Any) -> bool:
        check = table[type(value)]
        return check if check is True or check is False else check(value)

    return accepts


def _compile(schema: Schema, seen: dict[int, Acceptor]) -> Acceptor:
    table = seen.get(id(schema))
    if table is None:
        # Registered before it is filled: definitions may be recursive.
        table = seen[id(schema)] = {}
        enum = enum_keyword(schema)
        table[type(None)] = (schema.nullable or not type_names(schema)) and enum is None
        for python_type in _PYTHON_TYPES:
            table[python_type] = _all([*_checks(schema, python_type, seen), *([enum.accepts] if enum else ())])
    return table


def _checks(schema: Schema, python_type: type, seen: dict[int, Acceptor]) -> list[Check]:
    """The tests that apply to a value of the type, cheapest first."""
    checks: list[Check] = [_type_check(schema, python_type)]
    if checks[0] is False:
        return checks
    if python_type is str:
        checks += _string_checks(schema)
    elif python_type is int:
        checks = [_integer_check(schema, seen[id(schema)])]
    elif python_type is float:
        checks += (keyword.accepts for keyword in number_keywords(schema))
    elif python_type is list:
        checks += _list_checks(schema, seen)
    elif python_type is dict:
        checks += _object_checks(schema, seen)
    return [*checks, *_composed_checks(schema, python_type, seen)]


def _type_check(schema: Schema, python_type: type) -> Check:
    names, format = type_names(schema), effective_format(schema)
    if not names and not format:
        return True
    name = _PYTHON_TYPES[python_type]
    numeric = "integer" in names or "number" in names
    if format and python_type in (str, list) and not numeric:
        return True  # kube-apiserver leaves the type of strings and lists to the format here
    if name in names:
        return True
    if python_type is int:
        return "number" in names
    if python_type is float and "integer" in names:
        return is_json_integer
    return False


def _string_checks(schema: Schema) -> list[Check]:
    checks: list[Check] = []
    shortest, longest = schema.min_length or 0, schema.max_length
    if longest is not None:
        checks.append(lambda value: shortest <= len(value) <= longest)
    elif shortest:
        checks.append(lambda value: len(value) >= shortest)
    if schema.pattern:
        checks.append(string_keywords(schema)[-1].accepts)
    if (format := format_keyword(schema)) is not None:
        checks.append(format.accepts)
    return [_remember(checks)] if schema.pattern or format else checks


def _remember(checks: list[Check]) -> Check:
    """Patterns and formats are slow, and the same names, versions and times come in write after write."""
    check = _all(checks)
    assert not isinstance(check, bool)
    verdicts: dict[str, bool] = {}

    def remembered(value: str) -> bool:
        verdict = verdicts.get(value)
        if verdict is None:
            verdict = check(value)
            if len(verdicts) >= _MAX_REMEMBERED:
                verdicts.clear()
            if len(value) <= _MAX_REMEMBERED_LENGTH:
                verdicts[value] = verdict
        return verdict

    return remembered


def _integer_check(schema: Schema, table: Acceptor) -> Check:
    """Bounds of the type and of the schema as one comparison, where all of them are integers."""
    keywords = number_keywords(schema)
    bounds = (schema.minimum, schema.maximum)
    plain = all(bound is None or (float(bound).is_integer() and int(bound) in INT64) for bound in bounds)
    if type_names(schema) != ("integer",) or schema.multiple_of is not None or not plain:
        tests = _all([_type_check(schema, int), *(keyword.accepts for keyword in keywords)])
        # Beyond int64 a number is a float.
        return lambda value: _run(tests, value) if value in INT64 else _run(table[float], float(value))
    allowed = INT32 if effective_format(schema) == "int32" else INT64
    low, high = allowed.start, allowed.stop - 1
    if schema.minimum is not None:
        low = max(low, int(schema.minimum) + schema.exclusive_minimum)
    if schema.maximum is not None:
        high = min(high, int(schema.maximum) - schema.exclusive_maximum)
    return lambda value: low <= value <= high


def _list_checks(schema: Schema, seen: dict[int, Acceptor]) -> list[Check]:
    checks: list[Check] = []
    if (least := schema.min_items) is not None:
        checks.append(lambda value: len(value) >= least)
    if (most := schema.max_items) is not None:
        checks.append(lambda value: len(value) <= most)
    if schema.unique_items:
        checks.append(is_unique)
    if schema.items is not None:
        checks.append(_items_check(_compile(schema.items, seen)))
    return checks


def _items_check(table: Acceptor) -> Check:
    def check(value: list[Any]) -> bool:
        for item in value:
            verdict = table[type(item)]
            if verdict is not True and (verdict is False or not verdict(item)):
                return False
        return True

    return check


def _object_checks(schema: Schema, seen: dict[int, Acceptor]) -> list[Check]:
    checks: list[Check] = []
    if (least := schema.min_properties) is not None:
        checks.append(lambda value: len(value) >= least)
    if (most := schema.max_properties) is not None:
        checks.append(lambda value: len(value) <= most)
    required = frozenset(schema.required)
    properties = {name: _compile(child, seen) for name, child in schema.properties.items()}
    if schema.additional is False:
        known = schema.properties.keys()
        checks.append(lambda value: value.keys() <= known)
    if isinstance(schema.additional, Schema):
        checks.append(_map_check(required, properties, _compile(schema.additional, seen)))
    elif properties or required:
        checks.append(_properties_check(required, properties))
    return checks


def _properties_check(required: frozenset[str], properties: dict[str, Acceptor]) -> Check:
    def check(value: dict[str, Any]) -> bool:
        if not required <= value.keys():
            return False
        for key, item in value.items():
            table = properties.get(key)
            if table is not None:
                verdict = table[type(item)]
                if verdict is not True and (verdict is False or not verdict(item)):
                    return False
        return True

    return check


def _map_check(required: frozenset[str], properties: dict[str, Acceptor], additional: Acceptor) -> Check:
    def check(value: dict[str, Any]) -> bool:
        if not required <= value.keys():
            return False
        for key, item in value.items():
            verdict = properties.get(key, additional)[type(item)]
            if verdict is not True and (verdict is False or not verdict(item)):
                return False
        return True

    return check


def _composed_checks(schema: Schema, python_type: type, seen: dict[int, Acceptor]) -> list[Check]:
    checks: list[Check] = [_branch(part, python_type, seen) for part in schema.all_of]
    if schema.any_of:
        any_of = [_branch(part, python_type, seen) for part in schema.any_of]
        checks.append(lambda value: any(_run(check, value) for check in any_of))
    if schema.one_of:
        one_of = [_branch(part, python_type, seen) for part in schema.one_of]
        checks.append(lambda value: sum(_run(check, value) for check in one_of) == 1)
    if schema.not_ is not None:
        negated = _branch(schema.not_, python_type, seen)
        checks.append(lambda value: not _run(negated, value))
    return checks


def _branch(part: Schema, python_type: type, seen: dict[int, Acceptor]) -> Check:
    table = _compile(part, seen)
    if python_type in table:
        return table[python_type]
    return lambda value: _run(table[python_type], value)


def _run(check: Check, value: Any) -> bool:
    return check if check is True or check is False else check(value)


def _all(checks: Sequence[Check]) -> Check:
    """One check for all of them, without a call for what is constant."""
    if False in checks:
        return False
    tests = [check for check in checks if check is not True and check is not False]
    if len(tests) < 2:
        return tests[0] if tests else True
    if len(tests) == 2:
        first, second = tests
        return lambda value: first(value) and second(value)

    def check(value: Any) -> bool:
        return all(test(value) for test in tests)

    return check
