"""Store: every object of one kind that an informer knows, as snapshots, and the indexes over them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kapstan.machinery import fields, labels
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.indexer import Index, IndexFunction, by_field, by_label, by_namespace, by_owner
from kapstan.runtime.snapshot import Snapshot

__all__ = ("Store",)


class Store:
    """Snapshots by key. Reading is a dictionary lookup; lists are narrowed by whichever index has fewest keys."""

    def __init__(self) -> None:
        self._snapshots: dict[ObjectKey, Snapshot] = {}
        self._indexes: dict[str, Index] = {}

    # --- Writing --------------------------------------------------------------------------------------------------

    def put(self, snapshot: Snapshot) -> Snapshot | None:
        """Keep this state of an object; the one that it replaces is returned."""
        old = self._snapshots.get(snapshot.key)
        self._snapshots[snapshot.key] = snapshot
        for index in self._indexes.values():
            if old is not None:
                index.remove(old)
            index.add(snapshot)
        return old

    def delete(self, key: ObjectKey) -> Snapshot | None:
        """Forget an object; what was known of it is returned."""
        old = self._snapshots.pop(key, None)
        if old is not None:
            for index in self._indexes.values():
                index.remove(old)
        return old

    # --- Reading --------------------------------------------------------------------------------------------------

    def get(self, key: ObjectKey) -> Snapshot | None:
        return self._snapshots.get(key)

    def __len__(self) -> int:
        return len(self._snapshots)

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._snapshots

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self._snapshots.values())

    def keys(self) -> Collection[ObjectKey]:
        return self._snapshots.keys()

    def select(
        self,
        namespace: str = "",
        label_selector: labels.Selector = labels.EVERYTHING,
        field_selector: fields.Selector = fields.EVERYTHING,
    ) -> list[Snapshot]:
        """The objects that match, in the order of their keys."""
        found = self._candidates(namespace, label_selector, field_selector)
        if namespace:
            found = [snapshot for snapshot in found if snapshot.key.namespace == namespace]
        if not label_selector.empty:
            found = [snapshot for snapshot in found if label_selector.matches(snapshot.labels)]
        if not field_selector.empty:
            found = [snapshot for snapshot in found if self._fields_match(snapshot, field_selector)]
        return sorted(found, key=_key)

    def owned_by(self, uid: str) -> list[Snapshot]:
        """The objects with an owner reference to that uid."""
        return self._sorted(self._index("owner", by_owner).keys(uid))

    def by_index(self, name: str, value: str) -> list[Snapshot]:
        """The objects that a custom index has under a value; LookupError if there is no such index."""
        index = self._indexes.get(f"custom/{name}")
        if index is None:
            known = [known.removeprefix("custom/") for known in self._indexes if known.startswith("custom/")]
            raise LookupError(f"there is no index {name!r}; add it to the informer first (known: {known or 'none'})")
        return self._sorted(index.keys(value))

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """Add a custom index; ValueError if the name is taken."""
        if f"custom/{name}" in self._indexes:
            raise ValueError(f"there already is an index {name!r}")
        self._index(f"custom/{name}", values_of, remember=True)

    # --- Indexes --------------------------------------------------------------------------------------------------

    def _candidates(
        self, namespace: str, label_selector: labels.Selector, field_selector: fields.Selector
    ) -> Iterable[Snapshot]:
        """A superset of what matches, as small as the indexes can make it."""
        sets: list[Collection[ObjectKey]] = []
        for required in label_selector.requirements:
            wanted = label_selector.exact_match(required.key)
            if wanted is not None:
                sets.append(self._index(f"label/{required.key}", by_label(required.key)).keys(wanted))
        equal = [required for required in field_selector.requirements if required.equal]
        sets += [self._field_index(required.field).keys(required.value) for required in equal]
        if namespace:
            sets.append(self._index("namespace", by_namespace).keys(namespace))
        if not sets:
            return self._snapshots.values()
        return [self._snapshots[key] for key in min(sets, key=len)]

    def _fields_match(self, snapshot: Snapshot, selector: fields.Selector) -> bool:
        return all(
            (snapshot.key in self._field_index(required.field).keys(required.value)) is required.equal
            for required in selector.requirements
        )

    def _field_index(self, field: str) -> Index:
        return self._index(f"field/{field}", by_field(field), remember=True)

    def _index(self, name: str, values_of: IndexFunction, *, remember: bool = False) -> Index:
        index = self._indexes.get(name)
        if index is None:
            index = Index(values_of, remember=remember)
            for snapshot in self._snapshots.values():
                index.add(snapshot)
            self._indexes[name] = index
        return index

    def _sorted(self, keys: Iterable[ObjectKey]) -> list[Snapshot]:
        return sorted((self._snapshots[key] for key in keys), key=_key)


def _key(snapshot: Snapshot) -> ObjectKey:
    return snapshot.key
