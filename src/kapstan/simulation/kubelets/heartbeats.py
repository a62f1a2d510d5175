"""Heartbeats: the leases of all nodes, renewed by one timer.

A few nodes at a time share a random moment of the interval: together they cost less than each on its own, and a
thousand of them are a steady trickle and not a flood.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from heapq import heappop, heappush

from kapstan.client.client import Client
from kapstan.machinery.codec import encode
from kapstan.machinery.errors import KapstanError, NotFound
from kapstan.simulation.batches import in_batches
from kapstan.simulation.kubelets.node import LEASES, micro_now

__all__ = ("Heartbeats",)

log = logging.getLogger(__name__)

_TICK = 0.25  # seconds: what is due within one is sent together
_TOGETHER = 8  # nodes
_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{LEASES}/leases/"


class Heartbeats:
    """Renews leases until told to stop."""

    def __init__(self, client: Client, interval: float, lost: Callable[[str], Awaitable[None]]) -> None:
        """`lost` is told of nodes whose lease is not there."""
        self._client, self._interval, self._lost = client, interval, lost
        self._alive: dict[str, int] = {}  # each with the number of its life
        self._heap: list[tuple[float, int, str]] = []
        self._lives = 0
        self._moment = 0.0  # of the interval, for those who join now
        self._some = asyncio.Event()

    def add(self, name: str) -> None:
        if name in self._alive:
            return
        if self._lives % _TOGETHER == 0:
            self._moment = random.random() * self._interval  # noqa: S311
        self._lives += 1
        self._alive[name] = self._lives
        now = asyncio.get_running_loop().time()
        heappush(self._heap, (now + (self._moment - now) % self._interval, self._lives, name))
        self._some.set()

    def remove(self, name: str) -> None:
        self._alive.pop(name, None)

    async def run(self) -> None:
        while True:
            await self._some.wait()
            if not self._heap:
                self._some.clear()
                continue
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(self._heap[0][0] - now, _TICK))
            await in_batches(self._renew, self._due(), first=_TOGETHER)

    def _due(self) -> list[str]:
        """Who is due, each of them put in again for the next time."""
        now = asyncio.get_running_loop().time()
        due: list[str] = []
        while self._heap and self._heap[0][0] <= now:
            at, life, name = heappop(self._heap)
            if self._alive.get(name) == life:
                due.append(name)
                heappush(self._heap, (now + self._interval - (now - at) % self._interval, life, name))
        return due

    async def _renew(self, name: str) -> None:
        body = encode({"spec": {"renewTime": micro_now()}})
        try:
            await self._client.request("PATCH", _PATH + name, body=body, content_type="application/merge-patch+json")
        except NotFound:
            await self._lost(name)
        except KapstanError as error:
            log.warning("The lease of node %s was not renewed, trying again in %g s: %s", name, self._interval, error)
