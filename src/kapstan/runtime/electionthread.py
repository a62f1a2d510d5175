"""The election of this process, in a thread with an event loop and a client of its own.

A reconciler that blocks the main loop must not cost the lease, and a main loop that hangs must not keep others from
noticing that the lease is lost. Losing it ends the process at once: whatever still runs may no longer write.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable

from kapstan.client.client import Client
from kapstan.client.config import Config
from kapstan.machinery.errors import KapstanError
from kapstan.runtime.election import ElectionTimes, LeaderElector, LeaseLost
from kapstan.runtime.metrics import Registry

__all__ = ("ElectionThread", "end_process")

log = logging.getLogger(__name__)


def end_process(error: LeaseLost) -> None:
    """Stop everything, without a word to anybody."""
    log.critical("Ending the process at once: %s", error)
    logging.shutdown()
    os._exit(1)


class ElectionThread:
    """Takes part in an election until it is stopped."""

    def __init__(
        self,
        config: Config,
        namespace: str,
        name: str,
        identity: str,
        *,
        times: ElectionTimes | None = None,
        release: bool = True,
        on_lost: Callable[[LeaseLost], None] = end_process,
        metrics: Registry | None = None,
    ) -> None:
        self._config, self._namespace, self._name, self._identity = config, namespace, name, identity
        self._times = times or ElectionTimes()
        self._release, self._on_lost = release, on_lost
        registry = metrics or Registry()
        self._master = registry.gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.",
            ["name"],
        ).labels(name)
        self._slow_paths = registry.counter(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases.",
            ["name"],
        ).labels(name)
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)
        self._main: asyncio.AbstractEventLoop | None = None
        self._elected: asyncio.Future[None] | None = None  # of the main loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._ready = threading.Event()

    def start(self) -> None:
        """Take part from now on."""
        self._main = asyncio.get_running_loop()
        self._elected = self._main.create_future()
        self._thread.start()

    async def wait_elected(self) -> None:
        """Wait until this process leads."""
        assert self._elected is not None, "the election has not been started"
        await asyncio.shield(self._elected)

    async def stop(self) -> None:
        """Take part no longer; a lease that is held is released, so that the next leader need not wait for its end."""
        if not self._thread.is_alive():
            return
        await asyncio.to_thread(self._ready.wait)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            asyncio.run(self._campaign())
        except Exception as error:  # noqa: BLE001 - told to the main thread
            self._tell(error)
        finally:
            self._ready.set()

    async def _campaign(self) -> None:
        from kapstan.runtime.leaselock import LeaseLock

        self._loop = asyncio.get_running_loop()
        self._ready.set()
        async with Client(self._config) as client:
            elector = LeaderElector(LeaseLock(client, self._namespace, self._name), self._identity, self._times)
            async with asyncio.TaskGroup() as group:
                leading = group.create_task(self._lead(elector))
                await self._stopping.wait()
                leading.cancel()
            if self._release:
                await elector.release()
            self._master.set(0)

    async def _lead(self, elector: LeaderElector) -> None:
        log.info("Attempting to acquire leader lease %s/%s", self._namespace, self._name)
        await elector.acquire()
        self._master.set(1)
        self._tell(None)
        try:
            await elector.hold()
        except LeaseLost as error:
            self._master.set(0)
            self._on_lost(error)
            raise

    def _tell(self, error: Exception | None) -> None:
        """Tell the main loop that the election is won, or over."""
        if self._main is not None and not self._main.is_closed():
            self._main.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: Exception | None) -> None:
        assert self._elected is not None
        if self._elected.done():
            return
        if error is None:
            self._elected.set_result(None)
        else:
            self._elected.set_exception(KapstanError(f"leader election has ended: {error}"))
