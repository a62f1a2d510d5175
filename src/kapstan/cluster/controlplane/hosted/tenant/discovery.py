"""Discovery: what somebody who wants to join may read before anybody knows who he is.

`cluster-info` says where the API server is and whom it is signed by. The controller manager signs it with every
bootstrap token, so that a joining node can tell that it is genuine.
"""

from __future__ import annotations

from kapstan.client import Kubeconfig
from kapstan.client.kubeconfig import Cluster
from kapstan.cluster.controlplane.hosted.tenant.rbac import NAMES, may, role, role_binding, user
from kapstan.k8s.core_v1 import ConfigMap
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource

__all__ = ("discovery_objects",)

_NAMESPACE = "kube-public"
_INFO = "cluster-info"


def discovery_objects(server: str, ca_pem: bytes) -> list[Resource]:
    """`server` is how nodes reach the API server."""
    info = Kubeconfig(clusters={"": Cluster(server=server, certificate_authority_data=ca_pem)})
    name = f"{NAMES}:bootstrap-signer-clusterinfo"
    return [
        ConfigMap(metadata=ObjectMeta(name=_INFO, namespace=_NAMESPACE), data={"kubeconfig": info.to_yaml()}),
        role(name, _NAMESPACE, may("get", "configmaps", names=(_INFO,))),
        role_binding(name, _NAMESPACE, user("system:anonymous")),
    ]
