"""Elections of managers in this process, with times that are short enough to wait for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from kapstan import Client, Config, Manager, ManagerOptions, ObjectMeta, Reconciler, controller
from kapstan.k8s.coordination_v1 import Lease
from kapstan.k8s.core_v1 import ConfigMap
from kapstan.runtime.election import ElectionTimes, LeaseLost

Eventually = Callable[[Callable[[], object]], Awaitable[None]]
# Short, but not so short that a busy machine loses a lease by itself.
SHORT = ElectionTimes(8, 5, 0.4)


def manager(config: Config, namespace: str, seen: list[str] | None = None, **options: Any) -> Manager:
    @controller(ConfigMap, name="elected", warm_up=options.pop("warm_up", False))
    class Elected(Reconciler[ConfigMap]):
        async def reconcile(self, config_map: ConfigMap) -> None:
            if seen is not None and config_map.name == "a":
                seen.append(config_map.name)

    on_lost = options.pop("on_lost", lambda error: None)
    made = Manager(
        config,
        ManagerOptions(
            namespaces=(namespace,),
            leader_election=True,
            leader_election_id=options.pop("lease", "test"),
            leader_election_namespace=namespace,
            leader_election_times=SHORT,
            **options,
        ),
        on_lease_lost=on_lost,
    )
    made.add(Elected())
    return made


async def test_only_the_leader_works_and_its_end_makes_the_other_one(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    first_seen: list[str] = []
    second_seen: list[str] = []
    second = manager(config, namespace, second_seen, warm_up=True)
    async with manager(config, namespace, first_seen).running() as first:
        await first.elected.wait()
        await eventually(lambda: first_seen)
        async with second.running():
            assert not second.elected.is_set()
            standby = second._runnables._all[0].stop.__self__  # type: ignore[union-attr]
            await eventually(lambda: standby.synced and len(standby.queue))
            assert second_seen == [], "a warm standby has its queue filled and does not touch it"
            first.stop()
            await second.elected.wait()
            await eventually(lambda: second_seen)
            metrics = second.metrics.exposition().decode()
            assert 'leader_election_master_status{name="test"} 1.0' in metrics


async def test_who_needs_a_lease_that_another_holds_does_not_work(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    """And says so; the others that it needs stay free. It works when it has all."""
    both = manager(config, namespace, lease=("free", "taken"))
    async with manager(config, namespace, lease="taken").running() as first, both.running():
        await first.elected.wait()
        await eventually(lambda: both.obstacle)
        held = await client.get(Lease, "taken", namespace)
        assert both.obstacle == f"the lease {namespace}/taken is held by {held.spec.holder_identity}"
        assert not both.elected.is_set()
        async with manager(config, namespace, lease="free").running() as third:
            await third.elected.wait()
        first.stop()
        await both.elected.wait()
        holders = {(await client.get(Lease, name, namespace)).spec.holder_identity for name in ("free", "taken")}
        assert len(holders) == 1 and both.obstacle == ""


@pytest.mark.parametrize("config", [pytest.param("real", marks=pytest.mark.real)], indirect=True)  # ours is in the loop
async def test_a_blocked_loop_does_not_cost_the_lease(config: Config, client: Client, namespace: str) -> None:
    """The main loop stands still for longer than the lease lasts; the lease is renewed nevertheless."""
    async with manager(config, namespace).running() as leading:
        await leading.elected.wait()
        before = await client.get(Lease, "test", namespace)
        time.sleep(SHORT.lease_duration + 1)  # noqa: ASYNC251 - the loop is to be blocked
        after = await client.get(Lease, "test", namespace)
        assert after.spec.holder_identity == before.spec.holder_identity
        assert before.spec.renew_time is not None and after.spec.renew_time is not None
        assert after.spec.renew_time > before.spec.renew_time
        assert after.spec.lease_transitions == 0


async def test_a_leader_that_cannot_reach_the_server_ends_before_another_begins(
    config: Config, namespace: str, proxy: Any
) -> None:
    behind = msgspec.structs.replace(config, server=f"https://127.0.0.1:{proxy.port}")
    happened: list[str] = []
    cut_off = manager(behind, namespace, on_lost=lambda error: happened.append("the leader has ended"))
    leading = asyncio.create_task(cut_off.start())
    await cut_off.elected.wait()
    async with manager(config, namespace).running() as standby:
        assert not standby.elected.is_set()
        await proxy.close()
        await standby.elected.wait()
        happened.append("the standby leads")
    with pytest.raises(LeaseLost, match="could not be renewed for 5 s"):
        await leading
    assert happened == ["the leader has ended", "the standby leads"]


async def test_an_election_without_a_name_is_refused(config: Config) -> None:
    with pytest.raises(Exception, match="leader election needs a name"):
        await Manager(config, ManagerOptions(leader_election=True)).start()
