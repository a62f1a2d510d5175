"""Strategic merge patch: a merge patch that knows, from the kind's schema, which lists merge and by which key.

Only built-in kinds have the metadata (`x-kubernetes-patch-strategy`, `-merge-key`). Beside values, a patch may hold
directives: `$patch`, `$retainKeys`, `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.machinery.errors import APIError, BadRequest
from kapstan.machinery.golang import format_value, quote
from kapstan.machinery.patch.strategic_lists import (
    check_order,
    element_type,
    find,
    in_order,
    key_missing,
    partition,
    same,
    type_name,
)
from kapstan.machinery.schema import Schema

__all__ = ("apply_strategic_merge_patch",)

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_ORDER = "$setElementOrder"
_DELETE = "$deleteFromPrimitiveList"
_ABSENT: Any = object()


def apply_strategic_merge_patch(
    document: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema
) -> dict[str, Any]:
    """The document with the patch merged in, by the kind's schema.

    A patch that does not fit raises BadRequest, Invalid or APIError (500), whichever kube-apiserver answers with.
    """
    return _merge(document, patch, schema)


def _merge(document: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    if _PATCH in patch:
        return _directed(patch)
    result, rest = dict(document), dict(patch)
    _retain_keys(result, rest)
    _merge_ordered_lists(result, rest, schema)
    for key, value in rest.items():
        if key.startswith(_DELETE):
            _delete_elements(result, _behind(key, _DELETE), value, schema)
        elif value is None:
            result.pop(key, None)
        else:
            _set(result, key, _merge_field(result.get(key, _ABSENT), key, value, schema))
    return result


def _directed(patch: Mapping[str, Any]) -> dict[str, Any]:
    """A map with `$patch` is not merged: it replaces, or empties."""
    directive = patch[_PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _merge_field(current: Any, key: str, value: Any, schema: Schema) -> Any:
    """The field's new value; `_ABSENT` if it is to go."""
    if type(current) is not type(value):
        return _without_directives(_without_nulls(value))
    if isinstance(value, dict):
        child = _struct_field(schema, key)
        return value if _strategy(child) == "replace" else _merge(current, value, child)
    if isinstance(value, list):
        child = _list_field(schema, key)
        return _merge_list(current, value, child) if _strategy(child) == "merge" else value
    return value


def _set(fields: dict[str, Any], key: str, value: Any) -> None:
    if value is _ABSENT:
        fields.pop(key, None)
    else:
        fields[key] = value


def _retain_keys(result: dict[str, Any], patch: dict[str, Any]) -> None:
    """Of a union, drop the members that the patch's author did not name."""
    retained = patch.pop(_RETAIN_KEYS, _ABSENT)
    if retained is _ABSENT:
        return
    if not isinstance(retained, list):
        raise BadRequest("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and key not in retained and not key.startswith((_ORDER, _DELETE)):
            raise BadRequest("invalid patch format of retainKeys")
    for key in result.keys() - set(filter(_is_text, retained)):
        del result[key]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _delete_elements(result: dict[str, Any], key: str, removed: Any, schema: Schema) -> None:
    if removed is None:
        result.pop(key, None)
        return
    current = result.get(key)
    if not isinstance(current, list) or not isinstance(removed, list):
        return
    child = _list_field(schema, key)
    if not current and not removed:
        return
    if element_type(current, removed) is dict:
        result[key] = _merge_list(current, removed, child)
    else:
        result[key] = [item for item in current if not any(same(item, other) for other in removed)]


def _merge_ordered_lists(result: dict[str, Any], patch: dict[str, Any], schema: Schema) -> None:
    """Merge and sort the lists for which the patch gives an order; they are done with then."""
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _wrong_type([], order)
        key = _behind(directive, _ORDER)
        before, change = result.get(key, _ABSENT), patch.get(key, _ABSENT)
        for value in (before, change):
            if value is not _ABSENT and not isinstance(value, list):
                raise _wrong_type([], value)
        child = _list_field(schema, key)
        check_order(change if change is not _ABSENT else [], order, child.merge_key)
        if before is _ABSENT and change is _ABSENT:
            continue
        result[key] = _ordered(before, change, order, child)
        patch.pop(key, None)


def _ordered(before: Any, change: Any, order: list[Any], field: Schema) -> list[Any]:
    if change is _ABSENT:
        merged = before
    elif before is _ABSENT:
        merged = _without_directives(change)
    else:
        merged = _merge_list(before, change, field) if _strategy(field) == "merge" else change
    kind = element_type([] if before is _ABSENT else before, [] if change is _ABSENT else change)
    named, others = partition(merged, order, field.merge_key)
    before = [] if before is _ABSENT else before
    places = before if change is _ABSENT else _places(before, change, field.merge_key)
    return in_order(named, others, order, places, field.merge_key if kind is dict else "")


def _places(before: list[Any], change: list[Any], key: str) -> list[Any]:
    """The order that the object had. New elements take the places of deleted ones, as they do in kube-apiserver."""
    directed = [item for item in change if isinstance(item, dict) and _PATCH in item]
    if not directed or any(item[_PATCH] == "replace" for item in directed):
        return before
    kept = [item for item in before if find(directed, item, key) < 0]
    new = [item for item in change if item not in directed and find(kept, item, key) < 0]
    return [*kept, *new][: len(before)]


def _merge_list(current: list[Any], change: list[Any], field: Schema) -> list[Any]:
    """Merge two lists; the patch's elements keep the patch's order, the others stand where they stood among them."""
    if not current and not change:
        return current
    if element_type(current, change) is not dict:
        merged = _deduplicated([*current, *change])
        named, others = partition(merged, change, "")
        return in_order(named, others, change, current, "")
    key = field.merge_key
    element = field.items
    if not key or element is None:
        raise APIError(f"cannot merge lists without merge key for {_kind_of(element)}")
    current, change = _apply_element_directives(current, change, key)
    merged = _merge_elements(current, change, key, element)
    named, others = partition(merged, change, key)
    return in_order(named, others, change, merged[: len(current)], key)


def _apply_element_directives(
    current: list[Any], change: list[Any], key: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Do what `$patch` in elements says; what is left of both lists is plain."""
    plain = []
    replace = False
    for element in change:
        directive = element.get(_PATCH, _ABSENT)
        if directive is _ABSENT:
            plain.append(element)
        elif directive == "delete":
            if key not in element:
                raise key_missing(element, key)
            current = [item for item in current if key not in item or not same(item[key], element[key])]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise APIError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, element)
    return (plain, []) if replace else (current, plain)


def _merge_elements(
    current: list[dict[str, Any]], change: list[dict[str, Any]], key: str, element: Schema
) -> list[dict[str, Any]]:
    merged = list(current)
    for item in change:
        if key not in item:
            raise key_missing(item, key)
        for position, existing in enumerate(merged):
            if key in existing and same(existing[key], item[key]):
                merged[position] = _merge(existing, item, element)
                break
        else:
            merged.append(item)
    return merged


def _deduplicated(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(same(item, other) for other in found):
            found.append(item)
    return found


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def _without_directives(value: Any) -> Any:
    """A value that is new to the object, without what only directs the merge; `_ABSENT` if it was just that."""
    if isinstance(value, dict):
        if _PATCH in value:
            return _ABSENT
        parts = ((key, _without_directives(part)) for key, part in value.items())
        return {key: part for key, part in parts if part is not _ABSENT}
    if isinstance(value, list):
        return [part for part in map(_without_directives, value) if part is not _ABSENT]
    return value


def _behind(directive: str, prefix: str) -> str:
    """The list that a directive's key is about."""
    name, slash, key = directive.partition("/")
    if not slash or name != prefix:
        what = "primitive" if prefix == _DELETE else "setElementOrder"
        raise BadRequest(f"invalid patch format of {what} list")
    return key


def _strategy(field: Schema) -> str:
    return next((each for each in field.patch_strategies if each != "retainKeys"), "")


def _struct_field(schema: Schema, key: str) -> Schema:
    if not schema.properties and isinstance(schema.additional, Schema):
        raise APIError("merging an object in json but data type is not struct, instead is: map")
    field = schema.properties.get(key)
    if field is None:
        struct = schema.ref.rpartition(".")[2]
        raise APIError(f"unable to find api field in struct {struct} for the json field {quote(key)}")
    return field


def _list_field(schema: Schema, key: str) -> Schema:
    field = _struct_field(schema, key)
    if field.items is None:
        raise APIError("expected slice or array type, but got: struct")
    if field.items.type == "array":
        raise APIError("unexpected slice of slice")
    return field


def _kind_of(element: Schema | None) -> str:
    """Go's word for the type of a list's elements."""
    if element is None or element.properties:
        return "struct"
    return {"object": "map", "integer": "int"}.get(element.type, element.type)


def _unknown_directive(directive: Any, element: Mapping[str, Any]) -> APIError:
    return APIError(f"unknown patch type: {format_value(directive)} in map: {format_value(dict(element))}")


def _wrong_type(expected: Any, actual: Any) -> APIError:
    return APIError(f"expected a {type_name(expected)}, but received a {type_name(actual)}")
