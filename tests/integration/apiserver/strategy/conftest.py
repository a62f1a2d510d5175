"""Asking the embedded server and a real one the same, and telling where they differ."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import aiohttp
import pytest

from kapstan.apiserver.admission.serviceaccount import ServiceAccountAdmission
from kapstan.apiserver.registry.builtins import builtin_kinds
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.testing.environment import Environment
from kapstan.testing.servers import EmbeddedAPIServer

Object = dict[str, Any]
T = TypeVar("T")


class Answer(NamedTuple):
    status: int
    body: Any
    warnings: list[str]


class Server:
    """One API server, asked as its administrator."""

    def __init__(self, env: Environment, folder: Path) -> None:
        cluster = env.server.kubeconfig()["clusters"][0]["cluster"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        user = env.server.kubeconfig()["users"][0]["user"]
        pem = folder / f"{env.name}.pem"
        pem.touch(mode=0o600)
        parts = ("client-certificate-data", "client-key-data")
        pem.write_bytes(b"\n".join(base64.b64decode(user[part]) for part in parts))
        context.load_cert_chain(pem)
        self._url = cluster["server"]
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
    ) -> Answer:
        headers = {"Accept": accept, "Content-Type": content_type}
        data = io.BytesIO(json.dumps(body).encode()) if body is not None else None
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            text = await response.text()
            warnings = response.headers.getall("Warning", [])
        return Answer(response.status, json.loads(text), warnings)

    def path(self, obj: Object, *more: str) -> str:
        """Where objects of a kind are, or what is below one of them."""
        kind = builtin_kinds().kind(GroupVersionKind.of(obj["apiVersion"], obj["kind"]))
        assert kind is not None
        base = f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"
        where = "/namespaces/default" if kind.namespaced else ""
        return "/".join([f"{base}{where}/{kind.gvr.resource}", *more])

    async def create(self, obj: Object, query: str = "") -> Answer:
        return await self.ask("POST", self.path(obj) + query, obj)

    async def merge(self, obj: Object, patch: Object, subresource: str = "") -> Answer:
        more = [obj["metadata"]["name"], *([subresource] if subresource else [])]
        return await self.ask("PATCH", self.path(obj, *more), patch, content_type="application/merge-patch+json")

    async def delete(self, obj: Object) -> None:
        await self.ask("DELETE", self.path(obj, obj["metadata"]["name"]) + "?gracePeriodSeconds=0")

    async def close(self) -> None:
        await self._session.close()


class Both:
    """The embedded server and the real one."""

    def __init__(self, embedded: Server, real: Server) -> None:
        self.embedded, self.real = embedded, real

    def __iter__(self) -> Iterator[Server]:
        return iter((self.embedded, self.real))

    async def ask(self, question: Callable[..., Awaitable[T]], *details: Any) -> tuple[T, T]:
        """The answers to a question that is put to both."""
        ours, theirs = await asyncio.gather(*(question(server, *details) for server in self))
        return ours, theirs


_UNIQUE = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # uids
    r"|10\.(9[6-9]|10[0-9]|11[01])\.[0-9]+\.[0-9]+"  # addresses of services
)
_CHANGING = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "lastPhaseTransitionTime"}
_PORTS = {"nodePort", "healthCheckNodePort"}
# Put on by admission plugins that the embedded server does not have.
_PROTECTION = {"kubernetes.io/pv-protection", "kubernetes.io/pvc-protection", "kubernetes.io/vac-protection"}


def normal(value: Any) -> Any:
    """Without what differs from server to server and from time to time."""
    if isinstance(value, dict):
        found = {key: normal(item) for key, item in value.items() if key not in _CHANGING}
        for key in _PORTS & found.keys():
            found[key] = "<port>"
        if _PROTECTION & set(found.get("finalizers") or ()):
            del found["finalizers"]
        return found
    if isinstance(value, list):
        return [normal(item) for item in value]
    return _UNIQUE.sub("<unique>", value) if isinstance(value, str) else value


def refusal(answer: Answer) -> Any:
    """What a server has against a request; Go's comparisons of structs, which follow a line break, aside."""
    details = answer.body.get("details") or {}
    causes = {
        (cause.get("field"), cause.get("reason"), normal(cause["message"].partition("\n")[0]))
        for cause in details.get("causes") or ()
    }
    message = normal(answer.body.get("message", "").partition("\n")[0]) if not causes else ""
    return answer.status, details.get("group", ""), details.get("kind", ""), message, causes


@pytest.fixture
async def both(embedded: Environment, real: Environment, tmp_path: Path) -> AsyncIterator[Both]:
    assert isinstance(embedded.server, EmbeddedAPIServer)
    ours = embedded.server.server
    assert ours.endpoint.controllers is not None
    ours.endpoint.controllers.close()  # the real server has none, and so cannot have the plugin for accounts
    admission = ours.cluster.admission
    admission.plugins = tuple(one for one in admission.plugins if not isinstance(one, ServiceAccountAdmission))
    servers = Both(Server(embedded, tmp_path), Server(real, tmp_path))
    yield servers
    for server in servers:
        await server.close()
