"""kube-proxy: addresses of services on every node, as kubeadm would deploy it."""

from __future__ import annotations

from typing import Any

from kapstan.client import Kubeconfig
from kapstan.client.kubeconfig import Cluster, Context, User
from kapstan.cluster.controlplane.hosted.settings import Endpoint, Settings
from kapstan.cluster.controlplane.hosted.tenant.rbac import (
    NAMES,
    account,
    cluster_role_binding,
    group,
    may,
    role,
    role_binding,
)
from kapstan.machinery.codec import to_builtins, to_yaml

__all__ = ("kube_proxy_objects",)

Document = dict[str, Any]

_NAMESPACE = "kube-system"
_NAME = "kube-proxy"
_LABELS = {"k8s-app": _NAME}
_CONFIG = "/var/lib/kube-proxy"
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def kube_proxy_objects(settings: Settings, endpoint: Endpoint) -> list[Document]:
    """It cannot find the API server through a Service: it is what makes Services work."""
    tokens = group("system:bootstrappers:kubeadm:default-node-token")
    binding = cluster_role_binding(f"{NAMES}:node-proxier", "system:node-proxier", account(_NAME, _NAMESPACE))
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata()},
        to_builtins(binding),
        to_builtins(role(_NAME, _NAMESPACE, may("get", "configmaps", names=(_NAME,)))),
        to_builtins(role_binding(_NAME, _NAMESPACE, tokens)),
        _config_map(settings, endpoint),
        _daemon_set(_image(settings)),
    ]


def _image(settings: Settings) -> str:
    addon = settings.addons.kube_proxy
    return (addon.image if addon else None) or f"registry.k8s.io/kube-proxy:{settings.version}"


def _config_map(settings: Settings, endpoint: Endpoint) -> Document:
    kubeconfig = Kubeconfig(
        clusters={"default": Cluster(server=endpoint.url, certificate_authority=f"{_ACCOUNT}/ca.crt")},
        users={"default": User(token_file=f"{_ACCOUNT}/token")},
        contexts={"default": Context(cluster="default", user="default", namespace="default")},
        current_context="default",
    )
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": "::" if ":" in settings.network.services[0] else "0.0.0.0",  # noqa: S104 - of a node
        "clientConnection": {"kubeconfig": f"{_CONFIG}/kubeconfig.conf"},
        "clusterCIDR": ",".join(settings.network.pods),
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(labels={"app": _NAME}),
        "data": {"kubeconfig.conf": kubeconfig.to_yaml(), "config.conf": to_yaml(configuration)},
    }


def _daemon_set(image: str) -> Document:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _metadata(labels=_LABELS),
        "spec": {
            "selector": {"matchLabels": _LABELS},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": _LABELS}, "spec": _pod(image)},
        },
    }


def _pod(image: str) -> Document:
    return {
        "serviceAccountName": _NAME,
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [_container(image)],
        "volumes": [
            {"name": "config", "configMap": {"name": _NAME}},
            {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
            {"name": "lib-modules", "hostPath": {"path": "/lib/modules"}},
        ],
    }


def _container(image: str) -> Document:
    return {
        "name": _NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [
            "/usr/local/bin/kube-proxy",
            f"--config={_CONFIG}/config.conf",
            "--hostname-override=$(NODE_NAME)",
        ],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {"privileged": True},
        "volumeMounts": [
            {"name": "config", "mountPath": _CONFIG},
            {"name": "xtables-lock", "mountPath": "/run/xtables.lock"},
            {"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": True},
        ],
    }


def _metadata(**parts: Any) -> Document:
    return {"name": _NAME, "namespace": _NAMESPACE, **parts}
