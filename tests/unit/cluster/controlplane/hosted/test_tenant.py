"""What a new cluster holds: the objects that kubeadm looks for, and nothing that is not wanted."""

from __future__ import annotations

from typing import Any

import yaml
from tests.unit.cluster.controlplane.hosted.builders import ENDPOINT, some_settings

from kapstan.cluster.controlplane.hosted.settings import Settings
from kapstan.cluster.controlplane.hosted.tenant.coredns import coredns_image
from kapstan.cluster.controlplane.hosted.tenant.objects import (
    addon_objects,
    bootstrap_objects,
    unwanted_addon_objects,
)
from kapstan.machinery.pki import new_ca

CA = new_ca("kubernetes").cert_pem
Document = dict[str, Any]
Named = dict[tuple[str, str], Document]


def named(objects: list[Document]) -> Named:
    found = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
    assert len(found) == len(objects)
    return found


def bootstrap(settings: Settings | None = None) -> Named:
    return named(bootstrap_objects(settings or some_settings(), ENDPOINT, CA))


def test_everything_that_kubeadm_join_needs_is_there() -> None:
    assert set(bootstrap()) == {
        ("ConfigMap", "cluster-info"),
        ("Role", "kubeadm:bootstrap-signer-clusterinfo"),
        ("RoleBinding", "kubeadm:bootstrap-signer-clusterinfo"),
        ("ConfigMap", "kubeadm-config"),
        ("Role", "kubeadm:nodes-kubeadm-config"),
        ("RoleBinding", "kubeadm:nodes-kubeadm-config"),
        ("ConfigMap", "kubelet-config"),
        ("Role", "kubeadm:kubelet-config"),
        ("RoleBinding", "kubeadm:kubelet-config"),
        ("ClusterRole", "kubeadm:get-nodes"),
        ("ClusterRoleBinding", "kubeadm:get-nodes"),
        ("ClusterRoleBinding", "kubeadm:kubelet-bootstrap"),
        ("ClusterRoleBinding", "kubeadm:node-autoapprove-bootstrap"),
        ("ClusterRoleBinding", "kubeadm:node-autoapprove-certificate-rotation"),
        ("ClusterRoleBinding", "kubeadm:apiserver-kubelet-client"),
        ("ClusterRoleBinding", "kubeadm:cluster-admins"),
    }


def test_cluster_info_tells_where_and_whom_to_trust_and_no_more() -> None:
    info = yaml.safe_load(bootstrap()[("ConfigMap", "cluster-info")]["data"]["kubeconfig"])

    assert info["clusters"][0]["cluster"]["server"] == "https://a.example:6443"
    assert not info["users"]
    assert not info["contexts"]


def test_nodes_get_the_clusters_network_and_dns() -> None:
    network = {
        "services": {"cidrBlocks": ["10.5.0.0/16"]},
        "pods": {"cidrBlocks": ["10.6.0.0/16"]},
        "serviceDomain": "corp",
    }
    objects = bootstrap(some_settings(cluster={"clusterNetwork": network}))

    cluster = yaml.safe_load(objects[("ConfigMap", "kubeadm-config")]["data"]["ClusterConfiguration"])
    assert cluster["networking"] == {
        "dnsDomain": "corp",
        "serviceSubnet": "10.5.0.0/16",
        "podSubnet": "10.6.0.0/16",
    }
    kubelet = yaml.safe_load(objects[("ConfigMap", "kubelet-config")]["data"]["kubelet"])
    assert (kubelet["clusterDNS"], kubelet["clusterDomain"]) == (["10.5.0.10"], "corp")


def test_addons_are_deployed_if_wanted_and_taken_away_if_not() -> None:
    both = some_settings(addons={"coreDNS": {}, "kubeProxy": {}})
    none = some_settings(addons={})

    wanted = named(addon_objects(both, ENDPOINT))
    assert {("Deployment", "coredns"), ("Service", "kube-dns"), ("DaemonSet", "kube-proxy")} <= set(wanted)
    assert unwanted_addon_objects(both, ENDPOINT) == []
    assert addon_objects(none, ENDPOINT) == []
    assert set(named(unwanted_addon_objects(none, ENDPOINT))) == set(wanted)


def test_the_images_are_those_of_the_version_unless_others_are_named() -> None:
    def image(objects: Named, kind: str, name: str) -> str:
        return str(objects[(kind, name)]["spec"]["template"]["spec"]["containers"][0]["image"])

    usual = named(addon_objects(some_settings(addons={"coreDNS": {}, "kubeProxy": {}}), ENDPOINT))
    other = named(addon_objects(some_settings(addons={"coreDNS": {"image": "dns:1"}}), ENDPOINT))

    assert image(usual, "DaemonSet", "kube-proxy") == "registry.k8s.io/kube-proxy:v1.36.3"
    assert image(usual, "Deployment", "coredns") == "registry.k8s.io/coredns/coredns:v1.14.2"
    assert image(other, "Deployment", "coredns") == "dns:1"


def test_a_kubernetes_that_is_newer_than_we_know_gets_the_newest_dns() -> None:
    assert coredns_image("v1.99.0") == coredns_image("v1.36.0")
    assert coredns_image("v1.35.0") != coredns_image("v1.36.0")


def test_the_service_of_the_dns_has_the_address_that_kubelets_are_told() -> None:
    settings = some_settings(addons={"coreDNS": {}})

    service = named(addon_objects(settings, ENDPOINT))[("Service", "kube-dns")]

    assert service["spec"]["clusterIP"] == settings.network.dns_address
