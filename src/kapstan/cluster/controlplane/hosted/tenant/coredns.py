"""CoreDNS: names of services inside the cluster, as kubeadm would deploy it."""

from __future__ import annotations

from typing import Any

from kapstan.cluster.controlplane.hosted.settings import Settings
from kapstan.cluster.controlplane.hosted.tenant.rbac import account, cluster_role, cluster_role_binding, may
from kapstan.cluster.controlplane.hosted.version import KubernetesVersion
from kapstan.machinery.codec import to_builtins

__all__ = ("coredns_image", "coredns_objects")

Document = dict[str, Any]

_NAMESPACE = "kube-system"
_LABELS = {"k8s-app": "kube-dns"}
# Which release goes with which minor version of Kubernetes; newer ones take the last.
_RELEASES = {34: "v1.12.1", 35: "v1.13.1", 36: "v1.14.2"}
_REPLICAS = 2


def coredns_objects(settings: Settings) -> list[Document]:
    """The Deployment comes with the number of its replicas, which is only ever set when it is made."""
    name = "system:coredns"
    rules = (
        may("list watch", "endpoints", "services", "pods", "namespaces"),
        may("list watch", "endpointslices", group="discovery.k8s.io"),
    )
    return [
        _object("v1", "ServiceAccount", "coredns"),
        _object("v1", "ConfigMap", "coredns", data={"Corefile": _corefile(settings.network.domain)}),
        to_builtins(cluster_role(name, *rules)),
        to_builtins(cluster_role_binding(name, name, account("coredns", _NAMESPACE))),
        _deployment(_image(settings)),
        _service(settings.network.dns_address),
    ]


def coredns_image(version: str) -> str:
    minor = KubernetesVersion.parse(version).minor
    release = _RELEASES.get(minor) or _RELEASES[max(_RELEASES)]
    return f"registry.k8s.io/coredns/coredns:{release}"


def _image(settings: Settings) -> str:
    addon = settings.addons.core_dns
    return (addon.image if addon else None) or coredns_image(settings.version)


def _corefile(domain: str) -> str:
    """Answers about the cluster are not cached: a Service that moves is found at its new place at once."""
    kubernetes = [
        "    pods insecure",
        "    fallthrough in-addr.arpa ip6.arpa",
        "    ttl 30",
    ]
    plugins = [
        "errors",
        "health {",
        "    lameduck 5s",
        "}",
        "ready",
        f"kubernetes {domain} in-addr.arpa ip6.arpa {{",
        *kubernetes,
        "}",
        "prometheus :9153",
        "forward . /etc/resolv.conf {",
        "    max_concurrent 1000",
        "}",
        "cache 30 {",
        f"    disable success {domain}",
        f"    disable denial {domain}",
        "}",
        "loop",
        "reload",
        "loadbalance",
    ]
    return "\n".join([".:53 {", *(f"    {line}" for line in plugins), "}", ""])


def _deployment(image: str) -> Document:
    return _object(
        "apps/v1",
        "Deployment",
        "coredns",
        labels=_LABELS,
        spec={
            "replicas": _REPLICAS,
            "selector": {"matchLabels": _LABELS},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {"metadata": {"labels": _LABELS}, "spec": _pod(image)},
        },
    )


def _pod(image: str) -> Document:
    apart = {
        "labelSelector": {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
        ],
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
            }
        },
        "containers": [_container(image)],
        "volumes": [
            {"name": "config", "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}}
        ],
    }


def _container(image: str) -> Document:
    ports = (("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP"), ("health", 8080, "TCP"))
    return {
        "name": "coredns",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "ports": [
            {"name": name, "containerPort": number, "protocol": protocol}
            for name, number, protocol in (*ports, ("ready", 8181, "TCP"))
        ],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": "health", "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "failureThreshold": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "ready", "scheme": "HTTP"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
    }


def _service(address: str) -> Document:
    ports = (("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP"))
    return _object(
        "v1",
        "Service",
        "kube-dns",
        labels={**_LABELS, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
        annotations={"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
        spec={
            "clusterIP": address,
            "selector": _LABELS,
            "ports": [
                {"name": name, "port": number, "protocol": protocol, "targetPort": number}
                for name, number, protocol in ports
            ],
        },
    )


def _object(api_version: str, kind: str, name: str, **parts: Any) -> Document:
    metadata = {key: parts.pop(key) for key in ("labels", "annotations") if key in parts}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": _NAMESPACE, **metadata},
        **parts,
    }
