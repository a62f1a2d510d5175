"""What components prove themselves with, and which of it is written where."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import yaml
from tests.unit.cluster.controlplane.hosted.builders import DATASTORE, ENDPOINT, LAYOUT, NOW, some_settings

from kapstan.cluster.controlplane.hosted.certificates import (
    desired_files,
    desired_leaves,
    local_address,
    renewed_leaves,
)
from kapstan.cluster.controlplane.hosted.runtime.interface import Datastore
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.machinery.pki import is_signed_by, new_ca, new_signing_key

OWN = ClusterAuthorities(
    cluster=new_ca("kubernetes", now=NOW),
    front_proxy=new_ca("front-proxy-ca", now=NOW),
    service_account=new_signing_key(),
    etcd=new_ca("etcd-ca", now=NOW),
)


def files(store: Datastore = DATASTORE, authorities: ClusterAuthorities = OWN, **spec: Any) -> dict[str, bytes]:
    settings = some_settings(**spec)
    leaves = renewed_leaves(settings, authorities, store, ENDPOINT, LAYOUT, {}, now=NOW)
    return desired_files(settings, authorities, store, leaves, LAYOUT)


def test_the_api_server_is_known_by_all_of_its_names() -> None:
    settings = some_settings(apiServer={"certSANs": ["b.example", "10.0.0.1"]})
    server = desired_leaves(settings, ENDPOINT, replace(LAYOUT, advertise_address="192.0.2.1"))[0]

    assert set(server.dns_names) == {
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
        "a.example",
        "b.example",
    }
    assert set(server.ip_addresses) == {"10.96.0.1", "127.0.0.1", "::1", "10.0.0.1", "192.0.2.1"}


def test_files_have_kubeadms_names() -> None:
    assert set(files()) == {
        f"pki/{name}"
        for name in (
            "ca.crt",
            "ca.key",
            "front-proxy-ca.crt",
            "etcd/ca.crt",
            "sa.pub",
            "sa.key",
            *(f"{leaf}.{part}" for leaf in LEAVES for part in ("crt", "key")),
        )
    } | {"controller-manager.conf", "scheduler.conf"}


LEAVES = (
    "apiserver",
    "apiserver-etcd-client",
    "apiserver-kubelet-client",
    "apiserver-next",
    "controller-manager",
    "etcd/healthcheck-client",
    "etcd/peer",
    "etcd/server",
    "front-proxy-client",
    "scheduler",
    "super-admin",
)


def test_keys_that_no_component_needs_are_not_on_disk() -> None:
    assert not {"pki/etcd/ca.key", "pki/front-proxy-ca.key"} & set(files())


def test_with_a_shared_etcd_its_authority_signs_the_client_and_nothing_of_it_is_left_here() -> None:
    shared = Datastore(servers=("https://127.0.0.1:1",), prefix="/a", authority=new_ca("shared", now=NOW))
    written = files(shared, replace(OWN, etcd=None), datastore={"type": "SharedEtcd"})

    assert shared.authority is not None
    assert written["pki/etcd/ca.crt"] == shared.authority.cert_pem
    assert is_signed_by(written["pki/apiserver-etcd-client.crt"], shared.authority.cert_pem)
    assert not any(name.startswith("pki/etcd/") and name != "pki/etcd/ca.crt" for name in written)


def test_kubeconfigs_name_files_so_that_renewal_needs_no_restart() -> None:
    config = yaml.safe_load(files()["scheduler.conf"])

    assert config["users"][0]["user"] == {
        "client-certificate": "/data/pki/scheduler.crt",
        "client-key": "/data/pki/scheduler.key",
    }
    assert config["clusters"][0]["cluster"] == {
        "certificate-authority": "/data/pki/ca.crt",
        "server": "https://127.0.0.1:6443",
    }


def test_renewal_changes_leaves_and_nothing_else() -> None:
    settings = some_settings()
    before = files()
    later = NOW + timedelta(days=330)
    leaves = renewed_leaves(settings, OWN, DATASTORE, ENDPOINT, LAYOUT, before, now=later)
    after = desired_files(settings, OWN, DATASTORE, leaves, LAYOUT)

    assert set(leaves.renewed) == set(LEAVES)
    kept = {name for name in before if before[name] == after[name]}
    assert kept == {name for name in before if name.removeprefix("pki/").rpartition(".")[0] not in LEAVES} | {
        "controller-manager.conf",
        "scheduler.conf",
    }


def test_files_that_are_good_are_kept() -> None:
    settings, before = some_settings(), files()
    leaves = renewed_leaves(settings, OWN, DATASTORE, ENDPOINT, LAYOUT, before, now=NOW)

    assert leaves.renewed == {}
    assert desired_files(settings, OWN, DATASTORE, leaves, LAYOUT) == before


@pytest.mark.parametrize(
    ("bound", "local"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.0.0.1", "10.0.0.1")]
)
def test_what_listens_everywhere_is_reached_locally(bound: str, local: str) -> None:
    assert local_address(bound) == local
