"""The field manager of a kind: writes go through it, and come out with `metadata.managedFields` kept up.

Around the core (`updater`), in the order of kube-apiserver: the patch must be of the kind; conflicts that the
last-applied annotation covers are none; an object that nobody tracked so far gets a manager for what it has; at most
ten updaters are kept apart; fields that the server owns are nobody's; times change only with what they are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.machinery.apply.conflicts import conflict_error
from kapstan.machinery.apply.entries import (
    APPLY,
    UPDATE,
    EntriesError,
    Managed,
    identifier,
    is_reset,
    read_entries,
    write_entries,
)
from kapstan.machinery.apply.fieldpath import Fields, difference, has, recursive_difference, set_of, union
from kapstan.machinery.apply.lastapplied import covered_by_last_applied, with_last_applied
from kapstan.machinery.apply.types import Atom, TypedError, compile_type
from kapstan.machinery.apply.updater import Conflicts, Convert, Filter, Manager, Object, Owned, Updater
from kapstan.machinery.apply.validation import validate
from kapstan.machinery.errors import APIError, BadRequest
from kapstan.machinery.gvk import GroupVersion
from kapstan.machinery.schema import Schema

__all__ = ("MAX_UPDATERS", "FieldManager", "excluding")

MAX_UPDATERS = 10

_UNTRACKED = "before-first-apply"
_MERGED = "ancient-changes"
_KUBECTL = "kubectl"
_SERVERS = set_of(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "clusterName",
            "creationTimestamp",
            "generation",
            "managedFields",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    ),
)


def excluding(*paths: str) -> Filter:
    """The filter of an endpoint that ignores these fields (`status`, `metadata.labels`), with all that is in them."""
    ignored = set_of(*(tuple(path.split(".")) for path in paths))
    return lambda fields: recursive_difference(fields, ignored)


class FieldManager:
    """Of one kind in one version. Pure: objects in, objects out, and none is changed.

    Results share parts with what was given and with what is kept for the next write: change none of them in place.

    `versions` are the schemas of the kind's other versions; what managers own in versions that do not exist is
    forgotten. `convert` turns objects into another version, also such as lack required fields; by default, it changes
    only `apiVersion`. `reset_fields` has, for each subresource ("" is the object itself), a filter that leaves what its
    endpoint does not ignore.
    """

    def __init__(
        self,
        schema: Schema | None,
        api_version: str,
        kind: str,
        *,
        versions: Mapping[str, Schema | None] | None = None,
        convert: Convert | None = None,
        reset_fields: Mapping[str, Filter] | None = None,
    ) -> None:
        self.api_version = api_version
        self.kind = kind
        self._types = {version: compile_type(each) for version, each in (versions or {}).items()}
        self._types[api_version] = compile_type(schema)
        self._convert = convert or _relabel
        self._reset_fields = reset_fields or {}
        self._updaters: dict[str, Updater] = {}
        self._empty: Object = {"apiVersion": api_version, "kind": kind}

    @property
    def type(self) -> Atom:
        """What objects are made of, as apply sees it."""
        return self._types[self.api_version]

    def update(
        self, live: Object | None, new: Object, manager: str, *, now: str, subresource: str = ""
    ) -> dict[str, Any]:
        """The new object as it is to be stored, after a create (`live` is None), an update or a patch.

        Never fails: where ownership cannot be told, because the object does not fit its type, nobody owns anything.
        """
        bare = _without_entries(new)
        before = live if live is not None else self._empty
        try:
            managed = self._managed(before, new, subresource)
            if not managed.owned and _metadata(before).get("uid"):
                return bare
            managed = self._tracked(before, bare, managed, manager, now, subresource)
        except TypedError:
            return bare
        return _with_entries(bare, _capped(managed))

    def apply(
        self, live: Object | None, applied: Object, manager: str, *, force: bool, now: str, subresource: str = ""
    ) -> dict[str, Any]:
        """The object after the apply, as it is to be stored; Conflict if it changes fields that others own."""
        self._check(applied)
        before = live if live is not None else self._empty
        try:
            managed = read_entries(_metadata(before).get("managedFields"), self._types)
        except EntriesError as error:
            raise APIError(f"failed to decode managed fields: {error}") from None
        before = _without_entries(before)
        try:
            result, managed = self._applied(before, applied, managed, manager, force, now, subresource)
        except TypedError as error:
            raise APIError(f"failed to apply to the live object ({self._named(before)}): {error}") from None
        except Conflicts as error:
            raise conflict_error(error.conflicts) from None
        if manager == _KUBECTL:
            result = with_last_applied(result, applied)
        return _with_entries(result, managed)

    def _managed(self, live: Object, new: Object, subresource: str) -> Managed:
        """Who owns what before the write. A write to the object itself may say so; clients that know nothing of it
        send nothing, or what they cannot know to be wrong."""
        entries, current = _metadata(new).get("managedFields"), _metadata(live).get("managedFields")
        if not subresource and entries is not current and entries != current:
            if is_reset(entries):
                return Managed()
            try:
                managed = read_entries(entries, self._types)
                if managed.owned:
                    return managed
            except EntriesError:
                pass
        try:
            return read_entries(current, self._types)
        except EntriesError:
            return Managed()

    def _tracked(
        self, live: Object, new: Object, managed: Managed, manager: str, now: str, subresource: str
    ) -> Managed:
        """After an update: what it changed is its manager's, beside what that manager owned before."""
        owned, changed = self._updater(subresource).update(live, new, self.api_version, managed.owned)
        times = managed.times
        changed = difference(changed, _SERVERS)
        if changed:
            me = Manager(UPDATE, manager or "unknown", self.api_version, subresource)
            previous = owned.get(me)
            fields = union(changed, previous.fields) if previous is not None else changed
            owned[me] = Owned(fields, self.api_version, False)
            times = {**times, me: now}
        return Managed(owned, times)

    def _applied(
        self, live: Object, applied: Object, managed: Managed, manager: str, force: bool, now: str, subresource: str
    ) -> tuple[Object, Managed]:
        if not managed.owned:
            managed = _capped(self._tracked(self._empty, live, managed, _UNTRACKED, now, subresource))
        me = Manager(APPLY, manager or "unknown", "", subresource)
        updater = self._updater(subresource)
        try:
            result, owned = updater.apply(live, applied, self.api_version, managed.owned, me, force=force)
        except Conflicts as error:
            if manager != _KUBECTL or not self._was_ours(live, error):
                raise
            result, owned = updater.apply(live, applied, self.api_version, managed.owned, me, force=True)
        if me in owned:
            fields = difference(owned[me].fields, _SERVERS)
            owned[me] = owned[me]._replace(fields=fields)
            if not fields:
                del owned[me]
        times = managed.times if result is live else {**managed.times, me: now}
        return result, Managed(owned, times)

    def _was_ours(self, live: Object, error: Conflicts) -> bool:
        """Whether all conflicts are about what kubectl set before it applied on the server; if not, those are left."""
        covered = covered_by_last_applied(live, self._types[self.api_version], self.api_version)
        if covered is None:
            return False
        left = [conflict for conflict in error.conflicts if not has(covered, conflict.path)]
        error.conflicts = left or error.conflicts
        return not left

    def _check(self, applied: Object) -> None:
        kind, version = applied.get("kind") or "", applied.get("apiVersion") or ""
        if kind != self.kind or version != self.api_version:
            raise BadRequest(f"invalid object type: {_kind_string(version, kind)}")
        if isinstance(_metadata(applied).get("managedFields"), list):
            raise BadRequest("metadata.managedFields must be nil")
        try:
            validate(self._types[self.api_version], applied)
        except TypedError as error:
            raise APIError(f"failed to create typed patch object ({self._named(applied)}): {error}") from None

    def _named(self, obj: Object) -> str:
        metadata = _metadata(obj)
        name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
        return f"{namespace}/{name}; {_kind_string(self.api_version, self.kind)}"

    def _updater(self, subresource: str) -> Updater:
        found = self._updaters.get(subresource)
        if found is None:
            found = Updater(self._types, self._convert, self._reset_fields.get(subresource))
            self._updaters[subresource] = found
        return found


def _capped(managed: Managed) -> Managed:
    """At most ten updaters: of more, the oldest are merged into one for each version."""
    updaters = [manager for manager, owned in managed.owned.items() if not owned.applied]
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return managed
    owned, times = dict(managed.owned), dict(managed.times)
    updaters.sort(key=lambda manager: (times.get(manager, ""), identifier(manager)))
    first: dict[str, Manager] = {}
    for manager in updaters:
        if excess <= 0:
            break
        version = owned[manager].api_version
        bucket = Manager(UPDATE, _MERGED, version, "")
        if version not in first:
            first[version] = manager
            continue
        if bucket not in owned:
            owned[bucket] = owned.pop(first[version])
        fields: Fields = union(owned[manager].fields, owned[bucket].fields)
        owned[bucket] = owned[manager]._replace(fields=fields)
        del owned[manager]
        times[bucket] = times.get(manager, "")
        excess -= 1
    return Managed(owned, times)


def _relabel(obj: Object, api_version: str) -> Object:
    return {**obj, "apiVersion": api_version}


def _metadata(obj: Mapping[str, Any]) -> dict[str, Any]:
    return obj.get("metadata") or {}


def _without_entries(obj: Object) -> Object:
    metadata = _metadata(obj)
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _with_entries(obj: Object, managed: Managed) -> Object:
    if not managed.owned:
        return obj
    return {**obj, "metadata": {**_metadata(obj), "managedFields": write_entries(managed)}}


def _kind_string(api_version: str, kind: str) -> str:
    try:
        group, version = GroupVersion.parse(api_version)
    except ValueError:
        group, version = "", api_version
    return f"{group}/{version}, Kind={kind}"
