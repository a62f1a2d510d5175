"""kube-controller-manager: its arguments, which are kubeadm's unless something is said here about why not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from kapstan.components.arguments import ExtraArguments, arguments

__all__ = ("ControllerManager", "controller_manager_arguments")


@dataclass(frozen=True, kw_only=True)
class ControllerManager:
    """What is decided about a controller manager."""

    bind_address: str = "127.0.0.1"
    port: int
    certificates: PurePath
    kubeconfig: PurePath
    cluster_name: str = "kubernetes"
    service_cidr: str = "10.96.0.0/12"
    # Addresses of pods; without it, nodes get none from here.
    pod_cidr: str | None = None
    # One that stands alone need not win an election, which would cost it seconds at every start.
    leader_election: bool = False
    extra_arguments: ExtraArguments = ()


def controller_manager_arguments(manager: ControllerManager) -> tuple[str, ...]:
    """The arguments after the program's name."""
    certificates, kubeconfig = manager.certificates, str(manager.kubeconfig)
    defaults = {
        "bind-address": manager.bind_address,
        "secure-port": str(manager.port),
        "tls-cert-file": str(certificates / "controller-manager.crt"),
        "tls-private-key-file": str(certificates / "controller-manager.key"),
        "leader-elect": "true" if manager.leader_election else "false",
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "client-ca-file": str(certificates / "ca.crt"),
        "requestheader-client-ca-file": str(certificates / "front-proxy-ca.crt"),
        "root-ca-file": str(certificates / "ca.crt"),
        "cluster-signing-cert-file": str(certificates / "ca.crt"),
        "cluster-signing-key-file": str(certificates / "ca.key"),
        "service-account-private-key-file": str(certificates / "sa.key"),
        "use-service-account-credentials": "true",
        "controllers": "*,bootstrapsigner,tokencleaner",
        "cluster-name": manager.cluster_name,
        "service-cluster-ip-range": manager.service_cidr,
        "allocate-node-cidrs": "true" if manager.pod_cidr else None,
        "cluster-cidr": manager.pod_cidr,
        # With the default of 20 requests a second a new cluster takes many seconds to get its first objects.
        "kube-api-qps": "300",
        "kube-api-burst": "600",
    }
    return arguments(defaults, manager.extra_arguments)
