"""Drain: the node is cordoned and its pods are asked to leave. Each that leaves wakes the machine, and so does a budget
that changes, if one stood in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

from kapstan.client.interface import Patch, metadata_of
from kapstan.cluster.api.core import MachineDrainRule
from kapstan.cluster.core.deletion import Stage
from kapstan.cluster.core.machine.eviction import Evictions, evict, plan
from kapstan.cluster.core.machine.podfilter import Judge, Judged, daemon_set_of, lost_at, rules_for
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.remote.connection import Connection
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.k8s.apps_v1 import DaemonSet
from kapstan.k8s.core_v1 import Namespace, Node, Pod
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey

__all__ = ("NoAnswer", "drain_node", "is_unreachable", "judged_pods", "look_again")

# Seconds until an eviction that was refused is asked for again, if no budget has changed: there are other reasons.
_RETRY = 20.0
# The kubelet of an unreachable node cannot end pods, so there is no use in waiting for them.
_UNREACHABLE_GRACE = 1
_READING = 10.0  # seconds that reading the pods of a node may take


class NoAnswer(KapstanError):
    """The workload cluster does not say what has to be known."""


async def drain_node(scope: Scope, connection: Connection, since: datetime) -> Stage | None:
    """Take the next step; None if the node is drained."""
    machine = scope.machine
    assert machine.status.node_ref is not None
    node = await connection.client.find(Node, machine.status.node_ref.name)
    if node is None:
        return None  # somebody has deleted it
    if not node.spec.unschedulable:
        await connection.client.patch(node, Patch.merge({"spec": {"unschedulable": True}}))
    unreachable = is_unreachable(node)
    evictions = plan(await judged_pods(scope, connection, node))
    await evict(connection.live, evictions, grace_period=_UNREACHABLE_GRACE if unreachable else None)
    if evictions.done:
        return None
    if evictions.failed:
        scope.departures.follow_budgets(connection, machine.key)
    after = look_again(evictions, datetime.now(UTC), unreachable=unreachable)
    return Stage(Reason.DRAINING_NODE, evictions.message(since), after)


def look_again(evictions: Evictions, now: datetime, *, unreachable: bool) -> float:
    """Seconds until there is something to do that nobody tells us; 0 if there is nothing."""
    times = [_RETRY] if evictions.failed else []
    if unreachable:
        times += _until_lost((*evictions.leaving, *evictions.completing, *evictions.completing_later), now)
    return min(times, default=0)


def _until_lost(pods: Iterable[Pod], now: datetime) -> list[float]:
    """Seconds until each of these pods is given up. That one is leaving may have yet to be heard of, which wakes us."""
    times = [time for pod in pods if (time := lost_at(pod)) is not None]
    return [max((time - now).total_seconds(), 0) + 0.05 for time in times]


async def judged_pods(scope: Scope, connection: Connection, node: Node) -> list[Judged]:
    """The pods of a node, with what is to be done with each."""
    machine = scope.machine
    try:
        async with asyncio.timeout(_READING):
            pods = await scope.departures.pods_on(node.name, connection, machine.key)
    except TimeoutError as error:
        raise NoAnswer(f"the pods of Node {node.name} could not be read within {_READING:g} s") from error
    if not pods:
        return []
    rules = rules_for(machine, scope.cluster, await scope.client.list(MachineDrainRule, machine.namespace))
    known = await _daemon_sets(scope, connection, pods)
    judge = Judge(
        rules,
        has_daemon_set=known.__contains__,
        namespaces=await _namespaces(connection, rules),
        unreachable=is_unreachable(node),
        now=datetime.now(UTC),
    )
    return [judge.judge(pod) for pod in pods]


def is_unreachable(node: Node) -> bool:
    """Whether nobody knows how the node is: its kubelet no longer says."""
    return any(condition.type == "Ready" and condition.status == "Unknown" for condition in node.status.conditions)


async def _daemon_sets(scope: Scope, connection: Connection, pods: list[Pod]) -> set[ObjectKey]:
    """Those DaemonSets of the pods that exist; each is asked for once."""
    known = scope.departures.daemon_sets(scope.machine.key)
    for key in {key for pod in pods if (key := daemon_set_of(pod)) is not None} - known:
        if await connection.live.find(metadata_of(DaemonSet), key.name, key.namespace) is not None:
            known.add(key)
    return known


async def _namespaces(connection: Connection, rules: list[MachineDrainRule]) -> dict[str, dict[str, str]]:
    """The labels of namespaces, if a rule asks for them."""
    if not any(selection.namespace_selector for rule in rules for selection in rule.spec.pods):
        return {}
    found = await connection.live.list(metadata_of(Namespace))
    return {namespace.name: namespace.metadata.labels for namespace in found}
