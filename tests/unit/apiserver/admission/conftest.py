"""A logical cluster with its admission, and a webhook server beside it."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kapstan.apiserver.admission.plugins import ClusterAdmission
from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.api import API
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.pki import CertificateAuthority, Usage, new_ca

Object = dict[str, Any]
Answer = Callable[[Object], Object | web.StreamResponse]


class Cluster:
    """A cluster in which one can write."""

    def __init__(self, logical: LogicalCluster) -> None:
        self.logical = logical
        self.admission: ClusterAdmission = logical.admission
        self.api: API = logical.api

    def kind(self, api_version: str, kind: str) -> ServedKind:
        found = self.logical.kinds.kind(GroupVersionKind.of(api_version, kind))
        assert found is not None
        return found

    async def create(self, api_version: str, kind: str, name: str, namespace: str = "", **content: Any) -> Object:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **content.pop("metadata", {})}
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
        dry_run = content.pop("dry_run", False)
        document.pop("dry_run", None)
        return await self.api.create(document, dry_run=dry_run)

    async def webhook(self, mutating: bool, name: str, *hooks: Object) -> Object:
        """Register a configuration with these webhooks."""
        kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
        return await self.create("admissionregistration.k8s.io/v1", kind, name, webhooks=list(hooks))


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with asyncio.TaskGroup() as tasks:
        logical = await new_cluster("test", tasks=tasks)
        cluster = Cluster(logical)
        await cluster.create("v1", "ServiceAccount", "default", "default")
        yield cluster
        await logical.webhook_client.close()


def _allow(request: Object) -> Object:
    return {"allowed": True}


class WebhookServer:
    """Answers reviews as a test says, by path; remembers what it was asked."""

    def __init__(self, port: int, ca: CertificateAuthority) -> None:
        self.port = port
        self.ca = ca
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, Object]] = []
        self._transports: set[asyncio.WriteTransport] = set()
        self.gate: Callable[[], Awaitable[object]] | None = None  # what to wait for before answering

    def hook(self, path: str, **fields: Any) -> Object:
        """A webhook that sees every ConfigMap; the fields replace or add to that."""
        hook: Object = {
            "name": f"{path}.example.com",
            "clientConfig": {"url": self.url(path), "caBundle": self.ca_bundle},
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                    "resources": ["configmaps"],
                }
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
        }
        return hook | fields

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}/{path}"

    @property
    def ca_bundle(self) -> str:
        return base64.b64encode(self.ca.cert_pem).decode()

    @property
    def called(self) -> list[str]:
        return [path for path, _ in self.asked]

    def drop_connections(self) -> None:
        """As a server that ends without a word."""
        for transport in self._transports:
            transport.abort()
        self._transports.clear()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        assert isinstance(request.transport, asyncio.WriteTransport)
        self._transports.add(request.transport)
        review = await request.json()
        path = request.path.removeprefix("/")
        self.asked.append((path, review))
        if self.gate is not None:
            await self.gate()
        answer = self.answers.get(path, _allow)(review["request"])
        if isinstance(answer, web.StreamResponse):
            return answer
        response = {"uid": review["request"]["uid"], **answer}
        return web.json_response({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})


@pytest.fixture
async def webhooks(tmp_path: Path) -> AsyncIterator[WebhookServer]:
    ca = new_ca("webhooks")
    pair = ca.issue(
        "webhook", usages=[Usage.SERVER], dns_names=["localhost", "hook.default.svc"], ip_addresses=["127.0.0.1"]
    )
    (tmp_path / "tls.crt").write_bytes(pair.cert_pem)
    (tmp_path / "tls.key").write_bytes(pair.key_pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    application = web.Application()
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    server: WebhookServer | None = None

    async def handle(request: web.Request) -> web.StreamResponse:
        assert server is not None
        return await server.handle(request)

    application.router.add_post("/{path:.*}", handle)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    server = WebhookServer(runner.addresses[0][1], ca)
    yield server
    await runner.cleanup()
