"""Machines, as those hear of them who have many: at once what they act on, after a moment what they only tell.

A machine's status changes with every step of its start. Its owner acts when it goes or is given up; that it comes, or
becomes available, is worth a short wait, for others may follow; words can wait longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Raw, Struct, field

from kapstan.cluster.api.core import Machine
from kapstan.cluster.skeleton.sources import stretched
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.change import Change
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Queue
from kapstan.runtime.workqueue import LOW_PRIORITY

__all__ = ("MachineSource",)

_SOON, _LATER = 0.05, 0.5  # seconds
_TOLD = ("Ready", "UpToDate")
_COUNTED = ("Available",)
_ACTED_ON = ("HealthCheckSucceeded", "OwnerRemediated")


class MachineSource:
    """Wakes whom a function names when a machine changes in a way that matters to its owner.

    Those who do not make machines themselves are in less of a `hurry` to hear that one has come, or has other labels.
    """

    def __init__(
        self, machines: SharedInformer, handler: Callable[[Change], Iterable[ObjectKey]], *, hurry: bool = True
    ) -> None:
        self._machines, self._handler, self._hurry = machines, handler, hurry

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        def hear(old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
            change = Change(Machine, old, new, initial=initial)
            after = 0.0 if initial else patience(change, hurry=self._hurry)
            if after is None:
                return
            for key in set(self._handler(change)):
                queue.add(key, priority=LOW_PRIORITY if initial else 0, after=stretched(after, queue))

        unlisten = self._machines.listen(hear)
        try:
            await self._machines.wait_synced()
            synced()
            await asyncio.Event().wait()
        finally:
            unlisten()


def patience(change: Change, *, hurry: bool) -> float | None:
    """How long a change can wait to be heard of; None: it need not be."""
    old, new = change.old, change.new
    if new is None or (old is not None and old.deleting != new.deleting):
        return 0.0
    if old is None:
        return _SOON if hurry else _LATER
    before, after = _peek(old.data), _peek(new.data)
    if before.statuses(_ACTED_ON) != after.statuses(_ACTED_ON):
        return 0.0
    if before.metadata != after.metadata:
        return 0.0 if hurry else _LATER
    if before.statuses(_COUNTED) != after.statuses(_COUNTED):
        return _SOON
    return _LATER if before.words() != after.words() else None


class _Condition(Struct):
    type: str
    status: str = ""
    message: str = ""


class _Metadata(Struct, rename="camel"):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[dict[str, str | bool]] = []


class _Status(Struct, rename="camel"):
    conditions: list[_Condition] = []
    node_info: Raw = Raw(b"")


class _Peek(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)
    status: _Status = field(default_factory=_Status)

    def statuses(self, types: Iterable[str]) -> list[tuple[str, str]]:
        return [(one.type, one.status) for one in self.status.conditions if one.type in types]

    def words(self) -> object:
        told = [(one.type, one.status, one.message) for one in self.status.conditions if one.type in _TOLD]
        return told, bytes(self.status.node_info)


_peek = msgspec.json.Decoder(_Peek).decode
