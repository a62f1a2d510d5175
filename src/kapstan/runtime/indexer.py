"""Indexes: the keys of objects by a value of theirs. Each is made the first time it is asked, then kept up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeAlias

from kapstan.machinery.codec import decode_any
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.snapshot import Snapshot

__all__ = ("Index", "IndexFunction", "by_field", "by_label", "by_namespace", "by_owner")

log = logging.getLogger(__name__)

# The values of an object under which it shall be found.
IndexFunction: TypeAlias = Callable[[Snapshot], Iterable[str]]


class Index:
    """Keys by value. A value that only one object has, the usual case of owners, costs no set of its own."""

    __slots__ = ("_buckets", "_remember", "_values", "_values_of")

    def __init__(self, values_of: IndexFunction, *, remember: bool = False) -> None:
        """With `remember` the values of each object are kept: for functions that are dear to ask twice."""
        self._values_of = values_of
        self._remember = remember
        self._values: dict[ObjectKey, tuple[str, ...]] = {}
        self._buckets: dict[str, ObjectKey | set[ObjectKey]] = {}

    def add(self, snapshot: Snapshot) -> None:
        values = self._ask(snapshot)
        if self._remember and values:
            self._values[snapshot.key] = values
        for value in values:
            self._insert(value, snapshot.key)

    def remove(self, snapshot: Snapshot) -> None:
        values = self._values.pop(snapshot.key, ()) if self._remember else self._ask(snapshot)
        for value in values:
            self._discard(value, snapshot.key)

    def keys(self, value: str) -> Collection[ObjectKey]:
        """The keys of the objects that have this value."""
        bucket = self._buckets.get(value)
        if bucket is None:
            return ()
        return bucket if isinstance(bucket, set) else (bucket,)

    def values(self) -> Collection[str]:
        """Every value that some object has."""
        return self._buckets.keys()

    def _ask(self, snapshot: Snapshot) -> tuple[str, ...]:
        """One object that the function cannot read is not found by the index, and harms no other."""
        try:
            return tuple(self._values_of(snapshot))
        except Exception:
            log.exception("An index cannot be told of %s, which is not found by it", snapshot.key)
            return ()

    def _insert(self, value: str, key: ObjectKey) -> None:
        bucket = self._buckets.get(value)
        if bucket is None:
            self._buckets[value] = key
        elif isinstance(bucket, set):
            bucket.add(key)
        elif bucket != key:
            self._buckets[value] = {bucket, key}

    def _discard(self, value: str, key: ObjectKey) -> None:
        bucket = self._buckets.get(value)
        if isinstance(bucket, set):
            bucket.discard(key)
            if bucket:
                return
        elif bucket != key:
            return
        del self._buckets[value]


def by_namespace(snapshot: Snapshot) -> Iterable[str]:
    return (snapshot.key.namespace,)


def by_owner(snapshot: Snapshot) -> Iterable[str]:
    return snapshot.owner_uids


def by_label(label: str) -> IndexFunction:
    """By the value of one label."""

    def value(snapshot: Snapshot) -> Iterable[str]:
        found = snapshot.labels.get(label)
        return () if found is None else (found,)

    return value


def by_field(path: str) -> IndexFunction:
    """By a field as field selectors write it, `spec.nodeName`. An absent one has the empty value, as on the server."""
    if path == "metadata.name":
        return lambda snapshot: (snapshot.key.name,)
    if path == "metadata.namespace":
        return by_namespace
    steps = path.split(".")

    def value(snapshot: Snapshot) -> Iterable[str]:
        return (_text(_walk(decode_any(snapshot.data), steps)),)

    return value


def _walk(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _text(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
