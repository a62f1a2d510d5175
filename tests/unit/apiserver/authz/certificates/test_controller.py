"""Requests on their way to a certificate."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kapstan.apiserver.authz.certificates.controller import REQUESTS, CertificateController
from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.request import UserInfo
from kapstan.machinery.pki import is_signed_by

Object = dict[str, Any]
NODE = UserInfo("system:node:n1", groups=("system:nodes", "system:authenticated"))
BOOTSTRAP = UserInfo("system:bootstrap:abcdef", groups=("system:bootstrappers", "system:authenticated"))


@pytest.fixture
async def cluster() -> AsyncIterator[LogicalCluster]:
    async with asyncio.TaskGroup() as tasks:
        yield await new_cluster("test", tasks=tasks)


@pytest.fixture
async def controller(cluster: LogicalCluster) -> AsyncIterator[CertificateController]:
    controller = CertificateController(cluster)
    controller.start()
    yield controller
    controller.close()


def request(signer: str, usages: list[str], common_name: str = "system:node:n1", group: str = "system:nodes") -> Object:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group), x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    key = ec.generate_private_key(ec.SECP256R1())
    csr = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    encoded = base64.b64encode(csr.public_bytes(serialization.Encoding.PEM)).decode()
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "r"},
        "spec": {"request": encoded, "signerName": f"kubernetes.io/{signer}", "usages": usages},
    }


KUBELET = request("kube-apiserver-client-kubelet", ["digital signature", "client auth"])


async def bind(cluster: LogicalCluster, role: str, group: str) -> None:
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    await cluster.api.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "b"},
            "subjects": [subject],
            "roleRef": ref,
        }
    )


async def status_after(
    cluster: LogicalCluster, controller: CertificateController, user: UserInfo, body: Object
) -> Object:
    await cluster.api.as_user(user).create(body)
    await controller.idle()
    status: Object = (await cluster.api.get(REQUESTS, "r")).get("status") or {}
    return status


async def approve(cluster: LogicalCluster, controller: CertificateController) -> None:
    decided = await cluster.api.get(REQUESTS, "r")
    decided["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "ByHand"}]}
    await cluster.api.update(decided, subresource="approval")
    await controller.idle()


@pytest.mark.parametrize(
    ("user", "role"),
    [
        (BOOTSTRAP, "system:certificates.k8s.io:certificatesigningrequests:nodeclient"),
        (NODE, "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"),
    ],
)
async def test_a_kubelet_gets_its_certificate_by_itself(
    cluster: LogicalCluster, controller: CertificateController, user: UserInfo, role: str
) -> None:
    """With the bindings that kubeadm makes."""
    await bind(cluster, role, user.groups[0])
    status = await status_after(cluster, controller, user, KUBELET)
    assert [(one["type"], one["reason"]) for one in status["conditions"]] == [("Approved", "AutoApproved")]
    certificate = base64.b64decode(status["certificate"])
    assert is_signed_by(certificate, cluster.credentials.ca.cert_pem)


async def test_others_wait_for_a_decision(cluster: LogicalCluster, controller: CertificateController) -> None:
    assert await status_after(cluster, controller, UserInfo("alice"), KUBELET) == {}
    await approve(cluster, controller)
    assert (await cluster.api.get(REQUESTS, "r"))["status"]["certificate"]


async def test_what_cannot_be_signed_fails(cluster: LogicalCluster, controller: CertificateController) -> None:
    body = request("kube-apiserver-client", ["server auth"], "alice", "devs")
    await status_after(cluster, controller, UserInfo("alice"), body)
    await approve(cluster, controller)
    status = (await cluster.api.get(REQUESTS, "r"))["status"]
    assert "certificate" not in status
    failed = status["conditions"][1]
    assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")
    assert failed["message"] == "invalid usage for client certificate: server auth"


async def test_signers_of_others_are_left_to_others(cluster: LogicalCluster, controller: CertificateController) -> None:
    body = request("x", ["client auth"])
    body["spec"]["signerName"] = "example.com/mine"
    await status_after(cluster, controller, UserInfo("alice"), body)
    await approve(cluster, controller)
    assert "certificate" not in (await cluster.api.get(REQUESTS, "r"))["status"]


async def test_old_requests_go(cluster: LogicalCluster, controller: CertificateController) -> None:
    await status_after(cluster, controller, UserInfo("alice"), KUBELET)
    await controller.reconcile("r", datetime.now(UTC) + timedelta(hours=23))
    assert await cluster.api.find(REQUESTS, "r") is not None
    await controller.reconcile("r", datetime.now(UTC) + timedelta(hours=25))
    assert await cluster.api.find(REQUESTS, "r") is None
