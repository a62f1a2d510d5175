"""kube-apiserver: its arguments, which are kubeadm's unless something is said here about why not."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from kapstan.components.arguments import arguments

__all__ = ("APIServer", "apiserver_arguments")


@dataclass(frozen=True, kw_only=True)
class APIServer:
    """What is decided about an API server."""

    bind_address: str = "127.0.0.1"
    port: int
    # Where nodes and pods find it; the bind address if nothing is said.
    advertise_address: str | None = None
    certificates: PurePath
    etcd_servers: tuple[str, ...]
    etcd_prefix: str = "/registry"
    service_cidr: str = "10.96.0.0/12"
    cluster_domain: str = "cluster.local"
    disable_admission_plugins: tuple[str, ...] = ()
    extra_arguments: Sequence[tuple[str, str]] = ()

    @property
    def url(self) -> str:
        host = f"[{self.bind_address}]" if ":" in self.bind_address else self.bind_address
        return f"https://{host}:{self.port}"


def apiserver_arguments(server: APIServer) -> tuple[str, ...]:
    """The arguments after the program's name."""
    defaults = {**_serving(server), **_authentication(server), **_etcd(server), **_cluster(server)}
    return arguments(defaults, server.extra_arguments)


def _serving(server: APIServer) -> dict[str, str | None]:
    advertised = server.advertise_address or server.bind_address
    return {
        "bind-address": server.bind_address,
        "secure-port": str(server.port),
        "advertise-address": advertised,
        # A loopback address is no endpoint that a Service may have: the reconciler would fail for ever.
        "endpoint-reconciler-type": "none" if ipaddress.ip_address(advertised).is_loopback else None,
        "tls-cert-file": str(server.certificates / "apiserver.crt"),
        "tls-private-key-file": str(server.certificates / "apiserver.key"),
        # Watches are ended when it stops. By default it waits for its clients to end them, for up to a minute.
        "shutdown-watch-termination-grace-period": "1s",
    }


def _authentication(server: APIServer) -> dict[str, str | None]:
    certificates = server.certificates
    return {
        "client-ca-file": str(certificates / "ca.crt"),
        "enable-bootstrap-token-auth": "true",
        "service-account-issuer": f"https://kubernetes.default.svc.{server.cluster_domain}",
        "service-account-key-file": str(certificates / "sa.pub"),
        "service-account-signing-key-file": str(certificates / "sa.key"),
        "requestheader-client-ca-file": str(certificates / "front-proxy-ca.crt"),
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": str(certificates / "front-proxy-client.crt"),
        "proxy-client-key-file": str(certificates / "front-proxy-client.key"),
    }


def _etcd(server: APIServer) -> dict[str, str | None]:
    return {
        "etcd-servers": ",".join(server.etcd_servers),
        "etcd-prefix": server.etcd_prefix,
        "etcd-cafile": str(server.certificates / "etcd" / "ca.crt"),
        "etcd-certfile": str(server.certificates / "apiserver-etcd-client.crt"),
        "etcd-keyfile": str(server.certificates / "apiserver-etcd-client.key"),
    }


def _cluster(server: APIServer) -> dict[str, str | None]:
    configured = any(name.removeprefix("--") == "authorization-config" for name, _ in server.extra_arguments)
    return {
        "authorization-mode": None if configured else "Node,RBAC",  # one says what the other does
        "enable-admission-plugins": "NodeRestriction",
        "disable-admission-plugins": ",".join(server.disable_admission_plugins) or None,
        "allow-privileged": "true",
        "service-cluster-ip-range": server.service_cidr,
        "kubelet-client-certificate": str(server.certificates / "apiserver-kubelet-client.crt"),
        "kubelet-client-key": str(server.certificates / "apiserver-kubelet-client.key"),
        "kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname",
    }
