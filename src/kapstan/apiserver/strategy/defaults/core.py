"""Defaults of the core group's kinds, pods aside."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from kapstan.apiserver.strategy.defaults.constants import API, Default

__all__ = ("DEFAULTS",)

Object = dict[str, Any]

_CORE = f"{API}core/v1."
_METADATA_NAME = "kubernetes.io/metadata.name"
_CLIENT_IP_TIMEOUT = 10_800  # three hours, in seconds


def _namespace(obj: Object) -> None:
    """Every namespace can be selected by its name."""
    metadata = obj["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[_METADATA_NAME] = metadata["name"]


def _secret(obj: Object) -> None:
    """`stringData` is for writing only: it overwrites `data`."""
    texts = obj.pop("stringData", None)
    if texts:
        data = obj.setdefault("data", {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode()).decode()


def _service(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("sessionAffinity", "None")
    _session_affinity(spec)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        if port["targetPort"] in (0, ""):
            port["targetPort"] = port["port"]
    external = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if external:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in obj["status"]["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _session_affinity(spec: Object) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client_ip = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client_ip.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLIENT_IP_TIMEOUT}}


def _replication_controller(obj: Object) -> None:
    """The labels of the template select its pods, and mark the controller."""
    template = obj["spec"].get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels:
        obj["spec"].setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))


def _node_spec(spec: Object) -> None:
    """`podCIDR` is the first of `podCIDRs`; where they differ, the older field wins."""
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many:
        spec["podCIDR"] = many[0]


def _node_status(status: Object) -> None:
    if status.get("capacity"):
        status.setdefault("allocatable", dict(status["capacity"]))


def _limit_range_item(item: Object) -> None:
    """Limits of containers follow from each other: from max to default to defaultRequest, and from min to that."""
    if item.get("type") != "Container":
        return
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    for name, values in (("default", default), ("defaultRequest", request)):
        if values:
            item[name] = values


DEFAULTS: Mapping[str, Default] = {
    f"{_CORE}LimitRangeItem": _limit_range_item,
    f"{_CORE}Namespace": _namespace,
    f"{_CORE}NodeSpec": _node_spec,
    f"{_CORE}NodeStatus": _node_status,
    f"{_CORE}ReplicationController": _replication_controller,
    f"{_CORE}Secret": _secret,
    f"{_CORE}Service": _service,
}
