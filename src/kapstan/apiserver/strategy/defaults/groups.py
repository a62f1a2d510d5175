"""Defaults of the smaller groups."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kapstan.apiserver.strategy.defaults.constants import API, APIEXTENSIONS, Default

__all__ = ("DEFAULTS",)

Object = dict[str, Any]

_RBAC_GROUP = "rbac.authorization.k8s.io"
_FLOWCONTROL = f"{API}flowcontrol/v1."
_QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}


def _network_policy(spec: Object) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _ingress_class(spec: Object) -> None:
    parameters = spec.get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _role_binding(binding: Object) -> None:
    if not binding["roleRef"].get("apiGroup"):
        binding["roleRef"]["apiGroup"] = _RBAC_GROUP


def _subject(subject: Object) -> None:
    if subject.get("kind") in ("User", "Group"):
        subject.setdefault("apiGroup", _RBAC_GROUP)


def _definition_names(names: Object) -> None:
    kind = names["kind"]
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")


def _definition(definition: Object) -> None:
    """A new definition has stored objects in its storage version only."""
    names = definition["spec"]["names"]
    _definition_names(names)
    status = definition["status"]
    if not status.get("storedVersions"):
        stored = [version["name"] for version in definition["spec"].get("versions") or () if version.get("storage")]
        status["storedVersions"] = stored[:1] or None


def _flow_schema(spec: Object) -> None:
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def _limited_priority_level(level: Object) -> None:
    if level.get("nominalConcurrencyShares") is None:
        level["nominalConcurrencyShares"] = 30


def _queuing(configuration: Object) -> None:
    for name, value in _QUEUING.items():
        configuration[name] = configuration.get(name) or value


def _device_request(request: Object) -> None:
    if request.setdefault("allocationMode", "ExactCount") == "ExactCount":
        request.setdefault("count", 1)


def _device_taint(taint: Object) -> None:
    taint.setdefault("timeAdded", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _token_request(spec: Object) -> None:
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = 3600


DEFAULTS: Mapping[str, Default] = {
    f"{API}authentication/v1.TokenRequestSpec": _token_request,
    f"{API}networking/v1.IngressClassSpec": _ingress_class,
    f"{API}networking/v1.NetworkPolicySpec": _network_policy,
    f"{API}rbac/v1.ClusterRoleBinding": _role_binding,
    f"{API}rbac/v1.RoleBinding": _role_binding,
    f"{API}rbac/v1.Subject": _subject,
    f"{API}resource/v1.DeviceSubRequest": _device_request,
    f"{API}resource/v1.DeviceTaint": _device_taint,
    f"{API}resource/v1.ExactDeviceRequest": _device_request,
    f"{APIEXTENSIONS}CustomResourceDefinition": _definition,
    f"{_FLOWCONTROL}FlowSchemaSpec": _flow_schema,
    f"{_FLOWCONTROL}LimitedPriorityLevelConfiguration": _limited_priority_level,
    f"{_FLOWCONTROL}QueuingConfiguration": _queuing,
}
