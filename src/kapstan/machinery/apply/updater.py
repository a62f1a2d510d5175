"""Who owns what after a write: the core of server-side apply, on objects and field sets.

An update takes ownership of what it changes. An apply owns what it mentions, conflicts with others over what it changes
of theirs, and removes what its manager mentioned last time and no longer does, unless somebody else owns it too.
Each manager's set is kept in the API version in which it wrote, and compared in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kapstan.machinery.apply.comparison import Comparison, compare, equal
from kapstan.machinery.apply.fieldpath import Fields, difference, intersection, paths, union
from kapstan.machinery.apply.fieldset import fields_of, with_named_fields
from kapstan.machinery.apply.merging import merge
from kapstan.machinery.apply.removal import remove
from kapstan.machinery.apply.types import Atom

__all__ = ("Conflict", "Conflicts", "Convert", "Filter", "Manager", "Owned", "Updater")

Object: TypeAlias = dict[str, Any]
Convert: TypeAlias = Callable[[Object, str], Object]
"""The object in another API version."""
Filter: TypeAlias = Callable[[Fields], Fields]
"""The part of a set that a write may own."""


class Manager(NamedTuple):
    """Who wrote: two writes are of one manager if all of this is equal. Appliers are the same in all versions."""

    operation: str
    name: str
    api_version: str
    subresource: str


class Owned(NamedTuple):
    """What a manager owns, in the API version in which it wrote."""

    fields: Fields
    api_version: str
    applied: bool


class Conflict(NamedTuple):
    """A field that is somebody else's."""

    manager: Manager
    path: tuple[str, ...]


class Conflicts(Exception):
    """An apply changes fields that are others'."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        super().__init__()
        self.conflicts = list(conflicts)


Managers: TypeAlias = Mapping[Manager, Owned]


class Updater:
    """`types` has the type of the kind in every version that exists; managers of other versions are forgotten."""

    def __init__(self, types: Mapping[str, Atom], convert: Convert, ignore: Filter | None) -> None:
        self._types = types
        self._convert_object = convert
        self._ignore = ignore

    def update(
        self, live: Object, new: Object, version: str, managers: Managers
    ) -> tuple[dict[Manager, Owned], Fields]:
        """What all managers own after the write, and what the write itself does: whatever it changed."""
        comparison = self._compare(live, new, version)
        changed = union(comparison.modified, comparison.added)
        remaining: dict[Manager, Owned] = {}
        lost = {version: union(changed, comparison.removed)}
        for manager, owned in managers.items():
            if owned.api_version not in self._types:
                continue
            if owned.api_version not in lost:
                lost[owned.api_version] = _all(self._compare_in(live, new, owned.api_version))
            _keep(remaining, manager, owned, difference(owned.fields, lost[owned.api_version]))
        return remaining, changed

    def apply(
        self, live: Object, applied: Object, version: str, managers: Managers, manager: Manager, *, force: bool
    ) -> tuple[Object, dict[Manager, Owned]]:
        """The object after the apply, which is `live` itself if nothing changed; and what all managers own then."""
        atom = self._types[version]
        fields = self._filtered(fields_of(atom, applied))
        last = managers.get(manager)
        current = {name: owned for name, owned in managers.items() if owned.api_version in self._types}
        current[manager] = Owned(fields, version, True)
        new = merge(atom, live, applied)
        if last is not None and last.api_version in self._types:
            new = self._prune(new, version, current.values(), last, fields)
        remaining = self._take(live, new, version, current, manager, force)
        return (live if new is live or equal(live, new) else new), remaining

    def _take(
        self, live: Object, new: Object, version: str, managers: Managers, manager: Manager, force: bool
    ) -> dict[Manager, Owned]:
        """Take what changed from its owners; Conflicts unless by force."""
        comparisons = {version: self._compare(live, new, version, literal=True)}
        conflicts: dict[Manager, Fields] = {}
        remaining: dict[Manager, Owned] = {}
        for other, owned in managers.items():
            if other == manager:
                _keep(remaining, other, owned, owned.fields)
                continue
            comparison = comparisons.get(owned.api_version)
            if comparison is None:
                comparison = comparisons[owned.api_version] = self._compare_in(live, new, owned.api_version)
            taken = intersection(owned.fields, union(comparison.modified, comparison.added))
            if taken:
                conflicts[other] = taken
            _keep(remaining, other, owned, difference(difference(owned.fields, taken), comparison.removed))
        if conflicts and not force:
            raise Conflicts(Conflict(other, path) for other, taken in conflicts.items() for path in paths(taken))
        return remaining

    def _prune(self, merged: Object, version: str, managers: Iterable[Owned], last: Owned, fields: Fields) -> Object:
        """The merged object without what the manager owned by its last apply and neither it nor anybody owns now."""
        if last.api_version == version and not difference(last.fields, fields):
            return merged  # it still mentions all of it
        atom = self._types[last.api_version]
        base = self._convert(merged, last.api_version)
        pruned = remove(atom, base, with_named_fields(last.fields, atom))
        pruned = self._put_back_owned(base, pruned, last.api_version, managers)
        pruned = self._convert(pruned, last.api_version)
        gone = difference(self._named_fields(base, atom), self._named_fields(pruned, atom))
        kept = remove(atom, base, intersection(gone, with_named_fields(last.fields, atom)))
        return self._convert(kept, version)

    def _put_back_owned(self, merged: Object, pruned: Object, version: str, managers: Iterable[Owned]) -> Object:
        """What anybody owns was pruned too far. The version that was pruned goes first: others convert what it has."""
        owned_in: dict[str, Fields] = {}
        for owned in managers:
            owned_in[owned.api_version] = union(owned_in.get(owned.api_version, {}), owned.fields)
        for each in sorted(owned_in, key=lambda name: (name != version, name)):
            atom = self._types[each]
            merged, pruned = self._convert(merged, each), self._convert(pruned, each)
            kept = union(self._named_fields(pruned, atom), with_named_fields(owned_in[each], atom))
            pruned = remove(atom, merged, difference(self._named_fields(merged, atom), kept))
        return pruned

    def _named_fields(self, value: Object, atom: Atom) -> Fields:
        return with_named_fields(fields_of(atom, value), atom)

    def _compare_in(self, live: Object, new: Object, version: str) -> Comparison:
        return self._compare(self._convert(live, version), self._convert(new, version), version)

    def _compare(self, live: Object, new: Object, version: str, *, literal: bool = False) -> Comparison:
        found = compare(self._types[version], live, new, literal=literal)
        return Comparison(*map(self._ignore, found)) if self._ignore is not None else found

    def _filtered(self, fields: Fields) -> Fields:
        return self._ignore(fields) if self._ignore is not None else fields

    def _convert(self, value: Object, version: str) -> Object:
        return value if value.get("apiVersion") == version else self._convert_object(value, version)


def _all(comparison: Comparison) -> Fields:
    return union(union(comparison.modified, comparison.added), comparison.removed)


def _keep(managers: dict[Manager, Owned], manager: Manager, owned: Owned, fields: Fields) -> None:
    """A manager that owns nothing is none."""
    if fields:
        managers[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
