"""The election of this process, in a thread with an event loop and a client of its own.

A reconciler that blocks the main loop must not cost the lease, and a main loop that hangs must not keep others from
noticing that the lease is lost. Losing it ends the process at once: whatever still runs may no longer write.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence

from kapstan.client.client import Client
from kapstan.client.config import Config
from kapstan.machinery.errors import KapstanError
from kapstan.runtime.background import causes
from kapstan.runtime.candidacy import Candidacy
from kapstan.runtime.election import ElectionTimes, LeaderElector, LeaseLost
from kapstan.runtime.loopthread import LoopThread
from kapstan.runtime.metrics import Registry

__all__ = ("ElectionThread", "end_process")

log = logging.getLogger(__name__)


def end_process(error: LeaseLost) -> None:
    """Stop everything, without a word to anybody."""
    log.critical("Ending the process at once: %s", error)
    logging.shutdown()
    os._exit(1)


class ElectionThread:
    """Takes part in an election until it is stopped: it wins when it has all of the leases."""

    def __init__(
        self,
        config: Config,
        namespace: str,
        names: Sequence[str],
        identity: str,
        *,
        times: ElectionTimes | None = None,
        release: bool = True,
        on_lost: Callable[[LeaseLost], None] = end_process,
        metrics: Registry | None = None,
    ) -> None:
        self._config, self._namespace, self._names, self._identity = config, namespace, names, identity
        self._times = times or ElectionTimes()
        self._release, self._on_lost = release, on_lost
        self._candidacy = Candidacy({})
        registry = self._metrics = metrics or Registry()
        self._master = registry.gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.",
            ["name"],
        )
        self._slow_paths = registry.counter(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases.",
            ["name"],
        )
        self._thread = LoopThread("election", self._campaign, self._ended)
        self._main: asyncio.AbstractEventLoop | None = None
        self._elected: asyncio.Future[None] | None = None  # both of the main loop
        self._lost: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Take part from now on."""
        self._main = asyncio.get_running_loop()
        self._elected, self._lost = self._main.create_future(), self._main.create_future()
        for name in self._names:
            log.info("Attempting to acquire leader lease %s/%s", self._namespace, name)
        await self._thread.start()

    async def stop(self) -> None:
        """Take part no longer; a lease that is held is released, so that the next leader need not wait for its end."""
        await self._thread.stop()

    @property
    def obstacle(self) -> str:
        """What keeps this process from leading, as a clause; empty if nothing is known to."""
        return self._candidacy.obstacle

    async def wait_elected(self) -> None:
        """Wait until this process leads."""
        assert self._elected is not None, "the election has not been started"
        await asyncio.shield(self._elected)

    async def wait_lost(self) -> None:
        """Wait until this process leads no longer, and raise LeaseLost, if `on_lost` has not ended the process."""
        assert self._lost is not None, "the election has not been started"
        await asyncio.shield(self._lost)

    async def _campaign(self, begun: Callable[[], None]) -> None:
        begun()
        async with Client(self._config) as client:
            electors = {name: self._elector(client, name) for name in self._names}
            self._metrics.before_scrape(lambda: self._measure(electors))
            candidacy = self._candidacy = Candidacy({f"{self._namespace}/{name}": electors[name] for name in electors})
            try:
                await candidacy.acquire()
                self._settle(self._elected)
                await candidacy.hold(self._on_lost)
            except asyncio.CancelledError:
                if self._release:
                    await candidacy.release()
                raise

    def _elector(self, client: Client, name: str) -> LeaderElector:
        from kapstan.runtime.leaselock import LeaseLock

        return LeaderElector(LeaseLock(client, self._namespace, name), self._identity, self._times)

    def _measure(self, electors: Mapping[str, LeaderElector]) -> None:
        for name, elector in electors.items():
            self._master.labels(name).set(elector.is_leader)
            self._slow_paths.labels(name).value = elector.slow_paths

    def _ended(self, error: Exception) -> None:
        """The election is over for us, in the election's thread."""
        lost = [cause for cause in causes(error) if isinstance(cause, LeaseLost)]
        error = lost[0] if lost else KapstanError(f"leader election has ended: {error}")
        self._settle(self._elected, error)
        self._settle(self._lost, error)

    def _settle(self, future: asyncio.Future[None] | None, error: Exception | None = None) -> None:
        def settle() -> None:
            if future is None or future.done():
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
                future.exception()  # nobody may be waiting

        if self._main is not None and not self._main.is_closed():
            self._main.call_soon_threadsafe(settle)
