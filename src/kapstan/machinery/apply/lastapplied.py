"""The annotation in which `kubectl apply` keeps what it applied, for those who move to server-side apply.

For the manager `kubectl`, what the annotation says and nobody has changed since is no conflict; and where an object has
the annotation, server-side apply keeps it up to date, so that one can go back.
"""

from __future__ import annotations

import json
from typing import Any

from kapstan.machinery.apply.comparison import compare
from kapstan.machinery.apply.fieldpath import Fields, difference
from kapstan.machinery.apply.fieldset import fields_of
from kapstan.machinery.apply.types import Atom, TypedError
from kapstan.machinery.apply.validation import validate
from kapstan.machinery.golang import to_json

__all__ = ("LAST_APPLIED", "covered_by_last_applied", "with_last_applied")

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS_BYTES = 256 * 1024


def covered_by_last_applied(live: dict[str, Any], atom: Atom, api_version: str) -> Fields | None:
    """The fields that are still as `kubectl apply` set them; None if nothing usable tells."""
    text = _annotations(live).get(LAST_APPLIED)
    if not text:
        return None
    try:
        applied = json.loads(text)
        if not isinstance(applied, dict) or applied.get("apiVersion") != api_version:
            return None
        validate(atom, applied)
        validate(atom, live)
        found = compare(atom, applied, live)
    except (ValueError, TypedError):
        return None
    fields = fields_of(atom, applied)
    for changes in found:
        fields = difference(fields, changes)
    return fields


def with_last_applied(obj: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """The object with its annotation saying what was just applied, if it has the annotation."""
    annotations = _annotations(obj)
    if not annotations.get(LAST_APPLIED):
        return obj
    others = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    updated = {**others, LAST_APPLIED: _serialized(applied)}
    if _size(updated) > _MAX_ANNOTATIONS_BYTES:
        updated = others
    return {**obj, "metadata": {**obj["metadata"], "annotations": updated}}


def _serialized(applied: dict[str, Any]) -> str:
    """As kubectl writes it: with a line end, and without the annotation itself."""
    metadata = applied.get("metadata") or {}
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        others = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
        applied = {**applied, "metadata": {**metadata, "annotations": others}}
    return to_json(applied) + "\n"


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def _size(annotations: dict[str, Any]) -> int:
    return sum(len(name.encode()) + len(str(value).encode()) for name, value in annotations.items())
