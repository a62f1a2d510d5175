"""Owned keys: which labels and annotations an object has from whom. The API server knows, by the names of managers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

__all__ = ("Metadata", "owned_keys")

Metadata: TypeAlias = tuple[dict[str, str], dict[str, str]]  # labels and annotations


def owned_keys(metadata: dict[str, Any], managers: Collection[str]) -> Metadata:
    """The labels and annotations that these managers have set; the values are left out."""
    found: Metadata = {}, {}
    for entry in metadata.get("managedFields") or ():
        if entry.get("manager") not in managers:
            continue
        fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
        for part, name in zip(found, ("f:labels", "f:annotations"), strict=True):
            part.update({key.removeprefix("f:"): "" for key in fields.get(name) or {} if key.startswith("f:")})
    return found
