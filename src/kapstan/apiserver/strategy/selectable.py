"""Selectable fields: what `fieldSelector` may ask of a built-in kind besides its name and namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kapstan.machinery.gvk import GroupResource

__all__ = ("SELECTABLE", "Selectable")

Object = dict[str, Any]
Value = Callable[[Object], str]
Selectable = Mapping[str, Value]


def _at(*path: str, zero: str = "") -> Value:
    """The text at a path."""

    def value(obj: Object) -> str:
        found: Any = obj
        for name in path:
            found = (found or {}).get(name)
        return zero if found is None else str(found)

    return value


def _flag(*path: str) -> Value:
    text = _at(*path, zero="False")
    return lambda obj: text(obj).lower()


def _pod_ips(pod: Object) -> str:
    return ",".join(one.get("ip", "") for one in (pod.get("status") or {}).get("podIPs") or ())


def _reporter(source: str) -> Value:
    """Who reported an event: the source's component, or the newer field."""

    def value(event: Object) -> str:
        old = (event.get(source) or {}).get("component")
        return str(old or event.get("reportingComponent") or "")

    return value


def _about(field: str) -> dict[str, Value]:
    """The object that an event is about, under the name that the group gives it."""
    parts = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return {f"{field}.{part}": _at(field, part) for part in parts}


SELECTABLE: Mapping[GroupResource, Selectable] = {
    GroupResource("", "events"): {
        **_about("involvedObject"),
        "reason": _at("reason"),
        "reportingComponent": _at("reportingComponent"),
        "source": _reporter("source"),
        "type": _at("type"),
    },
    GroupResource("", "namespaces"): {"status.phase": _at("status", "phase")},
    GroupResource("", "nodes"): {"spec.unschedulable": _flag("spec", "unschedulable")},
    GroupResource("", "pods"): {
        "spec.nodeName": _at("spec", "nodeName"),
        "spec.restartPolicy": _at("spec", "restartPolicy"),
        "spec.schedulerName": _at("spec", "schedulerName"),
        "spec.serviceAccountName": _at("spec", "serviceAccountName"),
        "spec.hostNetwork": _flag("spec", "hostNetwork"),
        "status.phase": _at("status", "phase"),
        "status.podIP": _at("status", "podIP"),
        "status.podIPs": _pod_ips,
        "status.nominatedNodeName": _at("status", "nominatedNodeName"),
    },
    GroupResource("", "replicationcontrollers"): {"status.replicas": _at("status", "replicas", zero="0")},
    GroupResource("", "secrets"): {"type": _at("type")},
    GroupResource("", "services"): {
        "spec.clusterIP": _at("spec", "clusterIP"),
        "spec.type": _at("spec", "type"),
    },
    GroupResource("batch", "jobs"): {"status.successful": _at("status", "succeeded", zero="0")},
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): {"spec.signerName": _at("spec", "signerName")},
    GroupResource("events.k8s.io", "events"): {
        **_about("regarding"),
        "reason": _at("reason"),
        "reportingController": _at("reportingController"),
        "type": _at("type"),
    },
    GroupResource("resource.k8s.io", "resourceslices"): {
        "spec.nodeName": _at("spec", "nodeName"),
        "spec.driver": _at("spec", "driver"),
    },
}
