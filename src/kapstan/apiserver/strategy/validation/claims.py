"""Claims for volumes, of their own and within pods."""

from __future__ import annotations

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_label,
    dns_subdomain,
    immutable,
    label_selector,
    one_of,
)
from kapstan.apiserver.strategy.validation.resources import quantity_value
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import FieldError, Path

__all__ = ("ACCESS_MODES", "VOLUME_MODES", "claim", "claim_spec", "claim_status", "claim_update")

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")

_SPEC = Path("spec")
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def claim(obj: Object) -> Rules:
    return claim_spec(obj["spec"], _SPEC)


def claim_spec(spec: Object, path: Path) -> Rules:
    modes = spec.get("accessModes") or []
    if not modes:
        yield FieldError.required(path.child("accessModes"), "at least 1 access mode is required")
    yield from label_selector(spec.get("selector"), path.child("selector"))
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield FieldError.not_supported(path.child("accessModes"), mode, ACCESS_MODES)
    known = {mode for mode in modes if mode in ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        detail = "may not use ReadWriteOncePod with other access modes"
        yield FieldError.forbidden(path.child("accessModes"), detail)
    yield from _storage(spec["resources"], path.child("resources").key("storage"))
    if spec.get("storageClassName"):
        yield from dns_subdomain(spec["storageClassName"], path.child("storageClassName"))
    yield from one_of(spec.get("volumeMode"), path.child("volumeMode"), VOLUME_MODES, needed=False)
    yield from _sources(spec, path)
    if spec.get("volumeAttributesClassName"):
        yield from dns_subdomain(spec["volumeAttributesClassName"], path.child("volumeAttributesClassName"))


def _storage(resources: Object, path: Path) -> Rules:
    size = (resources.get("requests") or {}).get("storage")
    if size is None:
        yield FieldError.required(path)
    elif Quantity(size) <= 0:
        yield FieldError.invalid(path, size, "must be greater than zero")
    else:
        yield from quantity_value("storage", size, path)


def _sources(spec: Object, path: Path) -> Rules:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _source(source, path.child("dataSource"))
    if reference is not None:
        yield from _source(reference, path.child("dataSourceRef"))
        if reference.get("namespace"):
            yield from dns_label(reference["namespace"], path.child("dataSourceRef", "namespace"))
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        detail = "may not be specified when dataSourceRef.namespace is specified"
        yield FieldError.invalid(path, {}, detail)
    elif any(source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")):
        yield FieldError.invalid(path, {}, "must match dataSourceRef")


def _source(source: Object, path: Path) -> Rules:
    for field in ("name", "kind"):
        if not source.get(field):
            yield FieldError.required(path.child(field))
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield FieldError.invalid(path, kind, detail)
    if group:
        yield from dns_subdomain(group, path.child("apiGroup"))


def claim_update(obj: Object, old: Object) -> Rules:
    yield from claim(obj)
    spec, before = dict(obj["spec"]), dict(old["spec"])
    if not before.get("volumeName") and spec.get("volumeName"):
        before["volumeName"] = spec["volumeName"]
    yield from _class_change(obj, old, spec, before)
    if (obj.get("status") or {}).get("phase") == "Bound":
        spec["resources"] = _with_storage_of(spec["resources"], before["resources"])
        for side in (spec, before):
            side.pop("volumeAttributesClassName", None)
    if spec != before:
        yield FieldError.forbidden(_SPEC, f"{_IMMUTABLE}\n")
    yield from _shrinking(obj, old)
    yield from immutable(obj["spec"].get("volumeMode"), old["spec"].get("volumeMode"), Path("volumeMode"))


def _class_change(obj: Object, old: Object, spec: Object, before: Object) -> Rules:
    """A class may be named where none was, or move from the annotation to the field."""
    new_annotation = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    old_annotation = (old["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    named, was = spec.get("storageClassName"), before.get("storageClassName")
    moved = old_annotation is not None and was is None and named == old_annotation and new_annotation in (None, named)
    if moved:
        spec.pop("storageClassName", None)
        return
    if (new_annotation or "") != (old_annotation or ""):
        path = Path("metadata", "annotations", _CLASS_ANNOTATION)
        yield from immutable(new_annotation or "", old_annotation or "", path)
    if named is not None and was is None and old_annotation in (None, named):
        spec.pop("storageClassName", None)


def _with_storage_of(resources: Object, old: Object) -> Object:
    requests = resources.get("requests")
    storage = (old.get("requests") or {}).get("storage")
    if requests is None or storage is None:
        return resources
    return {**resources, "requests": {**requests, "storage": storage}}


def _shrinking(obj: Object, old: Object) -> Rules:
    sizes = [Quantity((one["spec"]["resources"].get("requests") or {}).get("storage", "0")) for one in (obj, old)]
    capacity = Quantity(((old.get("status") or {}).get("capacity") or {}).get("storage", "0"))
    if sizes[0] < sizes[1] and sizes[0] <= capacity:
        path = Path("spec", "resources", "requests", "storage")
        yield FieldError.forbidden(path, "field can not be less than status.capacity")


def claim_status(obj: Object, old: Object) -> Rules:
    for name, amount in ((obj.get("status") or {}).get("capacity") or {}).items():
        if Quantity(amount) < 0:
            path = Path("status", "capacity").key(name)
            yield FieldError.invalid(path, int(Quantity(amount)), "must be a valid resource quantity")
