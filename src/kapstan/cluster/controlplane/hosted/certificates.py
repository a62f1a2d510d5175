"""Certificates: what the components of a control plane prove themselves with, and the files that hold it.

Components read certificates from files and read them again when they change: renewing one is writing a file, nothing
is restarted. That is why their kubeconfigs name files, too, instead of holding a copy. A key is on disk only where a
component needs it: those of the authorities of etcd and of the front proxy are not.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import PurePath

from kapstan.client import Kubeconfig
from kapstan.client.kubeconfig import Cluster, User
from kapstan.cluster.controlplane.hosted.runtime.interface import Datastore, Layout
from kapstan.cluster.controlplane.hosted.scope import Scope
from kapstan.cluster.controlplane.hosted.settings import Endpoint, Settings
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.cluster.pki.authorities import ensure_authorities as ensure_secrets
from kapstan.cluster.pki.leaves import Issuer, Leaf, Leaves, renew
from kapstan.machinery.pki import Usage

__all__ = (
    "ADMINISTRATOR",
    "FOLDER",
    "desired_files",
    "desired_leaves",
    "ensure_authorities",
    "ensure_leaves",
    "etcd_leaves",
    "local_address",
    "renewed_leaves",
)

# Below a control plane's folder.
FOLDER = "pki"
# Our own way in.
ADMINISTRATOR = "super-admin"

_BOTH = (Usage.SERVER, Usage.CLIENT)
_LOCAL_NAMES = ("localhost",)
_LOCAL_ADDRESSES = ("127.0.0.1", "::1")


async def ensure_authorities(scope: Scope) -> None:
    """Have the cluster's authorities. An etcd that is shared has one that is none of the cluster's."""
    settings, initialized = scope.settings, scope.control_plane.status.initialization
    scope.authorities = await ensure_secrets(
        scope.client,
        scope.cluster_key,
        scope.control_plane,
        etcd=settings.datastore == "DedicatedEtcd",
        algorithm=settings.issuance.algorithm,
        make=initialized is None,
        now=scope.now,
    )


async def ensure_leaves(scope: Scope) -> None:
    """Have what components prove themselves with, renewed in time."""
    authorities, datastore, endpoint = scope.authorities, scope.datastore, scope.endpoint
    assert authorities and datastore and endpoint, "leaves have issuers and names"  # noqa: PT018
    files = await scope.runtime.files(scope.instance)
    scope.leaves = renewed_leaves(scope.settings, authorities, datastore, endpoint, scope.layout, files, now=scope.now)


def renewed_leaves(
    settings: Settings,
    authorities: ClusterAuthorities,
    datastore: Datastore,
    endpoint: Endpoint,
    layout: Layout | None,
    files: Mapping[str, bytes],
    *,
    now: datetime,
) -> Leaves:
    """The leaves of a control plane: those in its files that are still good, the others made anew."""
    signing = {Issuer.CLUSTER: authorities.cluster, Issuer.FRONT_PROXY: authorities.front_proxy}
    if etcd := datastore.authority or authorities.etcd:
        signing[Issuer.ETCD] = etcd
    found = {name.removeprefix(f"{FOLDER}/"): content for name, content in files.items()}
    return renew(desired_leaves(settings, endpoint, layout), signing, found, settings.issuance, now=now)


def desired_leaves(settings: Settings, endpoint: Endpoint, layout: Layout | None) -> tuple[Leaf, ...]:
    """The certificates that there shall be, under kubeadm's names. Without programs, nobody needs the others."""
    names = (*settings.names, endpoint.host, *((layout.bind_address, layout.advertise_address) if layout else ()))
    serving = _api_server("apiserver", settings, names)
    # Ours: it works before there are roles, and none can be taken from it.
    administrator = _client(ADMINISTRATOR, Issuer.CLUSTER, "kubernetes-super-admin", "system:masters")
    if layout is None:
        return serving, administrator
    return (
        serving,
        # For an API server that starts beside the other, to be told apart by.
        _api_server("apiserver-next", settings, names),
        administrator,
        _client("apiserver-kubelet-client", Issuer.CLUSTER, "kube-apiserver-kubelet-client"),
        _local("controller-manager", Issuer.CLUSTER, "system:kube-controller-manager"),
        _local("scheduler", Issuer.CLUSTER, "system:kube-scheduler"),
        _client("front-proxy-client", Issuer.FRONT_PROXY, "front-proxy-client"),
        _client("apiserver-etcd-client", Issuer.ETCD, "kube-apiserver-etcd-client"),
        *(etcd_leaves() if settings.datastore == "DedicatedEtcd" else ()),
    )


def desired_files(
    settings: Settings, authorities: ClusterAuthorities, datastore: Datastore, leaves: Leaves, layout: Layout | None
) -> dict[str, bytes]:
    """Everything that is written below a control plane's folder."""
    pki = {
        "ca.crt": authorities.cluster.cert_pem,
        "ca.key": authorities.cluster.key_pem,
        "front-proxy-ca.crt": authorities.front_proxy.cert_pem,
        "sa.pub": authorities.service_account.public_pem,
        "sa.key": authorities.service_account.key_pem,
        **leaves.files,
    }
    if etcd := datastore.authority or authorities.etcd:
        pki["etcd/ca.crt"] = etcd.cert_pem
    return {**{f"{FOLDER}/{name}": content for name, content in pki.items()}, **_kubeconfigs(settings, layout)}


def local_address(bind_address: str) -> str:
    """Where something that listens on an address is reached from the same machine."""
    address = ipaddress.ip_address(bind_address)
    if not address.is_unspecified:
        return bind_address
    return "127.0.0.1" if address.version == 4 else "::1"


def _api_server(name: str, settings: Settings, names: Iterable[str]) -> Leaf:
    service = "kubernetes.default.svc"
    dns_names = ["kubernetes", "kubernetes.default", service, f"{service}.{settings.network.domain}", *_LOCAL_NAMES]
    addresses = [settings.network.api_address, *_LOCAL_ADDRESSES]
    for given in names:
        (addresses if _is_address(given) else dns_names).append(given)
    return Leaf(
        name=name,
        issuer=Issuer.CLUSTER,
        common_name="kube-apiserver",
        dns_names=tuple(dict.fromkeys(dns_names)),
        ip_addresses=tuple(dict.fromkeys(addresses)),
        usages=(Usage.SERVER,),
    )


def etcd_leaves() -> tuple[Leaf, ...]:
    """The certificates of an etcd that serves its own machine."""
    return (
        _local("etcd/server", Issuer.ETCD, "etcd"),
        _local("etcd/peer", Issuer.ETCD, "etcd"),
        _client("etcd/healthcheck-client", Issuer.ETCD, "kube-etcd-healthcheck-client"),
    )


def _client(name: str, issuer: Issuer, user: str, *groups: str) -> Leaf:
    return Leaf(name=name, issuer=issuer, common_name=user, organizations=groups)


def _local(name: str, issuer: Issuer, user: str) -> Leaf:
    """For a component that serves on its machine only, and is a client too."""
    return Leaf(
        name=name,
        issuer=issuer,
        common_name=user,
        dns_names=_LOCAL_NAMES,
        ip_addresses=_LOCAL_ADDRESSES,
        usages=_BOTH,
    )


def _kubeconfigs(settings: Settings, layout: Layout | None) -> dict[str, bytes]:
    if layout is None:
        return {}
    server = Endpoint(local_address(layout.bind_address), layout.ports.apiserver).url
    return {
        f"{component}.conf": _kubeconfig(settings.cluster, layout.certificates, server, component)
        for component in ("controller-manager", "scheduler")
    }


@lru_cache(maxsize=1024)  # asked for in every reconcile, and to write YAML takes milliseconds
def _kubeconfig(cluster: str, certificates: PurePath, server: str, component: str) -> bytes:
    config = Kubeconfig.of(
        cluster,
        f"system:kube-{component}",
        Cluster(server=server, certificate_authority=str(certificates / "ca.crt")),
        User(
            client_certificate=str(certificates / f"{component}.crt"),
            client_key=str(certificates / f"{component}.key"),
        ),
    )
    return config.to_yaml().encode()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
