"""Candidates for several leases: all of them or none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from tests.unit.runtime.leases import MemoryLease, Network

from kapstan.machinery.errors import Forbidden
from kapstan.runtime.candidacy import Candidacy
from kapstan.runtime.election import LeaderElector, LeaseLost, LeaseRecord


class Leases:
    """Leases of an API server, by name."""

    def __init__(self, *names: str) -> None:
        self.all = {name: MemoryLease() for name in names}

    def candidacy(self, identity: str, names: Iterable[str]) -> Candidacy:
        return Candidacy({name: LeaderElector(Network(self.all[name]), identity) for name in names})

    def holders(self) -> dict[str, str]:
        return {name: lease.record.holder if lease.record else "" for name, lease in self.all.items()}


async def settle() -> None:
    await asyncio.sleep(3)  # skipped, and shorter than a lease


async def test_who_has_a_lease_in_common_never_works_at_the_same_time() -> None:
    leases = Leases("a", "b", "c")
    first, second = leases.candidacy("first", "ab"), leases.candidacy("second", "ac")
    await first.acquire()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(second.acquire())
        await settle()
        assert not waiting.done() and second.obstacle == "the lease a is held by first"
        await first.release()
    assert leases.holders() == {"a": "second", "b": "", "c": "second"}
    assert second.obstacle == ""


async def test_who_has_none_in_common_does_not_wait() -> None:
    leases = Leases("a", "b", "c")
    await leases.candidacy("first", "ac").acquire()
    await leases.candidacy("second", "b").acquire()
    assert leases.holders() == {"a": "first", "b": "second", "c": "first"}


async def test_who_waits_for_one_lease_keeps_no_other_from_its_holder() -> None:
    """It would be one that nobody can use."""
    leases = Leases("a", "b")
    await leases.candidacy("first", "b").acquire()
    both = leases.candidacy("both", "ab")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(both.acquire())
        await settle()
        assert both.obstacle == "the lease b is held by first"
        await leases.candidacy("third", "a").acquire()
        assert leases.holders() == {"a": "third", "b": "first"}
        waiting.cancel()


async def test_the_loss_of_one_lease_is_told_at_once() -> None:
    leases = Leases("a", "b")
    candidacy, told = leases.candidacy("first", "ab"), list[str]()
    await candidacy.acquire()
    lease = leases.all["b"]
    assert lease.record is not None
    await lease.update(LeaseRecord(holder="thief", resource_version=lease.record.resource_version))
    with pytest.raises(ExceptionGroup) as raised:
        await candidacy.hold(lambda error: told.append(str(error)))
    assert raised.group_contains(LeaseLost)
    assert told == ["leader election lost: thief holds the lease now"]


async def test_leases_that_are_taken_too_slowly_are_taken_anew() -> None:
    """The first ran out before the last was held: nobody leads with it."""
    first = MemoryLease()
    slow = [Network(MemoryLease()), Network(MemoryLease())]
    electors = {str(index): LeaderElector(way, "us") for index, way in enumerate([Network(first), *slow])}
    for way in slow:
        way.latency = 1.5  # four times to take a lease: longer than a lease holds, for both
    waiting = asyncio.ensure_future(Candidacy(electors).acquire())
    await asyncio.sleep(12.5)
    assert not waiting.done()
    for way in slow:
        way.latency = 0.01
    await waiting
    assert all(elector.leads for elector in electors.values())
    assert first.record is not None and int(first.record.resource_version) == 3, "taken, given up, taken again"


async def test_a_lease_that_may_not_be_read_is_said() -> None:
    class Guarded(Network):
        async def get(self) -> LeaseRecord | None:
            raise Forbidden("leases is forbidden")

    candidacy = Candidacy({"a": LeaderElector(Guarded(MemoryLease()), "first")})
    waiting = asyncio.ensure_future(candidacy.acquire())
    await settle()
    assert candidacy.obstacle == "the lease a cannot be taken: leases is forbidden"
    waiting.cancel()
