"""Persistent volumes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from kapstan.apiserver.strategy.validation.claims import ACCESS_MODES, VOLUME_MODES
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_label,
    dns_subdomain,
    immutable,
    one_of,
)
from kapstan.apiserver.strategy.validation.paths import backsteps
from kapstan.apiserver.strategy.validation.scheduling import node_selector
from kapstan.apiserver.strategy.validation.volumes import csi_driver_name, host_path, needs, nfs
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import ErrorType, FieldError, Path

__all__ = ("inline_volume_spec", "volume", "volume_update")

_SPEC = Path("spec")
_INLINE = "in the context of inline volumes"
_ONE_TYPE = "may not specify more than 1 volume type"
_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")


def volume(obj: Object) -> Rules:
    spec = obj["spec"]
    yield from _access_modes(spec, _SPEC.child("accessModes"))
    yield from _capacity(spec.get("capacity") or {}, _SPEC.child("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    yield from one_of(policy, _SPEC.child("persistentVolumeReclaimPolicy"), _RECLAIM_POLICIES, needed=False)
    if spec.get("nodeAffinity") is not None:
        yield from _affinity(spec["nodeAffinity"], _SPEC.child("nodeAffinity"))
    yield from _sources(spec, _SPEC)
    if spec.get("storageClassName"):
        yield from dns_subdomain(spec["storageClassName"], _SPEC.child("storageClassName"))
    yield from one_of(spec.get("volumeMode"), _SPEC.child("volumeMode"), VOLUME_MODES, needed=False)
    yield from _attributes_class(spec)


def _access_modes(spec: Object, path: Path) -> Rules:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield FieldError.required(path)
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield FieldError.not_supported(path, mode, ACCESS_MODES)
    known = {mode for mode in modes if mode in ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield FieldError.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _capacity(capacity: Mapping[str, str], path: Path) -> Rules:
    if not capacity:
        yield FieldError.required(path)
    if set(capacity) != {"storage"}:
        shown = dict(capacity) or None
        yield FieldError(ErrorType.NOT_SUPPORTED, path, shown, 'supported values: "storage"')
    for name, amount in capacity.items():
        at = path.key(name)
        if Quantity(amount) < 0:
            yield FieldError.invalid(at, int(Quantity(amount)), "must be a valid resource quantity")
        if Quantity(amount) <= 0:
            yield FieldError.invalid(at, amount, "must be greater than zero")


def _affinity(affinity: Object, path: Path) -> Rules:
    if affinity.get("required") is None:
        yield FieldError.required(path.child("required"), "must specify required node constraints")
    else:
        yield from node_selector(affinity["required"], path.child("required"))


def _attributes_class(spec: Object) -> Rules:
    name, path = spec.get("volumeAttributesClassName"), _SPEC.child("volumeAttributesClassName")
    if name is None:
        return
    if name:
        yield from dns_subdomain(name, path)
    else:
        yield FieldError.required(path, "an empty string is disallowed")
    if spec.get("csi") is None:
        detail = "has to be specified when using volumeAttributesClassName"
        yield FieldError.required(_SPEC.child("csi"), detail)


def inline_volume_spec(spec: Object, path: Path) -> Rules:
    """A volume that is only told of within an attachment."""
    for field in ("claimRef", "capacity"):
        if spec.get(field):
            yield FieldError.forbidden(path.child(field), f"may not be specified {_INLINE}")
    if spec.get("csi") is None:
        yield FieldError.required(path.child("csi"), f"has to be specified {_INLINE}")
    yield from _access_modes(spec, path.child("accessModes"))
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        at = path.child("persistentVolumeReclaimPolicy")
        yield FieldError.forbidden(at, f"may only be Retain {_INLINE}")
    if spec.get("nodeAffinity") is not None:
        yield FieldError.forbidden(path.child("nodeAffinity"), f"may not be specified {_INLINE}")
    yield from _sources(spec, path)
    if spec.get("storageClassName"):
        yield FieldError.forbidden(path.child("storageClassName"), f"may not be specified {_INLINE}")
    if spec.get("volumeMode") not in (None, "Filesystem"):
        detail = f"may not specify volumeMode other than Filesystem {_INLINE}"
        yield FieldError.forbidden(path.child("volumeMode"), detail)


# Sources --------------------------------------------------------------------------------------------------------------


def _sources(spec: Object, path: Path) -> Rules:
    count = 0
    for source, check in _SOURCES.items():
        if spec.get(source) is None:
            continue
        count += 1
        if count > 1:
            yield FieldError.forbidden(path.child(source), _ONE_TYPE)
            continue
        yield from check(spec[source], path.child(_SHOWN.get(source, source)))
        if source == "local" and spec.get("nodeAffinity") is None:
            yield FieldError.required(path.child("nodeAffinity"), "Local volume requires node affinity")
    if not count:
        yield FieldError.required(path, "must specify a volume type")
    host = (spec.get("hostPath") or {}).get("path", "")
    if host and posixpath.normpath(host) in ("/", "//") and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield FieldError.forbidden(path.child("persistentVolumeReclaimPolicy"), detail)


def _local(source: Object, path: Path) -> Rules:
    if source.get("path"):
        yield from backsteps(source["path"], path.child("path"))
    else:
        yield FieldError.required(path.child("path"))


def _csi(source: Object, path: Path) -> Rules:
    yield from csi_driver_name(source.get("driver", ""), path.child("driver"))
    yield from needs("volumeHandle")(source, path)
    for field in (
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ):
        if source.get(field) is not None:
            yield from _secret_reference(source[field], path.child(field))


def _secret_reference(reference: Object, path: Path) -> Rules:
    for field, check in (("name", dns_subdomain), ("namespace", dns_label)):
        if reference.get(field):
            yield from check(reference[field], path.child(field))
        else:
            yield FieldError.required(path.child(field))


_SHOWN = {"gcePersistentDisk": "persistentDisk"}
_SOURCES: Mapping[str, Callable[[Object, Path], Rules]] = {
    "hostPath": host_path,
    "gcePersistentDisk": needs("pdName"),
    "awsElasticBlockStore": needs("volumeID"),
    "glusterfs": needs("endpoints", "path"),
    "flocker": needs(),
    "nfs": nfs,
    "rbd": needs("monitors", "image"),
    "quobyte": needs("registry", "volume"),
    "cephfs": needs("monitors"),
    "iscsi": needs("targetPortal", "iqn"),
    "cinder": needs("volumeID"),
    "fc": needs(),
    "flexVolume": needs("driver"),
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": needs("diskName", "diskURI"),
    "scaleIO": needs("gateway", "system", "volumeName"),
    "local": _local,
    "storageos": needs("volumeName"),
    "csi": _csi,
}


def volume_update(obj: Object, old: Object) -> Rules:
    yield from volume(obj)
    spec, before = obj["spec"], old["spec"]
    if _source_of(spec, before) != _source_of(before, before):
        path = _SPEC.child("persistentvolumesource")
        yield FieldError.forbidden(path, "spec.persistentvolumesource is immutable after creation\n")
    yield from immutable(spec.get("volumeMode"), before.get("volumeMode"), Path("volumeMode"))
    if before.get("nodeAffinity") is not None and spec.get("nodeAffinity") != before["nodeAffinity"]:
        detail = "field is immutable, except for updating from beta label to GA"
        yield FieldError.invalid(Path("nodeAffinity"), spec.get("nodeAffinity"), detail)
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        path = _SPEC.child("volumeAttributesClassName")
        yield FieldError.forbidden(path, "update from non-nil value to nil is forbidden")


def _source_of(spec: Object, before: Object) -> Object:
    """The source of a volume, without the secret for expanding it if there was none before."""
    found = {name: spec[name] for name in _SOURCES if spec.get(name) is not None}
    if "csi" in found and (before.get("csi") or {}).get("controllerExpandSecretRef") is None:
        found["csi"] = {key: value for key, value in found["csi"].items() if key != "controllerExpandSecretRef"}
    return found
