"""What tests of the server share: a store of objects for what only reads storage, and whole servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from tests.unit.apiserver.clients import Client, client_context

from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.controllers.manager import CONTROLLERS
from kapstan.apiserver.credentials import Credentials
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.request import Request, UserInfo
from kapstan.apiserver.server import EmbeddedServer
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.apiserver.storage.record import record_from_object
from kapstan.machinery.gvk import GroupResource, GroupVersionKind
from kapstan.machinery.pki import new_ca, new_signing_key
from kapstan.machinery.scheme import pluralize


class Objects:
    """Puts objects into a storage as a server would, without its checks."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()

    async def put(self, api_version: str, kind: str, name: str, namespace: str = "", **content: Any) -> dict[str, Any]:
        """Create or replace; `metadata` among the content adds to name and namespace."""
        where, key = self._where(api_version, kind, name, namespace)
        old = self.storage.get(where, key)
        metadata: dict[str, Any] = {
            "name": name,
            "uid": old.uid if old else str(uuid4()),
            **content.pop("metadata", {}),
        }
        if namespace:
            metadata["namespace"] = namespace
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
        await self.storage.put(where, key, old, lambda revision: record_from_object(where, key, revision, document))
        return document

    async def delete(self, api_version: str, kind: str, name: str, namespace: str = "") -> None:
        where, key = self._where(api_version, kind, name, namespace)
        old = self.storage.get(where, key)
        assert old is not None, f"no {kind} {key}"
        await self.storage.delete(where, key, old, lambda revision: old)

    def request(
        self, user: UserInfo, verb: str, api_version: str, kind: str, namespace: str = "", name: str = "", **more: Any
    ) -> Request:
        """A request to a cluster that has these objects."""
        cluster = LogicalCluster("test", self.storage, Credentials(new_ca("test"), new_signing_key()))
        served = cluster.kinds.kind(GroupVersionKind.of(api_version, kind))
        assert served is not None, f"there is no {kind} in {api_version}"
        return Request(cluster, user, verb, served, namespace=namespace, name=name, **more)

    def _where(self, api_version: str, kind: str, name: str, namespace: str) -> tuple[GroupResource, str]:
        group = api_version.rpartition("/")[0]
        return GroupResource(group, pluralize(kind.lower())), f"{namespace}/{name}" if namespace else name


@pytest.fixture
def objects() -> Objects:
    return Objects()


@pytest.fixture
async def server() -> AsyncIterator[EmbeddedServer]:
    """A server in memory, in which nothing happens by itself: it starts in milliseconds."""
    async with EmbeddedServer(without_controllers=CONTROLLERS) as server:
        yield server


@pytest.fixture
async def durable(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    """A server whose objects are in a database."""
    async with EmbeddedServer(data_dir=tmp_path, synchronous="NORMAL") as server:
        yield server


@pytest.fixture
def api(server: EmbeddedServer) -> API:
    """The server's cluster, from inside the process."""
    return server.cluster.api


@pytest.fixture
async def admin(server: EmbeddedServer, tmp_path: Path) -> AsyncIterator[Client]:
    connector = aiohttp.TCPConnector(ssl=client_context(server.kubeconfig(), tmp_path))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Client(session, server.url)


@pytest.fixture
async def anonymous(server: EmbeddedServer) -> AsyncIterator[Client]:
    connector = aiohttp.TCPConnector(ssl=client_context(server.kubeconfig(), None))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Client(session, server.url)
