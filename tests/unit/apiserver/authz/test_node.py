"""What a kubelet may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kapstan.apiserver.authz.authorizer import ClusterAuthorizer
from kapstan.apiserver.authz.podrefs import Reference, pod_references
from kapstan.apiserver.request import Attributes, UserInfo

if TYPE_CHECKING:
    from tests.unit.apiserver.conftest import Objects

NODE = UserInfo("system:node:n1", groups=("system:nodes", "system:authenticated"))
POD_SPEC: dict[str, Any] = {
    "nodeName": "n1",
    "serviceAccountName": "robot",
    "imagePullSecrets": [{"name": "pull"}],
    "containers": [
        {
            "name": "c",
            "envFrom": [{"secretRef": {"name": "env-secret"}}, {"configMapRef": {"name": "env-map"}}],
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "key-secret", "key": "k"}}},
                {"name": "B", "value": "b"},
            ],
        }
    ],
    "initContainers": [{"name": "i", "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "key-map"}}}]}],
    "volumes": [
        {"name": "v1", "secret": {"secretName": "vol-secret"}},
        {"name": "v2", "configMap": {"name": "vol-map"}},
        {"name": "v3", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "v4", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "v5", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi-secret"}}},
        {"name": "v6", "projected": {"sources": [{"secret": {"name": "p-secret"}}, {"configMap": {"name": "p-map"}}]}},
        {"name": "v7", "emptyDir": {}},
    ],
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-claim"}],
}


def ask(verb: str, what: str, where: str = "", **more: str) -> Attributes:
    """`what` is group/resource[/subresource], `where` is [namespace/]name, a namespace ends with a slash."""
    group, resource, *subresource = what.split("/")
    namespace, _, name = where.rpartition("/")
    return Attributes(
        user=NODE,
        verb=verb,
        group=group,
        resource=resource,
        subresource="/".join(subresource),
        namespace=namespace,
        name=name,
        **more,
    )


def test_a_pod_refers_to_all_that_it_names() -> None:
    found = set(pod_references({"metadata": {"name": "p", "namespace": "ns"}, "spec": POD_SPEC}))
    expected = {
        "pods": {"p"},
        "serviceaccounts": {"robot"},
        "secrets": {"pull", "env-secret", "key-secret", "vol-secret", "csi-secret", "p-secret"},
        "configmaps": {"env-map", "key-map", "vol-map", "p-map"},
        "persistentvolumeclaims": {"claim", "p-v4"},
        "resourceclaims": {"gpu-claim"},
    }
    assert found == {Reference(resource, "ns", name) for resource, names in expected.items() for name in names}


def test_a_mirror_pod_refers_to_nothing_else() -> None:
    """A kubelet writes mirror pods itself: it must not gain rights by what it writes there."""
    metadata = {"name": "p", "namespace": "ns", "annotations": {"kubernetes.io/config.mirror": "x"}}
    assert set(pod_references({"metadata": metadata, "spec": POD_SPEC})) == {Reference("pods", "ns", "p")}


async def test_rights_follow_the_pods(objects: Objects) -> None:
    authorizer = ClusterAuthorizer(objects.storage)
    secret, token = ask("get", "/secrets", "ns/vol-secret"), ask("create", "/serviceaccounts/token", "ns/robot")
    unrelated = "no relationship found between node 'n1' and this object"
    assert authorizer.authorize(secret).reason == unrelated
    await objects.put("v1", "Pod", "p", "ns", spec=POD_SPEC)
    assert authorizer.authorize(secret).allowed
    assert authorizer.authorize(token).allowed
    assert not authorizer.authorize(ask("get", "/secrets", "other/vol-secret")).allowed
    await objects.put("v1", "Pod", "p", "ns", spec={**POD_SPEC, "volumes": []})
    assert not authorizer.authorize(secret).allowed
    assert authorizer.authorize(token).allowed
    await objects.delete("v1", "Pod", "p", "ns")
    assert authorizer.authorize(token).reason == unrelated


async def test_volumes_are_reached_through_claims_and_attachments(objects: Objects) -> None:
    await objects.put("v1", "Pod", "p", "ns", spec=POD_SPEC)
    await objects.put("v1", "PersistentVolume", "pv", spec={"claimRef": {"namespace": "ns", "name": "claim"}})
    await objects.put("v1", "PersistentVolume", "free", spec={})
    await objects.put("storage.k8s.io/v1", "VolumeAttachment", "mine", spec={"nodeName": "n1"})
    await objects.put("storage.k8s.io/v1", "VolumeAttachment", "other", spec={"nodeName": "n2"})
    authorizer = ClusterAuthorizer(objects.storage)
    assert authorizer.authorize(ask("get", "/persistentvolumes", "pv")).allowed
    assert not authorizer.authorize(ask("get", "/persistentvolumes", "free")).allowed
    assert authorizer.authorize(ask("get", "storage.k8s.io/volumeattachments", "mine")).allowed
    assert not authorizer.authorize(ask("get", "storage.k8s.io/volumeattachments", "other")).allowed


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        (ask("get", "/nodes", "n1"), None),
        (ask("list", "/nodes", "n1"), None),
        (ask("list", "/nodes"), "node 'n1' cannot read all nodes, only its own Node object"),
        (ask("get", "/nodes", "n2"), "node 'n1' cannot read 'n2', only its own Node object"),
        (ask("create", "/nodes"), None),
        (ask("patch", "/nodes/status", "n1"), None),
        (ask("delete", "/nodes", "n1"), ""),
        (ask("list", "/pods", field_selector="spec.nodeName=n1"), None),
        (ask("list", "/pods"), "can only list/watch pods with spec.nodeName field selector"),
        (
            ask("list", "/pods", field_selector="spec.nodeName!=n1"),
            "can only list/watch pods with spec.nodeName field selector",
        ),
        (ask("create", "/pods", "ns/"), None),
        (ask("patch", "/pods/status", "ns/p"), None),
        (ask("update", "/pods", "ns/p"), ""),
        (ask("update", "coordination.k8s.io/leases", "kube-node-lease/n1"), None),
        (
            ask("update", "coordination.k8s.io/leases", "kube-node-lease/n2"),
            "can only access node lease with the same name as the requesting node",
        ),
        (
            ask("get", "coordination.k8s.io/leases", "kube-system/n1"),
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (ask("list", "/secrets", "ns/"), "No Object name found"),
        (ask("list", "/secrets"), "can only read namespaced object of this type"),
        (ask("update", "/secrets", "ns/x"), "can only read resources of this type"),
        (ask("list", "/persistentvolumeclaims", "ns/"), "can only get individual resources of this type"),
        (ask("list", "/services"), None),
        (ask("create", "certificates.k8s.io/certificatesigningrequests"), None),
        (ask("create", "/events", "ns/"), None),
    ],
)
async def test_decisions(objects: Objects, attributes: Attributes, reason: str | None) -> None:
    """None: allowed. Otherwise why not, in Kubernetes' words."""
    decision = ClusterAuthorizer(objects.storage).authorize(attributes)
    assert decision.allowed is (reason is None)
    assert decision.reason == (reason or "")


async def test_the_group_makes_the_node(objects: Objects) -> None:
    authorizer = ClusterAuthorizer(objects.storage)
    for user in (UserInfo("system:node:n1"), UserInfo("n1", groups=("system:nodes",))):
        assert not authorizer.authorize(Attributes(user=user, verb="list", resource="services")).allowed
    assert authorizer.rules_for(NODE, "ns") == ([], "node authorizer does not support user rule resolution", True)


async def test_masters_may_do_everything(objects: Objects) -> None:
    root = UserInfo("root", groups=("system:masters",))
    authorizer = ClusterAuthorizer(objects.storage)
    assert authorizer.authorize(Attributes(user=root, verb="delete", resource="nodes", name="n1")).allowed
    assert authorizer.authorize(Attributes(user=root, verb="get", path="/metrics")).allowed
