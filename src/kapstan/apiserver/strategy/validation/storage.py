"""Classes of storage, drivers and attachments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapstan.apiserver.strategy.validation.common import (
    IMMUTABLE,
    Object,
    Rules,
    complaints,
    dns_subdomain,
    immutable,
    label_name,
    label_selector,
    nonnegative,
    nonnegative_quantity,
    one_of,
    range_error,
    struct,
)
from kapstan.apiserver.strategy.validation.persistent import inline_volume_spec
from kapstan.apiserver.strategy.validation.volumes import csi_driver_name
from kapstan.machinery.names import qualified_name_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "attachment",
    "attachment_update",
    "attributes_class",
    "attributes_class_update",
    "capacity",
    "capacity_update",
    "csi_node",
    "csi_node_update",
    "driver",
    "driver_update",
    "storage_class",
    "storage_class_update",
)

_SPEC = Path("spec")
_MAX_PARAMETERS, _MAX_PARAMETER_BYTES = 512, 256 * 1024
_MAX_MESSAGE = 1024
_MAX_NODE_ID = 256
_EXACTLY_ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def storage_class(obj: Object) -> Rules:
    yield from _provisioner(obj.get("provisioner", ""), Path("provisioner"))
    yield from _parameters(obj.get("parameters") or {}, Path("parameters"))
    yield from one_of(obj.get("reclaimPolicy"), Path("reclaimPolicy"), ("Delete", "Retain"), needed=False)
    yield from one_of(obj.get("volumeBindingMode"), Path("volumeBindingMode"), ("Immediate", "WaitForFirstConsumer"))
    yield from _topologies(obj.get("allowedTopologies") or (), Path("allowedTopologies"))


def _provisioner(name: str, path: Path) -> Rules:
    if not name:
        yield FieldError.required(path)
        return
    for complaint in qualified_name_errors(name.lower()):
        yield FieldError.invalid(path, name.lower(), complaint)


def _parameters(parameters: Mapping[str, str], path: Path, *, needed: bool = False) -> Rules:
    if len(parameters) > _MAX_PARAMETERS:
        yield FieldError.too_long(path, _MAX_PARAMETERS)
        return
    if "" in parameters:
        yield FieldError.invalid(path, "", "field can not be empty.")
    if _size(parameters) > _MAX_PARAMETER_BYTES:
        yield FieldError.too_long(path, _MAX_PARAMETER_BYTES)
    if needed and not parameters:
        yield FieldError.required(path, "must contain at least one key/value pair")


def _size(values: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in values.items())


def _topologies(terms: Sequence[Object], path: Path) -> Rules:
    seen: list[dict[str, set[str]]] = []
    for position, term in enumerate(terms):
        at, found = path.index(position).child("matchLabelExpressions"), dict[str, set[str]]()
        for index, expression in enumerate(term.get("matchLabelExpressions") or ()):
            yield from _topology(expression, at.index(index), found)
        if found in seen:
            yield FieldError.duplicate(at, "")
        seen.append(found)


def _topology(expression: Object, path: Path, found: dict[str, set[str]]) -> Rules:
    values, unique, key = expression.get("values") or (), set[str](), expression.get("key", "")
    if not values:
        yield FieldError.required(path.child("values"))
    for position, value in enumerate(values):
        if value in unique:
            yield FieldError.duplicate(path.child("values").index(position), value)
        unique.add(value)
    yield from label_name(key, path.child("key"))
    if key in found:
        yield FieldError.duplicate(path.child("key"), key)
    found[key] = unique


def storage_class_update(obj: Object, old: Object) -> Rules:
    new, before = obj.get("parameters"), old.get("parameters")
    if (new or {}) != (before or {}):
        yield FieldError.invalid(Path("parameters"), new, IMMUTABLE)
    for field in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from immutable(obj.get(field), old.get(field), Path(field))


def attributes_class(obj: Object) -> Rules:
    yield from _provisioner(obj.get("driverName", ""), Path("driverName"))
    yield from _parameters(obj.get("parameters") or {}, Path("parameters"), needed=True)


def attributes_class_update(obj: Object, old: Object) -> Rules:
    for field in ("driverName", "parameters"):
        if obj.get(field) != old.get(field):
            yield FieldError.forbidden(Path(field), f"updates to {field} are forbidden.")
    yield from attributes_class(obj)


# Attachments ----------------------------------------------------------------------------------------------------------


def attachment(obj: Object) -> Rules:
    spec, source = obj["spec"], obj["spec"].get("source") or {}
    yield from csi_driver_name(spec.get("attacher", ""), _SPEC.child("attacher"))
    yield from _attached(source, _SPEC.child("source"))
    yield from dns_subdomain(spec.get("nodeName", ""), _SPEC.child("nodeName"))
    yield from _attachment_status(obj.get("status") or {}, Path("status"))
    if source.get("persistentVolumeName") is not None:
        yield from dns_subdomain(source["persistentVolumeName"], Path("spec.source.persistentVolumeName"))


def _attached(source: Object, path: Path) -> Rules:
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and name is None:
        yield FieldError.required(path, _EXACTLY_ONE)
    elif inline is not None and name is not None:
        yield FieldError.forbidden(path, _EXACTLY_ONE)
    elif inline is not None:
        yield from inline_volume_spec(inline, path.child("inlineVolumeSpec"))
    elif not name:
        yield FieldError.required(path.child("persistentVolumeName"), "must specify non empty persistentVolumeName")


def _attachment_status(status: Object, path: Path) -> Rules:
    if _size(status.get("attachmentMetadata") or {}) > _MAX_PARAMETER_BYTES:
        yield FieldError.too_long(path.child("attachmentMetadata"), _MAX_PARAMETER_BYTES)
    for field in ("attachError", "detachError"):
        error = status.get(field) or {}
        if len(error.get("message", "").encode()) > _MAX_MESSAGE:
            yield FieldError.too_long(path.child(field, "message"), _MAX_PARAMETER_BYTES)
        if error.get("errorCode", 0) < 0:
            yield FieldError.invalid(path.child(field, "errorCode"), error["errorCode"], range_error(0, 2**31 - 1))


def attachment_update(obj: Object, old: Object) -> Rules:
    yield from attachment(obj)
    if obj["spec"] != old["spec"]:
        spec, source = obj["spec"], obj["spec"].get("source") or {}
        volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
        shown = struct(
            Attacher=spec.get("attacher", ""),
            Source=struct(PersistentVolumeName=volume, InlineVolumeSpec=inline),
            NodeName=spec.get("nodeName", ""),
        )
        yield FieldError.invalid(_SPEC, shown, IMMUTABLE)


# Drivers --------------------------------------------------------------------------------------------------------------


def csi_node(obj: Object) -> Rules:
    names: set[str] = set()
    for position, one in enumerate(obj["spec"].get("drivers") or ()):
        yield from _node_driver(one, names, _SPEC.child("drivers").index(position))


def _node_driver(one: Object, names: set[str], path: Path) -> Rules:
    name, identity = one.get("name", ""), one.get("nodeID", "")
    yield from csi_driver_name(name, path.child("name"))
    if not identity:
        yield FieldError.required(path.child("nodeID"))
    if len(identity.encode()) > _MAX_NODE_ID:
        yield FieldError.invalid(path.child("nodeID"), identity, f"must be {_MAX_NODE_ID} characters or less")
    yield from nonnegative((one.get("allocatable") or {}).get("count", 0), path.child("allocatable", "count"))
    if name in names:
        yield FieldError.duplicate(path.child("name"), name)
    names.add(name)
    keys: set[str] = set()
    for key in one.get("topologyKeys") or ():
        if not key:
            yield FieldError.required(path)
        if key in keys:
            yield FieldError.duplicate(path, key)
        keys.add(key)
        yield from complaints(key, path, qualified_name_errors)


def csi_node_update(obj: Object, old: Object) -> Rules:
    """How many volumes a node takes may change; nothing else about a driver that is there."""
    yield from csi_node(obj)
    before = {one.get("name"): one for one in old["spec"].get("drivers") or ()}
    for one in obj["spec"].get("drivers") or ():
        known = before.get(one.get("name"))
        fields = {"name": "Name", "nodeID": "NodeID", "topologyKeys": "TopologyKeys"}
        if known is not None and any(one.get(field) != known.get(field) for field in fields):
            shown = struct(**{shown: one.get(field) for field, shown in fields.items()}, Allocatable=None)
            yield FieldError.invalid(_SPEC.child("drivers"), shown, IMMUTABLE)


def driver(obj: Object) -> Rules:
    spec = obj["spec"]
    for field in ("attachRequired", "podInfoOnMount", "storageCapacity"):
        if spec.get(field) is None:
            yield FieldError.required(_SPEC.child("attachedRequired" if field == "attachRequired" else field))
    policies = ("File", "None", "ReadWriteOnceWithFSType")
    if spec.get("fsGroupPolicy") is not None and spec["fsGroupPolicy"] not in policies:
        yield FieldError.not_supported(_SPEC.child("fsGroupPolicy"), spec["fsGroupPolicy"], policies)
    yield from _token_requests(spec.get("tokenRequests") or (), _SPEC.child("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in ("Persistent", "Ephemeral"):
            yield FieldError.not_supported(_SPEC.child("volumeLifecycleModes"), mode, ("Persistent", "Ephemeral"))
    if spec.get("seLinuxMount") is None:
        yield FieldError.required(_SPEC.child("seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        path = _SPEC.child("nodeAllocatableUpdatePeriodSeconds")
        yield FieldError.invalid(path, period, "must be greater than or equal to 10 seconds")
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield FieldError.invalid(_SPEC.child("serviceAccountTokenInSecrets"), in_secrets, detail)


def _token_requests(requests: Sequence[Object], path: Path) -> Rules:
    audiences: set[str] = set()
    for position, request in enumerate(requests):
        at, audience, seconds = path.index(position), request.get("audience", ""), request.get("expirationSeconds")
        if audience in audiences:
            yield FieldError.duplicate(at.child("audience"), audience)
            continue
        audiences.add(audience)
        if seconds is None:
            continue
        if seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            yield FieldError.invalid(at.child("expirationSeconds"), seconds, detail)
        if seconds > 2**32:
            detail = "may not specify a duration larger than 2^32 seconds"
            yield FieldError.invalid(at.child("expirationSeconds"), seconds, detail)


def driver_update(obj: Object, old: Object) -> Rules:
    yield from driver(obj)
    for field, shown in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        yield from immutable(obj["spec"].get(field), old["spec"].get(field), _SPEC.child(shown))


def capacity(obj: Object) -> Rules:
    yield from label_selector(obj.get("nodeTopology"), Path("nodeTopology"))
    yield from dns_subdomain(obj.get("storageClassName", ""), Path("storageClassName"))
    if obj.get("capacity") is not None:
        yield from nonnegative_quantity(obj["capacity"], Path("capacity"))


def capacity_update(obj: Object, old: Object) -> Rules:
    for field in ("nodeTopology", "storageClassName"):
        yield from immutable(obj.get(field), old.get(field), Path(field))
