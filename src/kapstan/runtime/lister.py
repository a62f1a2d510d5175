"""Lister: reads an informer's store, without waiting and without asking the server."""

from __future__ import annotations

import builtins
from functools import lru_cache
from typing import Any, Generic, TypeVar

from kapstan.client.interface import Kind, Selector
from kapstan.machinery import fields as field_selectors
from kapstan.machinery import labels as label_selectors
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.model import Resource
from kapstan.runtime.store import Store

__all__ = ("Lister", "field_selector", "label_selector")

T = TypeVar("T")


class Lister(Generic[T]):
    """The objects of one kind, in one namespace or in all. What it returns is the caller's own."""

    def __init__(self, store: Store, kind: Kind[Any], namespace: str = "") -> None:
        self._store, self._kind, self._namespace = store, kind, namespace

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object, or None if there is none."""
        snapshot = self._store.get(ObjectKey(namespace or self._namespace, name))
        return None if snapshot is None else snapshot.decode(self._kind)

    def list(self, *, labels: Selector = "", fields: Selector = "") -> builtins.list[T]:
        """The objects that match, by namespace and name."""
        found = self._store.select(self._namespace, label_selector(labels), field_selector(fields))
        return [snapshot.decode(self._kind) for snapshot in found]

    def owned_by(self, owner: Resource) -> builtins.list[T]:
        """The objects that refer to `owner` as one of their owners."""
        return [snapshot.decode(self._kind) for snapshot in self._store.owned_by(owner.metadata.uid)]

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """The objects that a custom index has under a value."""
        return [snapshot.decode(self._kind) for snapshot in self._store.by_index(name, value)]


def label_selector(selector: Selector) -> label_selectors.Selector:
    """A label selector from either of its written forms."""
    if not selector:
        return label_selectors.EVERYTHING
    return _parsed(selector) if isinstance(selector, str) else _of_labels(tuple(selector.items()))


# Controllers ask for the same few again and again.
@lru_cache(maxsize=1024)
def _parsed(text: str) -> label_selectors.Selector:
    return label_selectors.parse(text)


@lru_cache(maxsize=1024)
def _of_labels(labels: tuple[tuple[str, str], ...]) -> label_selectors.Selector:
    return label_selectors.from_labels(dict(labels))


def field_selector(selector: Selector) -> field_selectors.Selector:
    """A field selector from either of its written forms."""
    if not selector:
        return field_selectors.EVERYTHING
    if isinstance(selector, str):
        return field_selectors.parse(selector)
    return field_selectors.Selector(field_selectors.Requirement(field, value) for field, value in selector.items())
