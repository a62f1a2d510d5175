"""Tenants: connections into hosted clusters, and what was last put there.

Nothing here has to survive: a manager that starts again connects again, and applies again what is there already.
"""

from __future__ import annotations

import time

from kapstan.client import Client, Config
from kapstan.cluster.controlplane.hosted.runtime.interface import Instance

__all__ = ("REPEAT", "Tenants")

# Seconds after which objects are applied again, so that what was changed by hand comes back.
REPEAT = 600.0


class Tenants:
    """What a manager remembers of hosted clusters."""

    def __init__(self) -> None:
        self._clients: dict[Instance, tuple[Client, bytes]] = {}
        self._applied: dict[tuple[Instance, str], tuple[str, float]] = {}

    async def client(self, instance: Instance, config: Config, certificates: bytes) -> Client:
        """A connection, kept open as long as it leads to the same place, with the same `certificates` in its files."""
        known, read = self._clients.get(instance, (None, b""))
        if known is not None and (known.config, read) != (config, certificates):
            await self._disconnect(instance)
            known = None
        if known is None:
            known = Client(config, field_manager="kapstan-hosted")
            self._clients[instance] = known, certificates
        return known

    def is_applied(self, instance: Instance, what: str, digest: str) -> bool:
        """Whether this was applied, and not too long ago."""
        known, when = self._applied.get((instance, what), ("", 0.0))
        return known == digest and time.monotonic() < when + REPEAT

    def was_applied(self, instance: Instance, what: str, digest: str) -> None:
        self._applied[instance, what] = digest, time.monotonic()

    async def forget(self, instance: Instance) -> None:
        """Let go of a cluster that does not answer any more, or is gone."""
        self._applied = {key: value for key, value in self._applied.items() if key[0] != instance}
        await self._disconnect(instance)

    async def close(self) -> None:
        for instance in list(self._clients):
            await self._disconnect(instance)

    async def _disconnect(self, instance: Instance) -> None:
        known = self._clients.pop(instance, None)
        if known is not None:
            await known[0].close()
