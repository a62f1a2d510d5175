"""Changes: carry what a typed object went through over to the document that it was read from.

A type does not know every field of a document, so the object cannot be written back as it is: what it does not know
would be lost. What changed between two states of the object is put into the document instead.
"""

from __future__ import annotations

from typing import Any

__all__ = ("json_patch", "with_changes")


def with_changes(document: Any, before: Any, after: Any) -> Any:
    """The document, with what changed from `before` to `after`; everything else as it was."""
    if isinstance(before, dict) and isinstance(after, dict) and isinstance(document, dict):
        return _changed_object(document, before, after)
    if isinstance(before, list) and isinstance(after, list) and isinstance(document, list):
        return _changed_list(document, before, after)
    return document if before == after else after


def _changed_object(document: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in document.items() if name in after or name not in before}
    for name, value in after.items():
        if name not in before:
            changed[name] = value
        elif before[name] != value:
            changed[name] = with_changes(document.get(name, _empty_like(value)), before[name], value)
    return changed


def _changed_list(document: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Items are compared by their place; a list that is not the one that was read is replaced."""
    if before == after:
        return document
    if len(document) != len(before):
        return after
    shared = min(len(before), len(after))
    kept = [with_changes(document[place], before[place], after[place]) for place in range(shared)]
    return kept + after[shared:]


def _empty_like(value: Any) -> Any:
    return {} if isinstance(value, dict) else [] if isinstance(value, list) else None


def json_patch(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """The operations of RFC 6902 that make `old` into `new`."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _object_patch(old, new, path)
    if isinstance(old, list) and isinstance(new, list):
        return _list_patch(old, new, path)
    return [] if _same(old, new) else [{"op": "replace", "path": path, "value": new}]


def _object_patch(old: dict[str, Any], new: dict[str, Any], path: str) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = [
        {"op": "remove", "path": f"{path}/{_escaped(name)}"} for name in old if name not in new
    ]
    for name, value in new.items():
        place = f"{path}/{_escaped(name)}"
        if name in old:
            operations += json_patch(old[name], value, place)
        else:
            operations.append({"op": "add", "path": place, "value": value})
    return operations


def _list_patch(old: list[Any], new: list[Any], path: str) -> list[dict[str, Any]]:
    shared = min(len(old), len(new))
    operations: list[dict[str, Any]] = []
    for place in range(shared):
        operations += json_patch(old[place], new[place], f"{path}/{place}")
    operations += [{"op": "remove", "path": f"{path}/{place}"} for place in reversed(range(shared, len(old)))]
    operations += [{"op": "add", "path": f"{path}/-", "value": value} for value in new[shared:]]
    return operations


def _same(old: Any, new: Any) -> bool:
    """Equal, and of one type: in Python, True is 1 and 1 is 1.0."""
    return type(old) is type(new) and bool(old == new)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
