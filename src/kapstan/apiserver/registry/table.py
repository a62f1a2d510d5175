"""Tables: objects as `kubectl get` shows them, one row each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

import msgspec

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import decode, encode

__all__ = ("IncludeObject", "partial_metadata", "table")

IncludeObject = Literal["Metadata", "Object", "None"]


class _WithMetadata(msgspec.Struct):
    metadata: msgspec.Raw


_metadata_decoder = msgspec.json.Decoder(_WithMetadata)


def partial_metadata(value: bytes, api_version: str) -> bytes:
    """An object's JSON reduced to its metadata."""
    metadata = bytes(_metadata_decoder.decode(value).metadata)
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%s","metadata":%s}' % (api_version.encode(), metadata)


def table(
    kind: ServedKind,
    values: Iterable[bytes],
    list_metadata: dict[str, Any],
    now: datetime,
    *,
    api_version: str = "meta.k8s.io/v1",
    include: IncludeObject = "Metadata",
    headers: bool = True,
) -> bytes:
    """A Table of objects, each given as JSON."""
    rows = [_row(kind, value, now, api_version, include) for value in values]
    columns = [_column(column) for column in kind.strategy.columns] if headers else None
    document = {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": list_metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }
    return encode(document)


def _column(column: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(column)
    return found


def _row(kind: ServedKind, value: bytes, now: datetime, api_version: str, include: IncludeObject) -> dict[str, Any]:
    obj = decode(value)
    row: dict[str, Any] = {"cells": kind.strategy.cells(obj, now)}
    if conditions := kind.strategy.row_conditions(obj):
        row["conditions"] = conditions
    if include == "Object":
        row["object"] = msgspec.Raw(value)
    elif include == "Metadata":
        row["object"] = msgspec.Raw(partial_metadata(value, api_version))
    else:
        row["object"] = None
    return row
