"""The controllers of a cluster, started and stopped together.

They follow the storage's events and cost nothing while nothing happens. Each has kube-controller-manager's name for it
and can be left out, for instance where a real kube-controller-manager does its work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.authz.aggregation import RoleAggregation
from kapstan.apiserver.authz.certificates.controller import CertificateController
from kapstan.apiserver.controllers.accounts import RootCertificatePublisher, ServiceAccountController
from kapstan.apiserver.controllers.controller import Controller
from kapstan.apiserver.controllers.disruption import DisruptionController
from kapstan.apiserver.controllers.events import EventExpiry
from kapstan.apiserver.controllers.garbage import GarbageCollector
from kapstan.apiserver.controllers.joining import BootstrapSigner, TokenCleaner
from kapstan.apiserver.controllers.kubernetes import ensure_service
from kapstan.apiserver.controllers.namespaces import NamespaceController
from kapstan.apiserver.controllers.policies import PolicyStatusController
from kapstan.apiserver.controllers.protection import AttributesClassProtection, ClaimProtection, VolumeProtection
from kapstan.apiserver.controllers.quotas import ResourceQuotaController

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("CONTROLLERS", "KUBE_CONTROLLER_MANAGER", "Controllers", "start")


# The API server's own, which run whatever else does, come last.
CONTROLLERS: Mapping[str, Callable[[LogicalCluster], Controller[Any]]] = {
    "serviceaccount-controller": ServiceAccountController,
    "root-ca-certificate-publisher-controller": RootCertificatePublisher,
    "namespace-controller": NamespaceController,
    "garbage-collector-controller": GarbageCollector,
    "clusterrole-aggregation-controller": RoleAggregation,
    "certificatesigningrequest-controller": CertificateController,
    "disruption-controller": DisruptionController,
    "resourcequota-controller": ResourceQuotaController,
    "persistentvolumeclaim-protection-controller": ClaimProtection,
    "persistentvolume-protection-controller": VolumeProtection,
    "volumeattributesclass-protection-controller": AttributesClassProtection,
    "validatingadmissionpolicy-status-controller": PolicyStatusController,
    "bootstrap-signer-controller": BootstrapSigner,
    "token-cleaner-controller": TokenCleaner,
    "event-expiry": EventExpiry,
}
KUBE_CONTROLLER_MANAGER = tuple(name for name in CONTROLLERS if name.endswith("-controller"))
"""Those that a real kube-controller-manager brings: leave these out where one runs."""


class Controllers:
    """The controllers of one cluster."""

    def __init__(self, controllers: Mapping[str, Controller[Any]]) -> None:
        self._controllers = controllers

    def __getitem__(self, name: str) -> Controller[Any]:
        return self._controllers[name]

    def __contains__(self, name: str) -> bool:
        return name in self._controllers

    async def idle(self) -> None:
        """Return when none has anything left to do, which the work of one may give to another."""
        for _ in range(2):
            for controller in self._controllers.values():
                await controller.idle()

    def close(self) -> None:
        for controller in self._controllers.values():
            controller.close()


async def start(cluster: LogicalCluster, *, without: Collection[str] = ()) -> Controllers:
    """Start the controllers of a cluster that somebody hosts, all but those named."""
    unknown = [name for name in without if name not in CONTROLLERS]
    if unknown:
        raise ValueError(f"there is no controller {unknown[0]!r}; there are {', '.join(CONTROLLERS)}")
    made = {name: make(cluster) for name, make in CONTROLLERS.items() if name not in without}
    for controller in made.values():
        controller.start()
    await ensure_service(cluster)
    return Controllers(made)
