"""EventExpiry: events are gone an hour after they were last written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kapstan.apiserver.controllers.controller import Controller
from kapstan.apiserver.controllers.owners import metadata_of
from kapstan.apiserver.storage.interface import Event, Record
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("TIME_TO_LIVE", "EventExpiry")

TIME_TO_LIVE = 3600.0  # seconds

_EVENTS = GroupResource("", "events")
_EVENT = GroupVersionKind("", "v1", "Event")


class EventExpiry(Controller[str]):
    """Keeps one timer for all events of a cluster: they expire in the order in which they were written."""

    account = "event-expiry"

    def __init__(
        self,
        cluster: LogicalCluster,
        *,
        time_to_live: float = TIME_TO_LIVE,
        clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(cluster)
        self._time_to_live = time_to_live
        self._clock = clock or asyncio.get_running_loop().time
        self._deadlines: dict[str, float] = {}  # in the order in which they come
        self._timer: asyncio.TimerHandle | None = None
        self.follow(self._observe, _EVENTS)

    def start(self) -> None:
        """Events of an earlier life of the server are as old as they say."""
        now = datetime.now(UTC)
        ages = sorted(((_age(record, now), record.key) for record in self._storage.list(_EVENTS)), reverse=True)
        for age, key in ages:
            self._deadlines[key] = self._clock() + max(0.0, self._time_to_live - age)
        self._schedule()

    def close(self) -> None:
        super().close()
        if self._timer is not None:
            self._timer.cancel()

    def _observe(self, event: Event) -> None:
        key = event.record.key
        self._deadlines.pop(key, None)
        if event.type != "DELETED":
            self._deadlines[key] = self._clock() + self._time_to_live
            self._schedule()

    def _schedule(self) -> None:
        if self._timer is None and self._deadlines:
            delay = max(0.0, next(iter(self._deadlines.values())) - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self.expire)

    def expire(self) -> None:
        """Have removed what is due."""
        self._timer = None
        now = self._clock()
        for key, deadline in list(self._deadlines.items()):
            if deadline > now:
                break
            del self._deadlines[key]
            self._queue.add(key)
        self._schedule()

    async def reconcile(self, key: str) -> None:
        namespace, _, name = key.rpartition("/")
        if key in self._deadlines:  # written again in the meantime
            return
        try:
            await self._cluster.api.delete(_EVENT, name, namespace)
        except NotFound:
            return


def _age(record: Record, now: datetime) -> float:
    created = metadata_of(record).get("creationTimestamp")
    return (now - datetime.fromisoformat(created)).total_seconds() if created else 0.0
