"""Views of a provider's object: the fields of the contract, wherever its version has them.

A view reads the plain document, since core does not know the type. What is absent is None, False or empty; what is
there but of the wrong type is a mistake of the provider's, and said so with its path.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

import msgspec

from kapstan.cluster.api.core.cluster import APIEndpoint, FailureDomain
from kapstan.cluster.api.core.common import VersionCount
from kapstan.cluster.api.core.machine import MachineAddress
from kapstan.cluster.contract.version import Contract
from kapstan.machinery.codec import convert
from kapstan.machinery.conditions import find
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.meta import Condition

__all__ = (
    "BootstrapConfig",
    "ContractViolation",
    "ControlPlane",
    "InfraCluster",
    "InfraMachine",
    "ProviderObject",
    "Template",
)

T = TypeVar("T")
Document = dict[str, Any]


class ContractViolation(KapstanError):
    """A provider's object has a field that is not what the contract says."""


class ProviderObject:
    """What every provider's object has."""

    def __init__(self, document: Document, contract: Contract) -> None:
        self.document = document
        self.contract = contract

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.document["metadata"].get("namespace", ""))

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self.document["metadata"]

    @property
    def annotations(self) -> dict[str, str]:
        return self.document["metadata"].get("annotations") or {}

    @property
    def failure_reason(self) -> str:
        return self._get(str, "status", "failureReason") or ""

    @property
    def failure_message(self) -> str:
        return self._get(str, "status", "failureMessage") or ""

    def condition(self, type: str) -> Condition | None:
        """A condition in the form of v1beta2, which a provider of either contract may have."""
        v1beta2 = self._get(list[Any], "status", "v1beta2", "conditions") if self.contract.legacy else None
        conditions = v1beta2 if v1beta2 is not None else self._get(list[Any], "status", "conditions") or []
        return find((_condition(item) for item in conditions if isinstance(item, dict)), type)

    def _flag(self, *path: str) -> bool:
        return bool(self._get(bool, *path))

    def _get(self, kind: type[T], *path: str) -> T | None:
        """The value at a path, as what it should be; None if it is absent."""
        value: Any = self.document
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
            if value is None:
                return None
        try:
            return convert(value, kind)
        except msgspec.ValidationError as error:
            raise ContractViolation(f"{self.kind} {self.namespace}/{self.name}: .{'.'.join(path)}: {error}") from error


def _condition(item: Document) -> Condition:
    """Lenient: conditions of v1beta1 have no reason when they are true."""
    return Condition(
        type=str(item.get("type", "")),
        status=item["status"] if item.get("status") in ("True", "False") else "Unknown",
        reason=str(item.get("reason") or ""),
        message=str(item.get("message") or ""),
        last_transition_time=_time(item.get("lastTransitionTime")),
        observed_generation=item.get("observedGeneration"),
    )


def _time(value: Any) -> datetime | None:
    """None for what is no time: when a condition changed is of too little weight to refuse an object for."""
    try:
        return convert(value, datetime) if value else None
    except msgspec.ValidationError:
        return None


class InfraCluster(ProviderObject):
    """The infrastructure of a cluster."""

    @property
    def provisioned(self) -> bool:
        return self._flag("status", "ready") if self.contract.legacy else self._flag(*_PROVISIONED)

    @property
    def endpoint(self) -> APIEndpoint | None:
        """Where the API server can be reached, once both host and port are known."""
        return _endpoint(self)

    @property
    def failure_domains(self) -> list[FailureDomain]:
        """Sorted where the provider has a map: the order must not change by itself."""
        if not self.contract.legacy:
            found = self._get(list[FailureDomain], "status", "failureDomains") or []
            return [domain.replace(control_plane=bool(domain.control_plane)) for domain in found]
        domains = self._get(dict[str, dict[str, Any]], "status", "failureDomains") or {}
        return [
            FailureDomain(
                name=name,
                control_plane=bool(domain.get("controlPlane")),
                attributes={str(key): str(value) for key, value in (domain.get("attributes") or {}).items()},
            )
            for name, domain in sorted(domains.items())
        ]


class InfraMachine(ProviderObject):
    """The computer of a machine."""

    @property
    def provisioned(self) -> bool:
        return self._flag("status", "ready") if self.contract.legacy else self._flag(*_PROVISIONED)

    @property
    def provider_id(self) -> str:
        return self._get(str, "spec", "providerID") or ""

    @property
    def addresses(self) -> list[MachineAddress]:
        return self._get(list[MachineAddress], "status", "addresses") or []

    @property
    def failure_domain(self) -> str:
        """Providers of v1beta1 have it in their spec."""
        return self._get(str, "status", "failureDomain") or self._get(str, "spec", "failureDomain") or ""

    @property
    def interruptible(self) -> bool:
        return self._flag("status", "interruptible")


class BootstrapConfig(ProviderObject):
    """How a machine becomes a node."""

    @property
    def data_secret_created(self) -> bool:
        if self.contract.legacy:
            return self._flag("status", "ready")
        return self._flag("status", "initialization", "dataSecretCreated")

    @property
    def data_secret_name(self) -> str:
        return self._get(str, "status", "dataSecretName") or ""


class ControlPlane(ProviderObject):
    """The control plane of a cluster."""

    @property
    def initialized(self) -> bool:
        if self.contract.legacy:
            return self._flag("status", "initialized")
        return self._flag("status", "initialization", "controlPlaneInitialized")

    @property
    def endpoint(self) -> APIEndpoint | None:
        return _endpoint(self)

    @property
    def desired_replicas(self) -> int | None:
        """None where the control plane has no machines to count."""
        return self._get(int, "spec", "replicas")

    @property
    def replicas(self) -> int | None:
        return self._get(int, "status", "replicas")

    @property
    def ready_replicas(self) -> int | None:
        return self._get(int, "status", "readyReplicas")

    @property
    def available_replicas(self) -> int | None:
        if not self.contract.legacy:
            return self._get(int, "status", "availableReplicas")
        replicas = self.replicas
        unavailable = self._get(int, "status", "unavailableReplicas")
        return None if replicas is None else max(0, replicas - (unavailable or 0))

    @property
    def up_to_date_replicas(self) -> int | None:
        return self._get(int, "status", "updatedReplicas" if self.contract.legacy else "upToDateReplicas")

    @property
    def version(self) -> str:
        """The version that is wanted."""
        return self._get(str, "spec", "version") or ""

    @property
    def versions(self) -> list[VersionCount]:
        """The versions that run, the oldest first."""
        listed = self._get(list[VersionCount], "status", "versions")
        if listed:
            return listed
        single = self._get(str, "status", "version")
        return [VersionCount(version=single)] if single else []

    @property
    def externally_managed(self) -> bool:
        """It has no machines of ours."""
        return self._flag("status", "externalManagedControlPlane")


class Template(ProviderObject):
    """What infrastructure machines or bootstrap configurations are cloned from."""

    @property
    def content(self) -> Document:
        """Metadata and spec of the clones; a template may have none."""
        return self._get(dict[str, Any], "spec", "template") or {}


_PROVISIONED = ("status", "initialization", "provisioned")


def _endpoint(view: ProviderObject) -> APIEndpoint | None:
    host = view._get(str, "spec", "controlPlaneEndpoint", "host")
    port = view._get(int, "spec", "controlPlaneEndpoint", "port")
    return APIEndpoint(host=host, port=port) if host and port else None
