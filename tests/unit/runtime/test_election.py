"""Leader election over a lease kept in memory, in time that is skipped."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.runtime.leases import MemoryLease, Network

from kapstan.runtime.candidacy import Candidacy
from kapstan.runtime.election import ElectionTimes, LeaderElector, LeaseLost


@pytest.fixture
async def lease() -> MemoryLease:
    return MemoryLease()


def now() -> float:
    return asyncio.get_running_loop().time()


async def acquire(elector: LeaderElector) -> None:
    await Candidacy({"lease": elector}).acquire()


async def test_the_first_candidate_leads_at_once(lease: MemoryLease) -> None:
    elector = LeaderElector(Network(lease), "a")
    await acquire(elector)
    assert elector.leads and elector.holder == "a"
    assert lease.record is not None
    assert (lease.record.holder, lease.record.duration, lease.record.transitions) == ("a", 15, 0)


async def test_a_leader_keeps_the_lease_for_as_long_as_it_renews(lease: MemoryLease) -> None:
    elector = LeaderElector(Network(lease), "a")
    await acquire(elector)
    assert lease.record is not None
    acquired = lease.record.acquired
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(600):
            await elector.hold()
    assert elector.leads
    assert int(lease.record.resource_version) > 250, "about every two seconds"
    assert lease.record.acquired == acquired


async def test_a_second_candidate_waits_until_the_lease_runs_out(lease: MemoryLease) -> None:
    first, second = LeaderElector(Network(lease), "a"), LeaderElector(Network(lease), "b")
    await acquire(first)
    started = now()
    await acquire(second)
    assert 15 <= now() - started < 15.5
    assert lease.record is not None
    assert (lease.record.holder, lease.record.transitions) == ("b", 1)


async def test_a_released_lease_is_taken_over_at_once(lease: MemoryLease) -> None:
    first, second = LeaderElector(Network(lease), "a"), LeaderElector(Network(lease), "b")
    await acquire(first)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(acquire(second))
        await asyncio.sleep(1)
        started = now()
        await first.release()
        await waiting
        assert now() - started < 0.5
    assert not first.leads and second.leads


async def test_a_candidate_that_cannot_watch_polls(lease: MemoryLease) -> None:
    network = Network(lease)
    network.watchable = False
    first, second = LeaderElector(Network(lease), "a"), LeaderElector(network, "b")
    await acquire(first)
    started = now()
    await acquire(second)
    assert 15 <= now() - started < 15 + 2 * 4.4 + 1


async def test_a_leader_that_cannot_renew_counts_itself_out_before_others_come(lease: MemoryLease) -> None:
    network = Network(lease)
    first, second = LeaderElector(network, "a"), LeaderElector(Network(lease), "b")
    await acquire(first)
    renewed = now()
    network.cut = True

    async def hold() -> float:
        with pytest.raises(LeaseLost, match="could not be renewed for 10 s"):
            await first.hold()
        return now()

    async def wait() -> float:
        await acquire(second)
        return now()

    async with asyncio.TaskGroup() as group:
        lost, taken = group.create_task(hold()), group.create_task(wait())
    assert lost.result() - renewed <= 10
    assert taken.result() - renewed >= 15


async def test_a_leader_finds_out_when_somebody_took_the_lease(lease: MemoryLease) -> None:
    elector = LeaderElector(Network(lease), "a")
    await acquire(elector)
    assert lease.record is not None
    await lease.update(msgspec.structs.replace(lease.record, holder="thief"))
    with pytest.raises(LeaseLost, match="thief holds the lease now"):
        await elector.hold()


async def test_a_change_of_the_lease_that_is_not_its_holder_costs_one_read(lease: MemoryLease) -> None:
    elector = LeaderElector(Network(lease), "a")
    await acquire(elector)
    assert lease.record is not None
    await lease.update(lease.record)  # somebody put a label on it
    with suppress(TimeoutError):
        async with asyncio.timeout(5):
            await elector.hold()
    assert elector.leads and elector.slow_paths == 1


async def test_a_lease_that_was_deleted_is_made_again(lease: MemoryLease) -> None:
    elector = LeaderElector(Network(lease), "a")
    await acquire(elector)
    lease.record = None
    with suppress(TimeoutError):
        async with asyncio.timeout(5):
            await elector.hold()
    assert elector.leads


async def test_a_process_that_was_stopped_does_not_go_on_leading(lease: MemoryLease) -> None:
    elector = LeaderElector(Network(lease), "a")
    await acquire(elector)
    holding = asyncio.ensure_future(elector.hold())
    await asyncio.sleep(1)
    loop: Any = asyncio.get_running_loop()
    loop.now += 20
    assert not elector.leads
    with pytest.raises(LeaseLost):
        await holding


async def test_releasing_what_one_does_not_hold_changes_nothing(lease: MemoryLease) -> None:
    first, second = LeaderElector(Network(lease), "a"), LeaderElector(Network(lease), "b")
    await acquire(first)
    await second.release()
    assert lease.record is not None and lease.record.holder == "a"


async def test_a_release_that_fails_is_no_error(lease: MemoryLease, caplog: pytest.LogCaptureFixture) -> None:
    network = Network(lease)
    elector = LeaderElector(network, "a")
    await acquire(elector)
    network.cut = True
    await elector.release()
    assert "could not be released" in caplog.text


def test_times_that_cannot_be_safe_are_refused() -> None:
    with pytest.raises(ValueError, match="lease duration > renew deadline"):
        ElectionTimes(10, 10, 2)
    with pytest.raises(ValueError, match="retry period"):
        ElectionTimes(15, 2, 2)


EVENTS = st.lists(
    st.tuples(st.floats(0.1, 12), st.integers(0, 2), st.sampled_from(["cut", "heal", "slow", "fast", "die", "blind"])),
    max_size=25,
)


@given(events=EVENTS)
@settings(max_examples=60, deadline=None)
def test_there_are_never_two_leaders(
    skipping_loop: type[asyncio.SelectorEventLoop], events: list[tuple[float, int, str]]
) -> None:
    """Three candidates over networks that fail at random: at no moment do two believe that they lead."""

    async def scenario() -> None:
        lease = MemoryLease()
        networks = [Network(lease) for _ in range(3)]
        electors = [LeaderElector(network, str(index)) for index, network in enumerate(networks)]

        async def campaign(index: int) -> None:
            while True:
                elector = electors[index] = LeaderElector(networks[index], f"{index}-{now()}")
                await acquire(elector)
                with suppress(LeaseLost):
                    await elector.hold()

        async def check() -> None:
            while True:
                assert sum(elector.leads for elector in electors) <= 1
                await asyncio.sleep(0.05)

        async with asyncio.TaskGroup() as group:
            candidates = [group.create_task(campaign(index)) for index in range(3)]
            checking = group.create_task(check())
            for wait, index, what in events:
                await asyncio.sleep(wait)
                network = networks[index]
                match what:
                    case "cut" | "heal":
                        network.cut = what == "cut"
                    case "slow" | "fast":
                        network.latency = 4.0 if what == "slow" else 0.01
                    case "blind":
                        network.watchable = not network.watchable
                    case "die":
                        candidates[index].cancel()
                        electors[index] = LeaderElector(network, "dead")
                        candidates[index] = group.create_task(campaign(index))
            for network in networks:
                network.cut, network.latency, network.watchable = False, 0.01, True
            await asyncio.sleep(60)
            assert sum(elector.leads for elector in electors) == 1, "once all is well, somebody leads"
            for task in (*candidates, checking):
                task.cancel()

    with asyncio.Runner(loop_factory=skipping_loop) as runner:
        runner.run(scenario())
