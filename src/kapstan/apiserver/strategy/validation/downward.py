"""What containers and volumes are told about their own pod."""

from __future__ import annotations

import re

from kapstan.apiserver.strategy.validation.common import Object, Rules, file_mode, qualified_name
from kapstan.apiserver.strategy.validation.paths import local_path
from kapstan.machinery.validation import FieldError, Path

__all__ = ("ENV_FIELDS", "downward_file", "object_field", "resource_field")

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_SUBSCRIPTABLE = ("metadata.annotations", "metadata.labels")
_KNOWN = frozenset((*ENV_FIELDS, *_VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"))
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_SIZES = ("1", *(f"1{unit}" for unit in "kMGTPE"), *(f"1{unit}i" for unit in "KMGTPE"))
_SIZES_TEXT = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_SUBSCRIPTED = re.compile(r"(?P<path>[^\[]+)\['(?P<key>.*)'\]")


def object_field(reference: Object, path: Path, supported: tuple[str, ...]) -> Rules:
    """A field of the pod, such as `metadata.labels['app']`."""
    for name in ("apiVersion", "fieldPath"):
        if not reference.get(name):
            yield FieldError.required(path.child(name))
            return
    version, field = reference["apiVersion"], reference["fieldPath"]
    subscripted = _SUBSCRIPTED.fullmatch(field)
    base = subscripted["path"] if subscripted else field
    why = ""
    if version != "v1":
        why = f"unsupported pod version: {version}"
    elif subscripted and base not in _SUBSCRIPTABLE:
        why = f"field label does not support subscript: {field}"
    elif base not in _KNOWN:
        why = f"field label not supported: {base}"
    if why:
        yield FieldError.invalid(path.child("fieldPath"), field, f"error converting fieldPath: {why}")
    elif subscripted:
        if base == "metadata.annotations":
            yield from qualified_name(subscripted["key"].lower(), path)
        else:
            yield from qualified_name(subscripted["key"], path)
    elif base not in supported:
        yield FieldError.not_supported(path.child("fieldPath"), base, supported)


def resource_field(reference: Object, path: Path, *, in_volume: bool) -> Rules:
    """A request or a limit of a container."""
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        yield FieldError.required(path.child("containerName"))
    elif not resource:
        yield FieldError.required(path.child("resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield FieldError.not_supported(path.child("resource"), resource, _RESOURCES)
    yield from _divisor(resource, reference.get("divisor", "0"), path.child("divisor"))


def _divisor(resource: str, divisor: str, path: Path) -> Rules:
    if divisor == "0":
        return
    name = resource.partition(".")[2]
    if name == "cpu" and divisor not in ("1m", "1"):
        yield FieldError.invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")
    what = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "")
    what = "hugepages" if resource.startswith(_HUGE_PAGES) else what
    if what and divisor not in _SIZES:
        detail = f"only divisor's values {_SIZES_TEXT} are supported with the {what} resource"
        yield FieldError.invalid(path, resource, detail)


def downward_file(item: Object, path: Path) -> Rules:
    """A file of a volume that is about the pod."""
    if not item.get("path"):
        yield FieldError.required(path.child("path"))
    yield from local_path(item.get("path", ""), path.child("path"))
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from object_field(field, path.child("fieldRef"), _VOLUME_FIELDS)
        if resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield FieldError.invalid(path, "resource", detail)
    elif resource is not None:
        yield from resource_field(resource, path.child("resourceFieldRef"), in_volume=True)
    else:
        yield FieldError.required(path, "one of fieldRef and resourceFieldRef is required")
    yield from file_mode(item.get("mode"), path.child("mode"))
