"""The plugins that kube-apiserver has on by default."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kapstan.apiserver.admission.serviceaccount import ServiceAccountAdmission
from kapstan.apiserver.request import UserInfo
from kapstan.machinery.errors import Forbidden, NotFound
from kapstan.machinery.pki import new_ca

if TYPE_CHECKING:
    from tests.unit.apiserver.admission.conftest import Cluster

Object = dict[str, Any]
CONTAINERS = [{"name": "c", "image": "i"}]
ACCESS = "/var/run/secrets/kubernetes.io/serviceaccount"


async def pod(cluster: Cluster, name: str = "p", namespace: str = "default", **content: Any) -> Object:
    spec = {"containers": CONTAINERS, **content.pop("spec", {})}
    return await cluster.create("v1", "Pod", name, namespace, spec=spec, **content)


# --- Namespaces ---


async def test_a_namespace_must_be_there(cluster: Cluster) -> None:
    with pytest.raises(NotFound) as caught:
        await cluster.create("v1", "ConfigMap", "c", "missing")
    assert str(caught.value) == 'namespaces "missing" not found'
    assert caught.value.status.details is not None
    assert (caught.value.status.details.kind, caught.value.status.details.name) == ("namespaces", "missing")


async def test_a_terminating_namespace_takes_nothing_new(cluster: Cluster) -> None:
    await cluster.create("v1", "Namespace", "going")
    await cluster.create("v1", "ConfigMap", "old", "going")
    await cluster.api.delete(cluster.kind("v1", "Namespace"), "going")
    with pytest.raises(Forbidden) as caught:
        await cluster.create("v1", "ConfigMap", "c", "going")
    assert str(caught.value) == (
        'configmaps "c" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    cause = caught.value.causes[0]
    assert (cause.reason, cause.message, cause.field) == (
        "NamespaceTerminating",
        "namespace going is being terminated",
        "metadata.namespace",
    )
    await cluster.api.patch(cluster.kind("v1", "ConfigMap"), "old", "going", {"data": {"still": "changes"}})


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(cluster: Cluster, name: str) -> None:
    with pytest.raises(Forbidden) as caught:
        await cluster.api.delete(cluster.kind("v1", "Namespace"), name)
    assert str(caught.value) == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


# --- Service accounts ---


async def test_a_pod_runs_as_default_and_finds_its_token(cluster: Cluster) -> None:
    spec = (await pod(cluster))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    volume = spec["volumes"][0]
    assert volume["name"].startswith("kube-api-access-")
    assert [sorted(source) for source in volume["projected"]["sources"]] == [
        ["serviceAccountToken"],
        ["configMap"],
        ["downwardAPI"],
    ]
    assert spec["containers"][0]["volumeMounts"] == [{"name": volume["name"], "readOnly": True, "mountPath": ACCESS}]


@pytest.mark.parametrize(
    ("account", "in_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False), (None, False, False)],
)
async def test_the_pod_decides_about_the_token_before_the_account(
    cluster: Cluster, account: bool | None, in_pod: bool | None, mounted: bool
) -> None:
    wish = {} if account is None else {"automountServiceAccountToken": account}
    await cluster.create("v1", "ServiceAccount", "robot", "default", **wish)
    spec = {"serviceAccountName": "robot", **({} if in_pod is None else {"automountServiceAccountToken": in_pod})}
    assert ("volumes" in (await pod(cluster, spec=spec))["spec"]) is mounted


async def test_what_is_mounted_there_already_stays(cluster: Cluster) -> None:
    own = {"name": "own", "mountPath": ACCESS}
    containers = [{"name": "a", "image": "i", "volumeMounts": [own]}, {"name": "b", "image": "i"}]
    spec = (await pod(cluster, spec={"containers": containers, "volumes": [{"name": "own", "emptyDir": {}}]}))["spec"]
    assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == ["own"]
    assert len(spec["containers"][1]["volumeMounts"]) == 1
    assert len(spec["volumes"]) == 2


async def test_a_token_volume_of_ones_own_is_used(cluster: Cluster) -> None:
    volume = {"name": "kube-api-access-mine", "emptyDir": {}}
    spec = (await pod(cluster, spec={"volumes": [volume]}))["spec"]
    assert [one["name"] for one in spec["volumes"]] == ["kube-api-access-mine"]
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-mine"


async def test_pull_secrets_come_from_the_account(cluster: Cluster) -> None:
    await cluster.create("v1", "ServiceAccount", "robot", "default", imagePullSecrets=[{"name": "registry"}])
    found = await pod(cluster, spec={"serviceAccountName": "robot"})
    assert found["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    own = await pod(cluster, "q", spec={"serviceAccountName": "robot", "imagePullSecrets": [{"name": "mine"}]})
    assert own["spec"]["imagePullSecrets"] == [{"name": "mine"}]


async def test_an_unknown_account_is_refused(cluster: Cluster) -> None:
    with pytest.raises(Forbidden) as caught:
        await pod(cluster, spec={"serviceAccountName": "nobody"})
    missing = 'error looking up service account default/nobody: serviceaccount "nobody" not found'
    assert str(caught.value) == f'pods "p" is forbidden: {missing}'


async def test_a_new_namespaces_account_is_waited_for(cluster: Cluster) -> None:
    """It is made by a controller, a moment after the namespace."""
    await cluster.create("v1", "Namespace", "new")
    async with asyncio.TaskGroup() as group:
        creating = group.create_task(pod(cluster, namespace="new"))
        await asyncio.sleep(0)
        await cluster.create("v1", "ServiceAccount", "default", "new")
    assert creating.result()["spec"]["serviceAccountName"] == "default"


async def test_patience_ends(cluster: Cluster) -> None:
    impatient = ServiceAccountAdmission(cluster.logical.storage, patience=0.01)
    plugins = cluster.admission.plugins
    cluster.admission.plugins = tuple(
        impatient if isinstance(plugin, ServiceAccountAdmission) else plugin for plugin in plugins
    )
    await cluster.create("v1", "Namespace", "new")
    with pytest.raises(Forbidden, match='serviceaccount "default" not found'):
        await pod(cluster, namespace="new")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_a_mirror_pod_gets_nothing(cluster: Cluster, spec: Object, why: str) -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    with pytest.raises(Forbidden, match=why):
        await pod(cluster, metadata=mirror, spec=spec)
    plain = (await pod(cluster, metadata=mirror, spec={"nodeName": "n"}))["spec"]
    assert "serviceAccountName" not in plain
    assert "volumes" not in plain


# --- Tolerations, priorities ---


async def test_pods_tolerate_a_failing_node_for_five_minutes(cluster: Cluster) -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    tolerations = (await pod(cluster, spec={"tolerations": [own]}))["spec"]["tolerations"]
    assert tolerations[0] == own
    assert [one["key"] for one in tolerations[1:]] == ["node.kubernetes.io/unreachable"]
    everything = {"operator": "Exists"}
    assert (await pod(cluster, "q", spec={"tolerations": [everything]}))["spec"]["tolerations"] == [everything]


async def test_priority_comes_from_the_class(cluster: Cluster) -> None:
    spec = (await pod(cluster))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    group = "scheduling.k8s.io/v1"
    await cluster.create(group, "PriorityClass", "high", value=1000, preemptionPolicy="Never")
    spec = (await pod(cluster, "q", spec={"priorityClassName": "high"}))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    await cluster.create(group, "PriorityClass", "usual", value=10, globalDefault=True, preemptionPolicy="Never")
    spec = (await pod(cluster, "r"))["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (10, "usual")
    with pytest.raises(
        Forbidden, match=r"PriorityClass usual is already marked as default. Only one default can exist"
    ):
        await cluster.create(group, "PriorityClass", "other", value=1, globalDefault=True)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "nothing"}, "no PriorityClass with name nothing was found"),
        (
            {"priority": 5},
            r"the integer value of priority \(5\) must not be provided in pod spec; priority admission controller "
            r"computed 0 from the given PriorityClass name",
        ),
        ({"preemptionPolicy": "Never"}, r"the string value of PreemptionPolicy \(Never\) must not be provided"),
    ],
)
async def test_priority_is_not_the_pods_to_choose(cluster: Cluster, spec: Object, why: str) -> None:
    with pytest.raises(Forbidden, match=rf'^pods "p" is forbidden: {why}'):
        await pod(cluster, spec=spec)


# --- Defaults ---


async def test_a_new_node_is_not_ready(cluster: Cluster) -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert (await cluster.create("v1", "Node", "n"))["spec"]["taints"] == [taint]
    assert (await cluster.create("v1", "Node", "m", spec={"taints": [taint]}))["spec"]["taints"] == [taint]


async def test_claims_get_the_default_storage_class(cluster: Cluster) -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    await cluster.create("storage.k8s.io/v1", "StorageClass", "fast", metadata=default, provisioner="x")
    await cluster.create("storage.k8s.io/v1", "StorageClass", "slow", provisioner="x")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    found = await cluster.create("v1", "PersistentVolumeClaim", "a", "default", spec=claim)
    assert found["spec"]["storageClassName"] == "fast"
    found = await cluster.create("v1", "PersistentVolumeClaim", "b", "default", spec={**claim, "storageClassName": ""})
    assert found["spec"]["storageClassName"] == ""


async def test_ingresses_get_the_default_class(cluster: Cluster) -> None:
    default = {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    await cluster.create("networking.k8s.io/v1", "IngressClass", "web", metadata=default, spec={"controller": "x/y"})
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    found = await cluster.create("networking.k8s.io/v1", "Ingress", "a", "default", spec=backend)
    assert found["spec"]["ingressClassName"] == "web"
    named = {"annotations": {"kubernetes.io/ingress.class": "other"}}
    found = await cluster.create("networking.k8s.io/v1", "Ingress", "b", "default", metadata=named, spec=backend)
    assert "ingressClassName" not in found["spec"]


# --- Certificate signing requests ---


def signing_request(user: str, *groups: str) -> str:
    """base64 of a PEM request."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


CSR = ("certificates.k8s.io/v1", "CertificateSigningRequest")
CLIENT = "kubernetes.io/kube-apiserver-client"


async def csr(cluster: Cluster, *groups: str, signer: str = CLIENT) -> Object:
    spec = {"request": signing_request("alice", *groups), "signerName": signer, "usages": ["client auth"]}
    return await cluster.create(*CSR, "c", spec=spec)


async def test_nobody_becomes_a_master_by_request(cluster: Cluster) -> None:
    with pytest.raises(Forbidden, match=f"use of {CLIENT} signer with system:masters group is not allowed"):
        await csr(cluster, "devs", "system:masters")
    await csr(cluster, "devs")


ALICE = UserInfo("alice", groups=("system:authenticated",))
CERTIFICATE = base64.b64encode(new_ca("x").cert_pem).decode()
APPROVED = {"type": "Approved", "status": "True", "reason": "R", "message": "m"}


@pytest.mark.parametrize(
    ("subresource", "verb", "change"),
    [("approval", "approve", {"conditions": [APPROVED]}), ("status", "sign", {"certificate": CERTIFICATE})],
)
@pytest.mark.parametrize("granted", ["kubernetes.io/kube-apiserver-client", "kubernetes.io/*"])
async def test_signers_are_guarded(cluster: Cluster, subresource: str, verb: str, change: Object, granted: str) -> None:
    await csr(cluster, "devs")
    api, kind = cluster.api.as_user(ALICE), cluster.kind(*CSR)
    why = f'user not permitted to {verb} requests with signerName "{CLIENT}"'
    with pytest.raises(Forbidden, match=why):
        await api.patch(kind, "c", "", {"status": change}, subresource=subresource)
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": [granted], "verbs": [verb]}
    await cluster.create("rbac.authorization.k8s.io/v1", "ClusterRole", "signer", rules=[rule])
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "signer"}
    await cluster.create("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "b", subjects=[subject], roleRef=role)
    await api.patch(kind, "c", "", {"status": change}, subresource=subresource)


async def test_escalation_is_checked_last(cluster: Cluster) -> None:
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    document = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": rules,
    }
    with pytest.raises(Forbidden, match="is attempting to grant RBAC permissions not currently held"):
        await cluster.api.as_user(ALICE).create(document)
    await cluster.api.create(document)
