"""A store of objects for tests of what reads storage but does not serve it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.kinds import KindTable, ServedKind
from kapstan.apiserver.request import Request, UserInfo
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.apiserver.storage.record import record_from_object
from kapstan.apiserver.strategy.base import Strategy
from kapstan.machinery.gvk import GroupResource, GroupVersionKind
from kapstan.machinery.schema import Schema
from kapstan.machinery.scheme import pluralize
from kapstan.machinery.validation import FieldError


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
        cluster = LogicalCluster("test", self.storage, KindTable())
        served = served_kind(api_version, kind, namespaced=bool(namespace))
        return Request(cluster, user, verb, served, namespace=namespace, name=name, **more)

    def _where(self, api_version: str, kind: str, name: str, namespace: str) -> tuple[GroupResource, str]:
        group = api_version.rpartition("/")[0]
        return GroupResource(group, pluralize(kind.lower())), f"{namespace}/{name}" if namespace else name


class AnyShape:
    """Takes every object as it is; what schemas do is tested elsewhere."""

    def shape(self, obj: dict[str, Any]) -> list[str]:
        return []

    def default(self, obj: dict[str, Any]) -> None:
        pass

    def validate(self, obj: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        return []


def served_kind(api_version: str, kind: str, *, namespaced: bool = True) -> ServedKind:
    """A kind with nothing particular about it."""
    return ServedKind(
        GroupVersionKind.of(api_version, kind),
        pluralize(kind.lower()),
        namespaced=namespaced,
        strategy=Strategy(),
        schema=Schema({}),
        intake=AnyShape(),
    )


@pytest.fixture
def objects() -> Objects:
    return Objects()
