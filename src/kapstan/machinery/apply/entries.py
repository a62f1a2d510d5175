"""`metadata.managedFields`: reading its entries, and writing them as kube-apiserver does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from kapstan.machinery.apply.fieldpath import Fields, FieldsError, parse
from kapstan.machinery.apply.fieldset import reconcile
from kapstan.machinery.apply.types import Atom
from kapstan.machinery.apply.updater import Manager, Owned
from kapstan.machinery.codec import encode
from kapstan.machinery.golang import quote, to_json

__all__ = (
    "EntriesError",
    "Managed",
    "identifier",
    "is_reset",
    "keep_timestamps",
    "read_entries",
    "validate_managed_fields",
    "write_entries",
)

APPLY, UPDATE = "Apply", "Update"
_TEXTS = ("manager", "operation", "apiVersion", "time", "fieldsType", "subresource")


class EntriesError(ValueError):
    """An entry of `managedFields` is not what it must be."""


class Managed:
    """Who owns what of an object, and since when."""

    __slots__ = ("owned", "times")

    def __init__(self, owned: dict[Manager, Owned] | None = None, times: dict[Manager, str] | None = None) -> None:
        self.owned: dict[Manager, Owned] = owned or {}
        self.times: dict[Manager, str] = times or {}


def read_entries(entries: Any, types: Mapping[str, Atom]) -> Managed:
    """What the entries say, in terms of the types as they are now; EntriesError if they cannot be read."""
    managed = Managed()
    for position, entry in enumerate(entries or ()):
        _check(entry, position)
        applied = entry["operation"] == APPLY
        version = entry["apiVersion"]
        manager = Manager(
            entry["operation"], entry.get("manager") or "", "" if applied else version, entry.get("subresource") or ""
        )
        raw = entry.get("fieldsV1")
        try:
            fields = _fields(encode(raw), types.get(version)) if raw is not None else {}
        except FieldsError as error:
            raise EntriesError(f"error decoding set: {error}") from None
        managed.owned[manager] = Owned(fields, version, applied)
        if time := entry.get("time"):
            managed.times[manager] = _seconds(time)
    return managed


@lru_cache(maxsize=1024)
def _fields(data: bytes, atom: Atom | None) -> Fields:
    return reconcile(parse(data), atom) if atom is not None else parse(data)


def _check(entry: Any, position: int) -> None:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name) or "", str) for name in _TEXTS):
        raise EntriesError(f"managed fields entry {position} is not an object of strings and a set of fields")
    if entry.get("operation") not in (APPLY, UPDATE):
        raise EntriesError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise EntriesError("apiVersion must not be empty")
    kind = entry.get("fieldsType") or ""
    if not kind:
        raise EntriesError(f"missing fieldsType in managed fields entry {position}")
    if kind != "FieldsV1":
        raise EntriesError(f"invalid fieldsType {quote(kind)} in managed fields entry {position}")


def _seconds(time: str) -> str:
    """A time as the API writes it: UTC, to the second."""
    if len(time) == 20 and time.endswith("Z"):
        return time
    try:
        return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise EntriesError(f"time {time!r} is not in the form 2006-01-02T15:04:05Z") from None


def write_entries(managed: Managed) -> list[dict[str, Any]]:
    """The entries, appliers first, each kind from the oldest to the newest."""
    entries = []
    for manager, owned in managed.owned.items():
        entry: dict[str, Any] = {"manager": manager.name} if manager.name else {}
        entry["operation"] = APPLY if owned.applied else manager.operation
        entry["apiVersion"] = owned.api_version
        if time := managed.times.get(manager):
            entry["time"] = time
        entry["fieldsType"] = "FieldsV1"
        entry["fieldsV1"] = owned.fields
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    entries.sort(key=_age)
    return entries


def _age(entry: Mapping[str, Any]) -> tuple[str, ...]:
    get = entry.get
    return (entry["operation"], get("time", ""), get("manager", ""), entry["apiVersion"], get("subresource", ""))


def identifier(manager: Manager) -> str:
    """What a manager is known by in Kubernetes; its order decides ties."""
    fields = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "subresource": manager.subresource,
    }
    return "{" + ",".join(f'"{name}":{to_json(value)}' for name, value in fields.items() if value) + "}"


def is_reset(entries: Any) -> bool:
    """Whether a write asks to forget all managers: by an empty list, or by one empty entry."""
    if not isinstance(entries, list):
        return False
    if len(entries) != 1:
        return not entries
    entry = entries[0]
    return isinstance(entry, dict) and not any(entry.get(name) for name in _TEXTS) and entry.get("fieldsV1") is None


def validate_managed_fields(entries: Sequence[Mapping[str, Any]]) -> None:
    """ValueError if they cannot be read: what an admission webhook made of them must not be stored."""
    read_entries(entries, {})


def keep_timestamps(live: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """`new`, with the times of `live` where nothing but times changed: so that writing it again changes nothing."""
    before, after = _entries(live), _entries(new)
    if not after or len(before) != len(after) or before == after:
        return new
    if not all(map(_same_but_time, before, after)):
        return new
    restored = {**new, "metadata": {**new["metadata"], "managedFields": before}}
    return restored if restored == live else new


def _entries(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    return (obj.get("metadata") or {}).get("managedFields") or []


def _same_but_time(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return {**left, "time": None} == {**right, "time": None}
