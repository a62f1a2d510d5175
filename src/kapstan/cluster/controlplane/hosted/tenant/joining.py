"""Joining: what `kubeadm join` reads, and what a node may do on its way to its own certificate."""

from __future__ import annotations

from typing import Any

from kapstan.cluster.controlplane.hosted.settings import Endpoint, Settings
from kapstan.cluster.controlplane.hosted.tenant.rbac import (
    NAMES,
    cluster_role,
    cluster_role_binding,
    group,
    may,
    role,
    role_binding,
    user,
)
from kapstan.k8s.core_v1 import ConfigMap
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource

__all__ = ("cluster_configuration", "joining_objects", "kubelet_configuration")

_NAMESPACE = "kube-system"
_TOKENS = group("system:bootstrappers:kubeadm:default-node-token")
_NODES = group("system:nodes")
_PKI = "/etc/kubernetes/pki"
_REQUESTS = "system:certificates.k8s.io:certificatesigningrequests"


def joining_objects(settings: Settings, endpoint: Endpoint) -> list[Resource]:
    return [*_kubeadm(settings, endpoint), *_kubelet(settings), *_tls_bootstrap(), *_administration()]


def cluster_configuration(settings: Settings, endpoint: Endpoint) -> dict[str, Any]:
    """What kubeadm believes that it made. The etcd is none that it may touch."""
    network = {
        "dnsDomain": settings.network.domain,
        "serviceSubnet": ",".join(settings.network.services),
        **({"podSubnet": ",".join(settings.network.pods)} if settings.network.pods else {}),
    }
    return {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "clusterName": settings.cluster,
        "kubernetesVersion": settings.version,
        "controlPlaneEndpoint": str(endpoint),
        "certificatesDir": _PKI,
        "encryptionAlgorithm": str(settings.issuance.algorithm),
        "imageRepository": "registry.k8s.io",
        "networking": network,
        "apiServer": {},
        "controllerManager": {},
        "scheduler": {},
        "dns": {} if settings.addons.core_dns else {"disabled": True},
        "proxy": {} if settings.addons.kube_proxy else {"disabled": True},
        "etcd": {"external": {"endpoints": ["https://127.0.0.1:2379"], "caFile": "", "certFile": "", "keyFile": ""}},
    }


def kubelet_configuration(settings: Settings) -> dict[str, Any]:
    """What every kubelet starts from; kubeadm's choices."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{_PKI}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "systemd",
        "clusterDNS": [settings.network.dns_address],
        "clusterDomain": settings.network.domain,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "rotateCertificates": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }


def _kubeadm(settings: Settings, endpoint: Endpoint) -> list[Resource]:
    configuration = to_yaml(cluster_configuration(settings, endpoint))
    name = f"{NAMES}:nodes-kubeadm-config"
    return [
        _config_map("kubeadm-config", {"ClusterConfiguration": configuration}),
        role(name, _NAMESPACE, may("get", "configmaps", names=("kubeadm-config",))),
        role_binding(name, _NAMESPACE, _TOKENS, _NODES),
    ]


def _kubelet(settings: Settings) -> list[Resource]:
    name = f"{NAMES}:kubelet-config"
    return [
        _config_map("kubelet-config", {"kubelet": to_yaml(kubelet_configuration(settings))}),
        role(name, _NAMESPACE, may("get", "configmaps", names=("kubelet-config",))),
        role_binding(name, _NAMESPACE, _NODES, _TOKENS),
    ]


def _tls_bootstrap() -> list[Resource]:
    """A token asks for a node's certificate and is believed; a node asks for its next one and is believed."""
    nodes = f"{NAMES}:get-nodes"
    return [
        cluster_role(nodes, may("get", "nodes")),
        cluster_role_binding(nodes, nodes, _TOKENS),
        cluster_role_binding(f"{NAMES}:kubelet-bootstrap", "system:node-bootstrapper", _TOKENS),
        cluster_role_binding(f"{NAMES}:node-autoapprove-bootstrap", f"{_REQUESTS}:nodeclient", _TOKENS),
        cluster_role_binding(f"{NAMES}:node-autoapprove-certificate-rotation", f"{_REQUESTS}:selfnodeclient", _NODES),
    ]


def _administration() -> list[Resource]:
    """The API server may ask kubelets for logs; administrators are a group that can be taken its rights."""
    kubelet_client, admins = user("kube-apiserver-kubelet-client"), f"{NAMES}:cluster-admins"
    return [
        cluster_role_binding(f"{NAMES}:apiserver-kubelet-client", "system:kubelet-api-admin", kubelet_client),
        cluster_role_binding(admins, "cluster-admin", group(admins)),
    ]


def _config_map(name: str, data: dict[str, str]) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=_NAMESPACE), data=data)
