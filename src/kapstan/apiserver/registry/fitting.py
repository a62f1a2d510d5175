"""Fitting: no object is stored that etcd would not take, so that what works here works on any cluster.

It is better to forget who set which field than to refuse an object for that; those who apply rely on it, though. What
the server adds by itself, as when a deletion begins, has to fit as it is.
"""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.errors import unclassified
from kapstan.apiserver.registry.objects import encode, record
from kapstan.apiserver.request import Request
from kapstan.apiserver.storage.interface import Record
from kapstan.machinery.gvk import GroupResource

__all__ = ("MAX_OBJECT", "bounded_record", "fitting_record")

Object = dict[str, Any]

MAX_OBJECT = 1536 * 1024  # etcd's --max-request-bytes
_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")


def fitting_record(request: Request, key: str, revision: int, obj: Object) -> Record:
    """What is written of an object as a client wants it, in its stored version; refused if that is too large."""
    made = record(request.kind, key, revision, obj)
    if _fits(request.kind, made.value, obj):
        return made
    if not request.applies:
        obj["metadata"].pop("managedFields", None)
    return bounded_record(request.kind, key, revision, obj)


def bounded_record(kind: ServedKind, key: str, revision: int, obj: Object) -> Record:
    """What is written of an object in its stored version; refused if that is too large."""
    made = record(kind, key, revision, obj)
    if not _fits(kind, made.value, obj):
        raise unclassified("etcdserver: request is too large")
    return made


def _fits(kind: ServedKind, value: bytes, obj: Object) -> bool:
    if len(value) <= MAX_OBJECT:
        return True
    if kind.custom or kind.storage.group_resource == _DEFINITIONS:
        return False
    return _least(obj) <= MAX_OBJECT


def _least(value: Any) -> int:
    """How many bytes a built-in kind takes at least: etcd has it without the names of fields, in protobuf."""
    match value:
        case str():
            return len(value.encode())
        case dict():
            return sum(len(encode(item)) if name == "fieldsV1" else _least(item) for name, item in value.items())
        case list():
            return sum(map(_least, value))
    return 0
