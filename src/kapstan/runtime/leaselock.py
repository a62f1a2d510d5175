"""LeaseLock: the record of an election in a Lease of the API server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime

from kapstan.client.client import Client
from kapstan.client.interface import Patch
from kapstan.k8s.coordination_v1 import Lease, LeaseSpec
from kapstan.machinery.meta import MicroTime, ObjectMeta
from kapstan.runtime.election import LeaseRecord

__all__ = ("LeaseLock",)


class LeaseLock:
    """One Lease. Each write says which version it replaces, so that of two writers one is refused."""

    def __init__(self, client: Client, namespace: str, name: str, labels: Mapping[str, str] | None = None) -> None:
        self._client = client
        self._metadata = ObjectMeta(name=name, namespace=namespace, labels=dict(labels or {}))

    async def get(self) -> LeaseRecord | None:
        lease = await self._client.find(Lease, self._metadata.name, self._metadata.namespace)
        return None if lease is None else _record(lease)

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        return _record(await self._client.create(Lease(metadata=self._metadata, spec=_spec(record))))

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        patch = Patch.merge({"metadata": {"resourceVersion": record.resource_version}, "spec": _spec(record)})
        return _record(await self._client.patch(Lease(metadata=self._metadata), patch))

    async def watch(self, resource_version: str) -> AsyncGenerator[LeaseRecord, None]:
        name = self._metadata.name
        async with self._client.watch(
            Lease, self._metadata.namespace, fields={"metadata.name": name}, resource_version=resource_version
        ) as events:
            async for event in events:
                if event.type == "DELETED":
                    return
                yield _record(event.object)


def _record(lease: Lease) -> LeaseRecord:
    spec = lease.spec
    return LeaseRecord(
        holder=spec.holder_identity or "",
        duration=spec.lease_duration_seconds or 0,
        acquired=spec.acquire_time,
        renewed=spec.renew_time,
        transitions=spec.lease_transitions or 0,
        resource_version=lease.metadata.resource_version,
    )


def _spec(record: LeaseRecord) -> LeaseSpec:
    return LeaseSpec(
        holder_identity=record.holder,
        lease_duration_seconds=record.duration,
        acquire_time=_micro(record.acquired),
        renew_time=_micro(record.renewed),
        lease_transitions=record.transitions,
    )


def _micro(time: datetime | None) -> MicroTime | None:
    return None if time is None else MicroTime.fromtimestamp(time.timestamp(), time.tzinfo)
