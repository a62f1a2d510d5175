"""Settings: everything that is decided about a control plane, from its object and its cluster, with nothing left open.

What the API server would have filled in is filled in here as well: an object may come from a test, or from a
management plane whose CRD is older.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from kapstan.cluster.api.controlplane.hosted import (
    Addons,
    APIServerSettings,
    Certificates,
    ComponentSettings,
    DatastoreType,
    Exposure,
    HostedControlPlane,
    RolloutStrategyType,
    RuntimeType,
)
from kapstan.cluster.api.core.cluster import APIEndpoint, Cluster, ClusterNetwork
from kapstan.cluster.pki.leaves import Issuance
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.pki import KeyAlgorithm

__all__ = ("DNS_INDEX", "Endpoint", "Network", "Settings", "settings_of")

# Which address of the service network is CoreDNS': kubeadm's choice, which kubelets expect.
DNS_INDEX = 10

_SERVICES = ("10.96.0.0/12",)
_DOMAIN = "cluster.local"


@dataclass(frozen=True)
class Endpoint:
    """Where an API server is reached."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"https://{self}"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Network:
    """The network inside a cluster."""

    services: tuple[str, ...] = _SERVICES
    pods: tuple[str, ...] = ()
    domain: str = _DOMAIN

    @property
    def api_address(self) -> str:
        """That of the Service `kubernetes`."""
        return str(self._first[1])

    @property
    def dns_address(self) -> str:
        return str(self._first[DNS_INDEX])

    @property
    def _first(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network(self.services[0])


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that is decided about a control plane."""

    # The control plane, and the cluster that it is for.
    key: ObjectKey
    cluster: str
    # Names the data, for as long as there are any.
    id: str
    version: str
    replicas: int
    runtime: RuntimeType
    datastore: DatastoreType
    exposure: Exposure
    # Where it is reached, once that has been told to others; from then on it stays.
    published: Endpoint | None
    network: Network
    api_server: APIServerSettings
    controller_manager: ComponentSettings
    scheduler: ComponentSettings
    etcd: ComponentSettings
    addons: Addons
    issuance: Issuance
    strategy: RolloutStrategyType
    # Names that others know the API server by, beyond those of the endpoint.
    names: tuple[str, ...] = ()
    # Components that were started before are started anew.
    restart_after: datetime | None = None

    @property
    def hibernated(self) -> bool:
        return self.replicas == 0


def settings_of(control_plane: HostedControlPlane, cluster: Cluster, *, now: datetime) -> Settings:
    spec = control_plane.spec
    datastore, rollout = spec.datastore, spec.rollout
    after = rollout.after if rollout else None
    given = _endpoint(cluster.spec.control_plane_endpoint)
    api_server = spec.api_server or APIServerSettings()
    return Settings(
        key=control_plane.key,
        cluster=cluster.name,
        id=(datastore.prefix if datastore else None) or control_plane.uid,
        version=spec.version,
        replicas=1 if spec.replicas is None else spec.replicas,
        runtime=spec.runtime.type if spec.runtime else "Process",
        datastore=datastore.type if datastore else "DedicatedEtcd",
        exposure=spec.exposure or Exposure(type="HostPort"),
        published=_endpoint(spec.control_plane_endpoint),
        network=_network(cluster.spec.cluster_network or ClusterNetwork()),
        api_server=api_server,
        controller_manager=spec.controller_manager or ComponentSettings(),
        scheduler=spec.scheduler or ComponentSettings(),
        etcd=spec.etcd or ComponentSettings(),
        addons=spec.addons or Addons(),
        issuance=_issuance(spec.certificates or Certificates()),
        strategy=rollout.strategy.type if rollout and rollout.strategy else "BlueGreen",
        names=tuple(dict.fromkeys([*api_server.cert_sans, *([given.host] if given else [])])),
        restart_after=after if after and after <= now else None,
    )


def _endpoint(endpoint: APIEndpoint | None) -> Endpoint | None:
    return Endpoint(endpoint.host, endpoint.port) if endpoint and endpoint.host and endpoint.port else None


def _network(network: ClusterNetwork) -> Network:
    return Network(
        services=tuple(network.services.cidr_blocks) if network.services else _SERVICES,
        pods=tuple(network.pods.cidr_blocks) if network.pods else (),
        domain=network.service_domain or _DOMAIN,
    )


def _issuance(certificates: Certificates) -> Issuance:
    default = Issuance()
    days, before = certificates.validity_days, certificates.renew_before_days
    return Issuance(
        algorithm=KeyAlgorithm(certificates.key_algorithm or default.algorithm),
        validity=default.validity if days is None else timedelta(days=days),
        renew_before=default.renew_before if before is None else timedelta(days=before),
    )
