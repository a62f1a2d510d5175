"""Tables of the core group's kinds, pods aside."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from kapstan.apiserver.strategy.conversion.events import to_core
from kapstan.apiserver.strategy.tables import pods
from kapstan.apiserver.strategy.tables.table import AGE, NAME, Object, Table, integer, text, wide
from kapstan.apiserver.strategy.tables.writing import (
    NONE,
    UNKNOWN,
    UNSET,
    age,
    container_cells,
    joined,
    label_set,
    name_of,
    since,
)

__all__ = ("EVENTS", "TABLES", "load_balancer")

_ROLE = "node-role.kubernetes.io/"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_ENDPOINTS_SHOWN = 3


def _component_status(obj: Object, now: datetime) -> list[Any]:
    healthy = next((one for one in obj.get("conditions") or () if one["type"] == "Healthy"), None)
    if healthy is None:
        return [name_of(obj), "Unknown", "", ""]
    status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name_of(obj), status, healthy.get("message", ""), healthy.get("error", "")]


def _config_map(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)]


def _endpoints(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), _addresses(obj.get("subsets") or ()), age(obj, now)]


def _addresses(subsets: Any) -> str:
    if not subsets:
        return NONE
    shown: list[str] = []
    for subset in subsets:
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports")
        shown += [_host_port(ip, port["port"]) for port in ports for ip in addresses] if ports else addresses
    text = ",".join(shown[:_ENDPOINTS_SHOWN])
    more = len(shown) - _ENDPOINTS_SHOWN
    return f"{text} + {more} more..." if more > 0 else text


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _event(obj: Object, now: datetime) -> list[Any]:
    event = to_core(obj) if "regarding" in obj else obj
    first = since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    series, count = event.get("series"), event.get("count") or 1
    if series is not None:
        last, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    about = event["involvedObject"]
    kind = about.get("kind", "").lower()
    target = f"{kind}/{about['name']}" if about.get("name") else kind
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        target,
        about.get("fieldPath", ""),
        _event_source(event),
        event.get("message", "").strip(),
        first,
        count,
        name_of(event),
    ]


def _event_source(event: Object) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _namespace(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now)]


def _node(node: Object, now: datetime) -> list[Any]:
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = [one.get("status") for one in status.get("conditions") or () if one["type"] == "Ready"]
    words = ["Ready" if ready[-1] == "True" else "NotReady"] if ready else ["Unknown"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    return [
        name_of(node),
        ",".join(words),
        joined(_roles(node["metadata"].get("labels") or {})),
        age(node, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(labels: Mapping[str, str]) -> list[str]:
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return sorted(roles - {""})


def _address(status: Object, type: str) -> str:
    found = (one.get("address", "") for one in status.get("addresses") or () if one.get("type") == type)
    return next(found, NONE)


def _volume(volume: Object, now: datetime) -> list[Any]:
    spec, status, metadata = volume["spec"], volume.get("status") or {}, volume["metadata"]
    claim = spec.get("claimRef")
    return [
        name_of(volume),
        (spec.get("capacity") or {}).get("storage", "0"),
        _access_modes(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if metadata.get("deletionTimestamp") else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class(metadata, spec),
        spec.get("volumeAttributesClassName", UNSET),
        status.get("reason", ""),
        age(volume, now),
        spec.get("volumeMode", UNSET),
    ]


def _claim(claim: Object, now: datetime) -> list[Any]:
    spec, status, metadata = claim["spec"], claim.get("status") or {}, claim["metadata"]
    bound = spec.get("volumeName")
    return [
        name_of(claim),
        "Terminating" if metadata.get("deletionTimestamp") else status.get("phase", ""),
        bound or "",
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _access_modes(status.get("accessModes") or ()) if bound else "",
        _storage_class(metadata, spec),
        spec.get("volumeAttributesClassName", UNSET),
        age(claim, now),
        spec.get("volumeMode", UNSET),
    ]


def _access_modes(modes: Any) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _storage_class(metadata: Object, spec: Object) -> str:
    annotations = metadata.get("annotations") or {}
    return str(annotations.get(_CLASS_ANNOTATION, spec.get("storageClassName", "")))


def _replication_controller(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [
        name_of(obj),
        *counts,
        age(obj, now),
        *container_cells(spec.get("template")),
        label_set(spec.get("selector")),
    ]


def _resource_quota(obj: Object, now: datetime) -> list[Any]:
    status = obj.get("status") or {}
    used = status.get("used") or {}
    shown = {name: f"{name}: {used.get(name, '0')}/{hard}" for name, hard in sorted((status.get("hard") or {}).items())}
    limits = ", ".join(text for name, text in shown.items() if name.startswith("limits."))
    requests = ", ".join(text for name, text in shown.items() if not name.startswith("limits."))
    return [name_of(obj), requests, limits, age(obj, now)]


def _secret(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]


def _service_account(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), age(obj, now)]


def _service(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    ports = [_service_port(port) for port in spec.get("ports") or ()]
    return [
        name_of(obj),
        spec.get("type", ""),
        (spec.get("clusterIPs") or [NONE])[0],
        _external_address(spec, obj.get("status") or {}),
        joined(ports),
        age(obj, now),
        label_set(spec.get("selector")),
    ]


def _service_port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort", 0) > 0 else ""
    return f"{port['port']}{node_port}/{port.get('protocol', '')}"


def _external_address(spec: Object, status: Object) -> str:
    external = spec.get("externalIPs") or []
    kind = spec.get("type")
    if kind in ("ClusterIP", "NodePort"):
        return joined(external)
    if kind == "LoadBalancer":
        return joined([*load_balancer(status), *external], "<pending>")
    return str(spec.get("externalName", "")) if kind == "ExternalName" else UNKNOWN


def load_balancer(status: Object) -> list[str]:
    """The addresses of a load balancer, each once."""
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    return sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})


EVENTS = Table(
    (
        *text("Last Seen", "Type", "Reason", "Object"),
        *wide("Subobject", "Source"),
        *text("Message"),
        *wide("First Seen", "Count"),
        msgspec.structs.replace(NAME, priority=1),
    ),
    _event,
)

TABLES: Mapping[str, Table] = {
    "componentstatuses": Table((NAME, *text("Status", "Message", "Error")), _component_status),
    "configmaps": Table((NAME, *text("Data"), AGE), _config_map),
    "endpoints": Table((NAME, *text("Endpoints"), AGE), _endpoints),
    "events": EVENTS,
    "namespaces": Table((NAME, *text("Status"), AGE), _namespace),
    "nodes": Table(
        (
            NAME,
            *text("Status", "Roles"),
            AGE,
            *text("Version"),
            *wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "persistentvolumeclaims": Table(
        (
            NAME,
            *text("Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass"),
            AGE,
            *wide("VolumeMode"),
        ),
        _claim,
    ),
    "persistentvolumes": Table(
        (
            NAME,
            *text("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim"),
            *text("StorageClass", "VolumeAttributesClass", "Reason"),
            AGE,
            *wide("VolumeMode"),
        ),
        _volume,
    ),
    "pods": pods.PODS,
    "podtemplates": pods.POD_TEMPLATES,
    "replicationcontrollers": Table(
        (NAME, *integer("Desired", "Current", "Ready"), AGE, *wide("Containers", "Images", "Selector")),
        _replication_controller,
    ),
    "resourcequotas": Table((NAME, *text("Request", "Limit"), AGE), _resource_quota),
    "secrets": Table((NAME, *text("Type", "Data"), AGE), _secret),
    "serviceaccounts": Table((NAME, AGE), _service_account),
    "services": Table(
        (NAME, *text("Type", "Cluster-IP", "External-IP", "Port(s)"), AGE, *wide("Selector")),
        _service,
    ),
}
