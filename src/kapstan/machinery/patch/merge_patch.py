"""JSON merge patch (RFC 7386): a partial object; what it holds is set, null deletes, lists are replaced whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.machinery.errors import BadRequest

__all__ = ("apply_merge_patch", "diff", "replaces_list")


def apply_merge_patch(document: Mapping[str, Any], patch: Any) -> Any:
    """The document with the patch merged in.

    As in kube-apiserver, nulls inside objects that are new to the document are dropped even within lists.
    """
    if isinstance(patch, list):
        return _without_nulls(patch)
    if not isinstance(patch, dict):
        raise BadRequest("Invalid JSON Patch")
    return _merge(document, patch)


def _merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
            continue
        current = result.get(key)
        if not isinstance(current, dict):
            result[key] = _without_nulls(value)
        elif isinstance(value, dict):
            result[key] = _merge(current, value)
        else:
            result[key] = value
    return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def diff(old: Mapping[str, Any], new: Mapping[str, Any], *, resource_version: str = "") -> dict[str, Any]:
    """The smallest merge patch that makes `old` into `new`; empty if nothing changed.

    A null in `new` is an absent field: a merge patch can say nothing else. With `resource_version`, a patch that
    changes anything also carries it, and the server refuses the patch if the object has changed since.
    """
    patch = _changes(old, new)
    if patch and resource_version:
        metadata = patch.get("metadata") or {}
        patch["metadata"] = {**metadata, "resourceVersion": resource_version}
    return patch


def replaces_list(old: Any, patch: Any) -> bool:
    """Whether a patch of `old` makes a list, replaces one or takes one away.

    It does so as a whole, with whatever others have put there meanwhile: such a patch should carry the version of what
    it was computed from.
    """
    if isinstance(patch, dict):
        known = old if isinstance(old, dict) else {}
        return any(replaces_list(known.get(key), part) for key, part in patch.items())
    return isinstance(patch, list) or isinstance(old, list)


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for key, value in new.items():
        before = old.get(key)
        if value is before:
            continue
        if value is None:
            patch[key] = None
        elif isinstance(value, dict) and isinstance(before, dict):
            if changes := _changes(before, value):
                patch[key] = changes
        elif not _equal(before, value):
            patch[key] = _without_nulls(value) if isinstance(value, dict) else value
    for key, before in old.items():
        if key not in new and before is not None:
            patch[key] = None
    return patch


def _equal(left: Any, right: Any) -> bool:
    """Equal in JSON: unlike in Python, true is not 1."""
    if left != right:
        return False
    if isinstance(left, list):
        return all(map(_equal, left, right))
    if isinstance(left, dict):
        return all(_equal(value, right[key]) for key, value in left.items())
    return isinstance(left, bool) is isinstance(right, bool)
