"""Leases kept in memory, and ways to them that fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

import msgspec

from kapstan.machinery.errors import AlreadyExists, Conflict, ConnectionFailed
from kapstan.runtime.election import LeaseRecord

R = TypeVar("R")


class MemoryLease:
    """A lease as the API server keeps it: writes compare the resourceVersion."""

    def __init__(self) -> None:
        self.record: LeaseRecord | None = None
        self._changed = asyncio.Condition()

    async def get(self) -> LeaseRecord | None:
        return self.record

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        if self.record is not None:
            raise AlreadyExists("leases already exists")
        return await self._write(record, 1)

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        if self.record is None or self.record.resource_version != record.resource_version:
            raise Conflict("the object has been modified")
        return await self._write(record, int(record.resource_version) + 1)

    async def watch(self, resource_version: str) -> AsyncGenerator[LeaseRecord, None]:
        while True:
            async with self._changed:
                while self.record is None or self.record.resource_version == resource_version:
                    await self._changed.wait()
            resource_version = self.record.resource_version
            yield self.record

    async def _write(self, record: LeaseRecord, version: int) -> LeaseRecord:
        self.record = msgspec.structs.replace(record, resource_version=str(version))
        async with self._changed:
            self._changed.notify_all()
        return self.record


class Network:
    """One candidate's way to the lease: it can be slow, cut off, and unable to watch."""

    def __init__(self, lease: MemoryLease) -> None:
        self.lease = lease
        self.latency = 0.01
        self.cut = False
        self.watchable = True

    async def get(self) -> LeaseRecord | None:
        return await self._through(self.lease.get)

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        return await self._through(lambda: self.lease.create(record))

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        return await self._through(lambda: self.lease.update(record))

    async def watch(self, resource_version: str) -> AsyncGenerator[LeaseRecord, None]:
        if not self.watchable:
            raise ConnectionFailed("watching is not possible")
        async for record in self.lease.watch(resource_version):
            if self.cut:
                await asyncio.sleep(3600)
            yield record

    async def _through(self, call: Callable[[], Awaitable[R]]) -> R:
        await asyncio.sleep(self.latency)
        if self.cut:
            await asyncio.sleep(3600)  # packets vanish: nobody says no
        answer = await call()
        await asyncio.sleep(self.latency)
        return answer
