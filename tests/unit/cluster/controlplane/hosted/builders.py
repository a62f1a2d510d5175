"""Control planes to try things with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from kapstan.cluster.api.controlplane.hosted import HostedControlPlane, HostedControlPlaneSpec
from kapstan.cluster.api.core.cluster import Cluster, ClusterSpec
from kapstan.cluster.controlplane.hosted.runtime.interface import Datastore, Layout, Ports
from kapstan.cluster.controlplane.hosted.settings import Endpoint, Settings, settings_of
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.machinery.codec import convert
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.pki import new_ca, new_signing_key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AUTHORITIES = ClusterAuthorities(
    cluster=new_ca("kubernetes", now=NOW),
    front_proxy=new_ca("front-proxy-ca", now=NOW),
    service_account=new_signing_key(),
    etcd=new_ca("etcd-ca", now=NOW),
)
UID = "0f1e2d3c-0000-4000-8000-000000000001"
ENDPOINT = Endpoint("a.example", 6443)
DATASTORE = Datastore(servers=("https://127.0.0.1:2379",), prefix="/registry")
LAYOUT = Layout(
    certificates=PurePosixPath("/data/pki"),
    kubeconfigs=PurePosixPath("/data"),
    data=PurePosixPath("/data/etcd"),
    bind_address="127.0.0.1",
    advertise_address="127.0.0.1",
    ports=Ports(2379, 2380, 6443, 10257, 10259),
)


def a_control_plane(**spec: Any) -> HostedControlPlane:
    """With these fields of its spec, as they are written in YAML."""
    return HostedControlPlane(
        metadata=ObjectMeta(name="c1-hosted", namespace="default", uid=UID),
        spec=convert({"version": "v1.36.3", **spec}, HostedControlPlaneSpec),
    )


def a_cluster(**spec: Any) -> Cluster:
    return Cluster(metadata=ObjectMeta(name="c1", namespace="default"), spec=convert(spec, ClusterSpec))


def some_settings(*, cluster: dict[str, Any] | None = None, **spec: Any) -> Settings:
    return settings_of(a_control_plane(**spec), a_cluster(**(cluster or {})), now=NOW)
