"""Kubelets: all simulated nodes of one cluster, on one connection: one watch of pods, one timer for leases.

A node registers itself, shows by its lease that it lives, and takes the pods that are bound to it through their lives.
Everything that matters is in the API, so a simulation that ends and begins again goes on where it was, once its nodes
are registered again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from kapstan.client.interface import Patch
from kapstan.k8s.core_v1 import Node, NodeStatus, Pod
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import AlreadyExists, KapstanError, NotFound
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import now
from kapstan.runtime.change import Change
from kapstan.runtime.cluster import Cluster
from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import ControllerOptions
from kapstan.runtime.handler import enqueue_object
from kapstan.runtime.reconcile import Outcome, Result
from kapstan.runtime.source import KindSource
from kapstan.simulation.kubelets.addresses import PodAddresses, Ranges
from kapstan.simulation.kubelets.behaviour import behaviour_of
from kapstan.simulation.kubelets.heartbeats import Heartbeats
from kapstan.simulation.kubelets.node import (
    RANGE,
    desired_lease,
    desired_node,
    desired_status,
    internal_ip,
    labels_of,
    range_of,
)
from kapstan.simulation.kubelets.pod import Addresses, progress, stopped
from kapstan.simulation.kubelets.settings import Failure, NodeSpec, Timing
from kapstan.simulation.pods import brief, index_by_node, is_finished
from kapstan.simulation.writing import write_status

__all__ = ("Kubelets",)

log = logging.getLogger(__name__)

_PATIENCE = 10 * 365 * 86_400.0  # seconds: an API server that is away is no reason to give up
_PODS = ControllerOptions(max_concurrent_reconciles=16, cache_sync_timeout=_PATIENCE)
_NODES = ControllerOptions(max_concurrent_reconciles=1, cache_sync_timeout=_PATIENCE)


class _Simulated:
    """A node, as far as this process has to remember it."""

    def __init__(self, spec: NodeSpec, cidr: str) -> None:
        self.spec = spec
        self.addresses = PodAddresses(cidr)
        self.host = internal_ip(spec)
        self.ready = spec.ready
        self.failure: Failure | None = None


class Kubelets:
    """Simulated nodes of one cluster. Nothing is watched before there is one."""

    def __init__(self, cluster: Cluster, *, timing: Timing | None = None) -> None:
        """On a cluster that somebody else runs."""
        self.timing = timing or Timing()
        self._cluster = cluster
        self._nodes: dict[str, _Simulated] = {}
        self._ranges: Ranges | None = None
        self._reading = asyncio.Lock()
        self._begun: dict[str, datetime] = {}  # when pods began, by uid: exactly, where the API has seconds only
        self._heartbeats = Heartbeats(cluster.live, self.timing.heartbeat, self._renew_lost)
        self._populated = asyncio.Event()
        self._flapping = asyncio.Event()
        self._controller: Controller | None = None

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    # --- Nodes ------------------------------------------------------------------------------------------------------

    async def register(self, node: NodeSpec) -> None:
        """Have a computer join the cluster. One that is there already says what has changed; a failure goes on."""
        known = self._nodes.get(node.name)
        if known is not None and known.spec == node:
            return
        registered = await self._ensure_node(node)
        await self._ensure_lease(registered)
        if known is None:
            self._nodes[node.name] = _Simulated(node, range_of(registered))
        else:
            known.spec, known.host = node, internal_ip(node)
        if known is None or known.failure is not Failure.DEAD:
            self._heartbeats.add(node.name)
        self._populated.set()
        self._wake_pods(node.name)

    async def remove(self, name: str, *, delete: bool = False) -> None:
        """Take a computer away: no sign of life any more, its pods stay as they are. With `delete` its Node goes."""
        self._heartbeats.remove(name)
        self._nodes.pop(name, None)
        if delete:
            await self._cluster.live.delete(Node, name)

    async def fail(self, name: str, failure: Failure) -> None:
        """Have something be wrong with a computer; KeyError if it is not one of ours."""
        node = self._nodes[name]
        if node.failure is failure:
            return
        if failure is Failure.DEAD:
            self._heartbeats.remove(name)
        else:
            self._heartbeats.add(name)
            await self._set_ready(node, False)
        node.failure = failure
        if failure is Failure.FLAPPING:
            self._flapping.set()

    async def recover(self, name: str) -> None:
        """Have nothing be wrong with it any more; KeyError if it is not one of ours."""
        node = self._nodes[name]
        if node.failure is None and node.ready:
            return
        self._heartbeats.add(name)
        await self._set_ready(node, True)
        node.failure = None
        self._wake_pods(name)

    async def _ensure_node(self, spec: NodeSpec) -> Node:
        client = self._cluster.live
        found = await client.find(Node, spec.name)
        if found is None:
            wanted = desired_node(spec, "" if spec.pod_cidr else await self._next_range(), now())
            try:
                found = await client.create(wanted)
            except AlreadyExists:
                found = await client.get(Node, spec.name)
        known = self._nodes.get(spec.name)
        ready = known.ready if known is not None else spec.ready
        await write_status(client, found, desired_status(spec, found.status, ready, now()))
        return await self._described(spec, found)

    async def _described(self, spec: NodeSpec, found: Node) -> Node:
        """What a kubelet adds to a node that exists: its labels, its providerID where there is none, a range."""
        async with self._cluster.live.edit(found) as draft:
            draft.metadata.labels |= labels_of(spec)
            draft.metadata.annotations |= spec.annotations
            draft.spec.provider_id = draft.spec.provider_id or spec.provider_id or None
            if not range_of(draft):
                draft.metadata.annotations[RANGE] = await self._next_range()
        return draft

    async def _ensure_lease(self, node: Node) -> None:
        try:
            await self._cluster.live.create(desired_lease(node))
        except AlreadyExists:
            return  # the next heartbeat renews it

    async def _renew_lost(self, name: str) -> None:
        node = await self._cluster.live.find(Node, name)
        if node is not None:
            await self._ensure_lease(node)

    async def _next_range(self) -> str:
        async with self._reading:
            if self._ranges is None:
                ranges = Ranges()
                ranges.note([range_of(one) for one in await self._cluster.live.list(Node)])
                self._ranges = ranges
        return self._ranges.take()

    async def _set_ready(self, node: _Simulated, ready: bool) -> None:
        status = desired_status(node.spec, NodeStatus(), ready, now())
        patch = Patch.strategic({"status": {"conditions": to_builtins(status.conditions)}})
        await self._cluster.live.patch_named(Node, node.spec.name, "", patch, subresource="status")
        node.ready = ready
        self._wake_pods(node.spec.name)

    async def _insist(self, key: ObjectKey) -> Outcome:
        """A node that was given up says that it lives, if it does: this process may have been held up for a while."""
        node = self._nodes.get(key.name)
        snapshot = self._cluster.informers.shared(Node).store.get(key)
        if node is not None and node.failure is not Failure.DEAD and snapshot is not None:
            said: Node = snapshot.decode(Node)
            if any(one.type == "Ready" and one.status == "Unknown" for one in said.status.conditions):
                await self._set_ready(node, node.ready)
        return None

    # --- Running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Be those nodes until cancelled."""
        await self._populated.wait()
        pods, nodes = self._cluster.informers.shared(Pod), self._cluster.informers.shared(Node)
        index_by_node(pods)
        pod_source, node_source = KindSource(pods, Pod, self._concerned), KindSource(nodes, Node, enqueue_object)
        self._controller = Controller("kubelets", self._reconcile, sources=[pod_source], options=_PODS)
        lives = Controller("kubelet-status", self._insist, sources=[node_source], options=_NODES)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._controller.run(), name="kubelets")
            group.create_task(lives.run(), name="kubelets' status")
            group.create_task(self._heartbeats.run(), name="heartbeats")
            group.create_task(self._flap(), name="flapping nodes")

    async def _flap(self) -> None:
        while True:
            await self._flapping.wait()
            await asyncio.sleep(self.timing.flap)
            nodes = [node for node in self._nodes.values() if node.failure is Failure.FLAPPING]
            if not nodes:
                self._flapping.clear()
            for node in nodes:
                try:
                    await self._set_ready(node, not node.ready)
                except KapstanError as error:
                    log.warning("Node %s could not say that it flaps: %s", node.spec.name, error)

    # --- Pods -------------------------------------------------------------------------------------------------------

    def _concerned(self, change: Change) -> Iterable[ObjectKey]:
        name = brief(change.snapshot).spec.node_name
        node = self._nodes.get(name) if name else None
        if change.new is None:
            self._begun.pop(change.snapshot.uid, None)
            if node is not None:
                node.addresses.release(change.snapshot.uid)
            return ()
        return () if node is None else (change.key,)

    def _wake_pods(self, name: str) -> None:
        if self._controller is None:
            return  # it sees every pod when it starts
        store = self._cluster.informers.shared(Pod).store
        for snapshot in store.by_index(index_by_node(self._cluster.informers.shared(Pod)), name):
            self._controller.queue.add(snapshot.key)

    async def _reconcile(self, key: ObjectKey) -> Outcome:
        snapshot = self._cluster.informers.shared(Pod).store.get(key)
        if snapshot is None:
            return None
        pod: Pod = snapshot.decode(Pod)
        node = self._nodes.get(pod.spec.node_name or "")
        if node is None or node.failure is Failure.DEAD:
            return None
        try:
            return await (self._end(pod) if pod.deleting else self._go_on(node, pod))
        except NotFound:
            return None  # it has gone meanwhile

    async def _go_on(self, node: _Simulated, pod: Pod) -> Outcome:
        if is_finished(pod) or not node.ready:
            return None
        moment = datetime.now(UTC)
        begun = self._begun.setdefault(pod.uid, pod.status.start_time or moment)
        address = node.host if pod.spec.host_network else node.addresses.of(pod.uid, pod.status.pod_ip)
        behaviour = behaviour_of(pod, self.timing)
        step = progress(pod, behaviour, Addresses(node.host, address), begun, moment)
        await write_status(self._cluster.client, pod, step.status)
        return None if step.again is None else Result(requeue_after=step.again)

    async def _end(self, pod: Pod) -> Outcome:
        """Containers end when they do, and no later than the grace period; then the pod goes."""
        grace = pod.metadata.deletion_grace_period_seconds or 0
        deadline = pod.metadata.deletion_timestamp or now()
        stop = min(behaviour_of(pod, self.timing).stop, grace)
        left = (deadline - timedelta(seconds=grace - stop) - datetime.now(UTC)).total_seconds()
        if stop and left > 0:
            return Result(requeue_after=left)
        if pod.metadata.finalizers:
            if not is_finished(pod):
                await write_status(self._cluster.client, pod, stopped(pod, now()))
            if not grace:
                return None  # who holds the finalizers decides
        await self._cluster.client.delete(pod, grace_period=0, uid=pod.uid)
        return None
