"""Leader election: of several processes that want a Lease, one has it.

What it keeps true: while one process believes itself leader, no other does, however slow or broken the network is.
A leader that could not renew for `renew_deadline` counts itself out; the others wait `lease_duration`, which is
longer, by their own clocks and from the moment at which they saw the last renewal. No two clocks are ever compared.

Those who wait follow the Lease by a watch, so that they take over as soon as it is released or runs out.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from kapstan.machinery.errors import Conflict, KapstanError

__all__ = ("ElectionTimes", "LeaderElector", "LeaseLost", "LeaseRecord", "Lock")

log = logging.getLogger(__name__)

# How much longer than the retry period a poll may wait, at random, so that several processes spread out.
JITTER = 1.2


class LeaseLost(KapstanError):
    """Another process may be leader now: whatever only a leader may do must end at once."""


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a Lease says."""

    holder: str = ""
    duration: int = 0
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0
    resource_version: str = ""


class Lock(Protocol):
    """Where the record is kept: a Lease of the API server."""

    async def get(self) -> LeaseRecord | None:
        """The record; None if there is none yet."""

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        """Make the first record; AlreadyExists if somebody was faster."""

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        """Replace the record; Conflict unless it still is at that resourceVersion."""

    def watch(self, resource_version: str) -> AsyncGenerator[LeaseRecord, None]:
        """The records that follow. It may end or fail at any time."""


class ElectionTimes(msgspec.Struct, frozen=True):
    """How long a lease holds, when a leader gives up renewing it, and how often it tries, in seconds."""

    lease_duration: float = 15
    renew_deadline: float = 10
    retry_period: float = 2

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > self.retry_period * JITTER > 0:
            raise ValueError(
                f"leader election needs lease duration > renew deadline > retry period x {JITTER}, "
                f"got {self.lease_duration} s, {self.renew_deadline} s and {self.retry_period} s"
            )


class LeaderElector:
    """One candidate for one lease. `attempt` it until that succeeds, then `hold` until it raises LeaseLost; `release`
    it when the work is over. `Candidacy` does so for one lease or several."""

    def __init__(self, lock: Lock, identity: str, times: ElectionTimes | None = None) -> None:
        self.identity = identity
        self.times = times or ElectionTimes()
        self.slow_paths = 0  # renewals that had to read the lease first
        self.trouble = ""  # why the last attempt had no answer
        self._lock = lock
        self._seen: LeaseRecord | None = None
        self._seen_at = 0.0
        self._renewed_at = 0.0

    @property
    def leads(self) -> bool:
        """Whether this candidate is leader, as far as it can know."""
        return self._is_ours(self._seen) and self._remaining() > 0

    @property
    def is_leader(self) -> bool:
        """The same, but from any thread and without regard to time: for metrics."""
        return self._is_ours(self._seen)

    @property
    def holder(self) -> str:
        return self._seen.holder if self._seen else ""

    # --- Becoming leader --------------------------------------------------------------------------------------------

    async def until_worth_trying(self) -> None:
        """Follow the lease until it is free. Where that fails, wait for the time of a retry."""
        if self._seen is not None and self._seen.holder:
            try:
                following = self._lock.watch(self._seen.resource_version)
                async with asyncio.timeout_at(self._expiry()) as limit, aclosing(following):
                    async for record in following:
                        self._see(record)
                        if not record.holder:
                            return
                        limit.reschedule(self._expiry())
            except TimeoutError:
                return
            except KapstanError as error:
                log.debug("Leader election: cannot follow the lease: %s", error)
        await asyncio.sleep(self.times.retry_period * (1 + random.random() * JITTER))  # noqa: S311

    def _expiry(self) -> float:
        return self._seen_at + self.times.lease_duration

    # --- Staying leader ---------------------------------------------------------------------------------------------

    async def hold(self) -> None:
        """Renew the lease for ever; LeaseLost if it cannot be renewed in time or somebody else has it."""
        while True:
            await asyncio.sleep(min(self.times.retry_period, self._remaining()))
            # Asleep for longer than that (a stopped process, a suspended machine): others may have waited it out.
            if self.leads:
                await self.attempt()
            if not self.leads:
                raise LeaseLost(self._why())

    async def release(self) -> None:
        """Give the lease up, so that the next leader need not wait for it to run out."""
        record = self._seen
        if record is None or not self._is_ours(record):
            return
        self._seen = None
        freed = msgspec.structs.replace(record, holder="", duration=1, renewed=datetime.now(UTC))
        try:
            async with asyncio.timeout(self.times.renew_deadline):
                await self._lock.update(freed)
        except (KapstanError, TimeoutError) as error:
            log.warning("Leader election: the lease could not be released, it will run out: %s", error)

    def _remaining(self) -> float:
        return self._renewed_at + self.times.renew_deadline - self._now()

    def _why(self) -> str:
        if self._seen is not None and not self._is_ours(self._seen):
            return f"leader election lost: {self._seen.holder or 'nobody'} holds the lease now"
        return f"leader election lost: the lease could not be renewed for {self.times.renew_deadline:g} s"

    # --- One attempt ------------------------------------------------------------------------------------------------

    async def attempt(self) -> bool:
        """Take or renew the lease if that is allowed; True if this candidate is leader afterwards."""
        began = self._now()
        deadline = self._remaining() if self._is_ours(self._seen) else self.times.renew_deadline
        try:
            async with asyncio.timeout(deadline):
                written = await self._renew_blindly() or await self._take()
        except (KapstanError, TimeoutError) as error:
            self.trouble = str(error) or f"no answer for {deadline:.0f} s"
            log.warning("Leader election: %s", self.trouble)
            return False
        self.trouble = ""
        if written is None:
            return False
        self._see(written)
        # From when the request was made: the others may have seen its effect before we saw the answer.
        self._renewed_at = began
        return True

    async def _renew_blindly(self) -> LeaseRecord | None:
        """Renew what we hold without reading it first; None if it is not (or no longer) ours."""
        if self._seen is None or not self._is_ours(self._seen):
            return None
        try:
            return await self._lock.update(self._claim(self._seen))
        except Conflict:
            self.slow_paths += 1
            return None

    async def _take(self) -> LeaseRecord | None:
        """Read the lease, and take it unless another holds it."""
        current = await self._lock.get()
        if current is None:
            return await self._lock.create(self._claim(None))
        self._see(current)
        if current.holder and not self._is_ours(current) and self._now() < self._expiry():
            return None
        return await self._lock.update(self._claim(current))

    def _claim(self, current: LeaseRecord | None) -> LeaseRecord:
        now = datetime.now(UTC)
        ours = current is not None and self._is_ours(current)
        transitions = current.transitions if current else 0
        return LeaseRecord(
            holder=self.identity,
            duration=int(self.times.lease_duration),
            acquired=current.acquired if current and ours else now,
            renewed=now,
            transitions=transitions if ours or current is None else transitions + 1,
            resource_version=current.resource_version if current else "",
        )

    def _see(self, record: LeaseRecord) -> None:
        if self._seen is None or record.resource_version != self._seen.resource_version:
            self._seen, self._seen_at = record, self._now()

    def _is_ours(self, record: LeaseRecord | None) -> bool:
        return record is not None and record.holder == self.identity

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
