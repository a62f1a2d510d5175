"""Whether a value fits its type, with the texts of Kubernetes where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapstan.machinery.apply.fieldpath import element_string
from kapstan.machinery.apply.types import Atom, ListType, MapType, ScalarType, TypedError
from kapstan.machinery.golang import format_value, quote

__all__ = ("validate",)


def validate(atom: Atom, value: Any) -> None:
    """TypedError with all that does not fit. Elements of one name may not be in a list twice."""
    if _fits(atom, value):
        return
    errors = list(_errors(atom, value, ""))
    if len(errors) == 1:
        raise TypedError(errors[0])
    if errors:
        raise TypedError("\n  ".join(["errors:", *errors]))


def _fits(atom: Atom, value: Any) -> bool:
    """The same without the texts: nearly all values fit."""
    kind = atom.only or atom.of(value)
    if isinstance(kind, ScalarType):
        return type(value) in kind.types or value is None
    if isinstance(kind, MapType):
        if type(value) is not dict:
            return value is None
        declared, element = kind.fields, kind.element
        for name, part in value.items():
            field = declared.get(name) or element
            if field is None:
                return False
            only = field.only
            if isinstance(only, ScalarType):
                if type(part) not in only.types and part is not None:
                    return False
            elif not _fits(field, part):
                return False
        return True
    if type(value) is not list:
        return value is None
    return (kind.atomic or _are_distinct(kind, value)) and all(_fits(kind.element, item) for item in value)


def _are_distinct(kind: ListType, items: list[Any]) -> bool:
    try:
        return len({kind.path_element(item) for item in items}) == len(items)
    except TypedError:
        return False


def _errors(atom: Atom, value: Any, path: str) -> Iterator[str]:
    kind = atom.of(value)
    if value is None:
        return
    if isinstance(kind, MapType):
        if type(value) is dict:
            yield from _map_errors(kind, value, path)
        else:
            yield _at(path, f"expected map, got &{{{format_value(value)}}}")
    elif isinstance(kind, ListType):
        if type(value) is list:
            yield from _list_errors(kind, value, path)
        else:
            yield _at(path, f"expected list, got &{{{format_value(value)}}}")
    elif type(value) not in kind.types:
        yield _at(path, _wrong_scalar(kind, value))


def _map_errors(kind: MapType, value: dict[str, Any], path: str) -> Iterator[str]:
    declared, element = kind.fields, kind.element
    for name, part in value.items():
        atom = declared.get(name) or element
        if atom is None:
            yield _at(f"{path}.{name}", "field not declared in schema")
        else:
            yield from _errors(atom, part, f"{path}.{name}")


def _list_errors(kind: ListType, items: list[Any], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for position, item in enumerate(items):
        if kind.atomic:
            shown = f"[{position}]"
        else:
            try:
                name = kind.path_element(item)
            except TypedError as error:
                yield _at(path, f"element {position}: {error}")
                return
            shown = element_string(name)
            if name in seen:
                yield _at(path, f"duplicate entries for key {shown}")
            seen.add(name)
        yield from _errors(kind.element, item, path + shown)


def _at(path: str, message: str) -> str:
    return f"{path}: {message}" if path else message


def _wrong_scalar(kind: ScalarType, value: Any) -> str:
    if kind.name == "numeric":
        return f"expected numeric (int or float), got {_go_type(value)}"
    if kind.name == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    what = "boolean" if kind.name == "boolean" else "any scalar"
    return f"expected {what}, got &{{{format_value(value)}}}"


def _go_type(value: Any) -> str:
    types = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    return types.get(type(value), "<nil>")


def _go_syntax(value: Any) -> str:
    """`%#v` of a decoded JSON value."""
    if isinstance(value, dict):
        parts = ", ".join(f"{quote(key)}:{_go_syntax(part)}" for key, part in sorted(value.items()))
        return f"map[string]interface {{}}{{{parts}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, str):
        return quote(value)
    return format_value(value) if value is not None else "interface {}(nil)"
