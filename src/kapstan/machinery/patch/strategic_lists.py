"""The order of merged lists, and the checks on their elements, of strategic merge patches.

Two elements are the same if their merge keys are equal; of scalars, if they are equal themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.machinery.errors import APIError, Invalid
from kapstan.machinery.golang import format_value

__all__ = ("check_order", "element_type", "find", "in_order", "key_missing", "partition", "same", "type_name")

_GO_TYPES: Mapping[type, str] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}


def type_name(value: Any) -> str:
    """The name of the value's type in Go, which kube-apiserver's messages use."""
    return _GO_TYPES.get(type(value), "%!s(<nil>)")


def same(left: Any, right: Any) -> bool:
    """Equal as Go's `==` on interfaces: of the same type too."""
    return type(left) is type(right) and bool(left == right)


def key_missing(element: Mapping[str, Any], key: str) -> APIError:
    return APIError(f"map: {format_value(dict(element))} does not contain declared merge key: {key}")


def element_type(*lists: list[Any]) -> type:
    """The one type of all elements."""
    found: type | None = None
    for item in (item for each in lists for item in each):
        if found is None:
            found = type(item)
            if found is list:
                raise Invalid("lists of lists are not supported")
        elif type(item) is not found:
            raise APIError(f"list element types are not identical: {format_value(list(lists))}")
    if found is None:
        raise APIError("no elements in any of the given slices")
    return found


def partition(items: list[Any], by: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Those that `by` has, and those that it has not."""
    named: list[Any] = []
    others: list[Any] = []
    for item in items:
        if key:
            _require_key(item, key)
        (named if find(by, item, key) >= 0 else others).append(item)
    return named, others


def in_order(named: list[Any], others: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """`named` as `order` has them, with `others` in between, each before the first that it stood before."""
    named = _sorted(named, order, key)
    others = _sorted(others, before, key)
    result: list[Any] = []
    at = 0
    for item in named:
        while at < len(others) and _stood_before(others[at], item, before, key):
            result.append(others[at])
            at += 1
        result.append(item)
    return [*result, *others[at:]]


def check_order(change: list[Any], order: list[Any], key: str) -> None:
    """Every element of the patch's list must be in the order's list, and in its order."""
    if not change or not order:
        return
    pending = [item for item in change if not (key and _is_deletion(item))]
    at = 0
    for wanted in order:
        while at < len(pending) and _has_directive(pending[at]):
            at += 1
        if at == len(pending):
            return
        if _matches(pending[at], wanted, key):
            at += 1
    if at < len(pending):
        raise APIError(
            f"The order in patch list:\n{format_value(change)}\n doesn't match $setElementOrder list:\n"
            f"{format_value(order)}\n"
        )


def _is_deletion(item: Any) -> bool:
    if not isinstance(item, dict):
        raise APIError(f"expected a {type_name({})}, but received a {type_name(item)}")
    return item.get("$patch") == "delete"


def _has_directive(item: Any) -> bool:
    return isinstance(item, dict) and "$patch" in item


def _matches(item: Any, wanted: Any, key: str) -> bool:
    if not key:
        return same(item, wanted)
    return same(_require_key(item, key), _require_key(wanted, key))


def _require_key(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise APIError(f"expected a {type_name({})}, but received a {type_name(item)}")
    if key not in item:
        raise key_missing(item, key)
    return item[key]


def _sorted(items: list[Any], order: list[Any], key: str) -> list[Any]:
    """By their place in `order`. An element that it has not moves to the front, as in kube-apiserver."""
    deletions: list[Any] = []
    if key:
        for item in (*items, *order):
            _require_key(item, key)
        deletions = [item for item in items if _is_deletion(item)]
        items = [item for item in items if not _is_deletion(item)]
    result: list[tuple[int, Any]] = []
    for item in items:
        place, at = find(order, item, key), len(result)
        while at and (place < 0 or result[at - 1][0] < 0 or place < result[at - 1][0]):
            at -= 1
        result.insert(at, (place, item))
    return [*(item for _, item in result), *deletions]


def _stood_before(left: Any, right: Any, before: list[Any], key: str) -> bool:
    first, second = find(before, left, key), find(before, right, key)
    return 0 <= first < second


def find(items: list[Any], wanted: Any, key: str) -> int:
    """Where the list has that element; -1 if nowhere."""
    if not key:
        return next((at for at, item in enumerate(items) if same(item, wanted)), -1)
    value = wanted.get(key)
    return next((at for at, item in enumerate(items) if isinstance(item, dict) and same(item.get(key), value)), -1)
