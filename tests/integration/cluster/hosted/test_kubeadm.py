"""What the real kubeadm, and a kubelet that joins, think of a hosted control plane."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.integration.cluster.hosted.driver import Tenant, manager

from kapstan.client import Client
from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.cluster.controlplane.hosted.tenant.joining import cluster_configuration, kubelet_configuration
from kapstan.components import assets
from kapstan.k8s.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestSpec
from kapstan.k8s.core_v1 import ConfigMap, Node, Secret
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.errors import Forbidden
from kapstan.machinery.meta import ObjectMeta

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

TOKEN = "abcdef.0123456789abcdef"


@pytest.fixture(params=["Process", "Simulated"])
async def tenant(request: pytest.FixtureRequest, data: Path, guard: Callable[[str], None]) -> AsyncIterator[Tenant]:
    """A control plane that a node can join with a token."""
    guard("c1")
    async with manager(data) if request.param == "Process" else SimulatedRuntime(data) as runtime:
        yield await joinable(Tenant(runtime))


async def joinable(tenant: Tenant) -> Tenant:
    await tenant.apply()
    await tenant.until(lambda seen: seen.answering)
    await tenant.bootstrap()
    await tenant.ready()
    identifier, _, secret = TOKEN.partition(".")
    async with tenant.client() as client:
        await client.create(
            Secret(
                metadata=ObjectMeta(name=f"bootstrap-token-{identifier}", namespace="kube-system"),
                type="bootstrap.kubernetes.io/token",
                string_data={
                    "token-id": identifier,
                    "token-secret": secret,
                    "usage-bootstrap-signing": "true",
                    "usage-bootstrap-authentication": "true",
                    "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
                },
            )
        )
        async with client.watch(ConfigMap, "kube-public", fields="metadata.name=cluster-info") as events:
            async for event in events:
                if f"jws-kubeconfig-{identifier}" in event.object.data:
                    break
    return tenant


async def kubeadm(*arguments: str) -> str:
    """What the real kubeadm says; it must be content."""
    program = (await assets.find_all(["kubeadm"]))["kubeadm"]
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(120):
        said, _ = await process.communicate()
    text = said.decode()
    assert process.returncode == 0, text
    return text


async def test_kubeadm_joins_as_far_as_a_machine_is_not_needed(tenant: Tenant, tmp_path: Path) -> None:
    """Discovery by token and hash, the signature, the configuration with a token's rights; and it is valid."""
    assert tenant.endpoint is not None
    said = await kubeadm(
        "join",
        "phase",
        "preflight",
        str(tenant.endpoint),
        f"--token={TOKEN}",
        f"--discovery-token-ca-cert-hash={tenant.authorities.cluster.discovery_hash}",
        "--ignore-preflight-errors=all",
        "--v=1",
    )
    assert "Cluster info signature and contents are valid" in said
    assert "attempting to download the KubeletConfiguration" in said
    assert "Running configuration dependant checks" in said

    configuration = cluster_configuration(tenant.settings, tenant.endpoint)
    file = tmp_path / "kubeadm.yaml"
    file.write_text(f"{to_yaml(configuration)}---\n{to_yaml(kubelet_configuration(tenant.settings))}")
    assert await kubeadm("config", "validate", f"--config={file}") == "ok\n"


@pytest.mark.parametrize("tenant", ["Process"], indirect=True)
async def test_kubeadm_finds_the_certificates(tenant: Tenant, data: Path, tmp_path: Path) -> None:
    assert tenant.endpoint is not None
    pki = tenant.folder(data) / "pki"
    configuration = {**cluster_configuration(tenant.settings, tenant.endpoint), "certificatesDir": str(pki), "etcd": {}}
    file = tmp_path / "kubeadm.yaml"
    file.write_text(to_yaml(configuration))

    said = await kubeadm("certs", "check-expiration", f"--config={file}")

    for name in (
        "apiserver",
        "apiserver-etcd-client",
        "apiserver-kubelet-client",
        "etcd-healthcheck-client",
        "etcd-peer",
        "etcd-server",
        "front-proxy-client",
    ):
        line = next(line for line in said.splitlines() if line.split()[:1] == [name])
        assert "364d" in line or "365d" in line


async def test_a_kubelet_gets_its_certificate_with_a_token(tenant: Tenant) -> None:
    """TLS bootstrap: a request with the token, approved and signed by the controller manager, used by the node."""
    assert tenant.endpoint is not None
    base = tenant.administrator().anonymous()
    key = ec.generate_private_key(ec.SECP256R1())
    async with Client(base.replace(token=TOKEN)) as bootstrapper:
        certificate = await signed(bootstrapper, key)
        with pytest.raises(Forbidden):  # a token is good for nothing else
            await bootstrapper.list(Secret, "kube-system")
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    async with Client(base.replace(cert=certificate, key=pem)) as kubelet:
        await kubelet.create(Node(metadata=ObjectMeta(name="n1")))
        assert await kubelet.find(ConfigMap, "kubelet-config", "kube-system") is not None
        if isinstance(tenant.runtime, ProcessRuntime):  # the embedded server has no NodeRestriction
            with pytest.raises(Forbidden):
                await kubelet.create(Node(metadata=ObjectMeta(name="n2")))


async def signed(client: Client, key: ec.EllipticCurvePrivateKey) -> bytes:
    """The certificate that a kubelet asks for and gets."""
    name = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, "system:node:n1"),
    ]
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(name)).sign(key, hashes.SHA256())
    created = await client.create(
        CertificateSigningRequest(
            metadata=ObjectMeta(generate_name="node-csr-"),
            spec=CertificateSigningRequestSpec(
                request=request.public_bytes(serialization.Encoding.PEM),
                signer_name="kubernetes.io/kube-apiserver-client-kubelet",
                usages=["digital signature", "client auth"],
            ),
        )
    )
    async with asyncio.timeout(60):
        async with client.watch(CertificateSigningRequest, fields=f"metadata.name={created.name}") as events:
            async for event in events:
                if event.object.status.certificate:
                    return event.object.status.certificate
    raise AssertionError("the watch ended")
