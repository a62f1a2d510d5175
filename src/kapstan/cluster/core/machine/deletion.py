"""The end of a machine, in order: hooks, drain, volumes, hooks, computer, bootstrap object, node.

Each step begins when the one before is over. Where nothing is left to save (the whole cluster goes, or its control
plane is gone), the node is left alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.machine import NodeReference
from kapstan.cluster.contract.objects import BootstrapConfig, ControlPlane, InfraMachine
from kapstan.cluster.core.deletion import COMPLETED, Stage, delete_referenced, is_to_be_deleted
from kapstan.cluster.core.machine.drain import drain_node
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.core.machine.volumes import detach_volumes
from kapstan.cluster.remote.connection import Connection
from kapstan.cluster.remote.health import NotConnected
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.meta import now
from kapstan.machinery.owners import remove_finalizer
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("delete_machine", "may_touch_node")

_DEFAULT_NODE_DELETION = 10  # seconds
_NODE_RETRY = 1.0
_STUCK = Stage(Reason.INTERNAL_ERROR, "The deletion could not go on, see the other conditions")


async def delete_machine(scope: Scope) -> Outcome:
    """Take the next step, or the last."""
    scope.stage = Stage(Reason.DELETING, "Deletion started")
    for step in _STEPS_WITH_NODE if await may_touch_node(scope) else _STEPS:
        stage = await step(scope)
        if stage is not None:
            scope.stage = stage
            return Result(requeue_after=stage.requeue_after) if stage.requeue_after else None
    scope.stage = COMPLETED
    scope.departures.forget(scope.machine.key)
    remove_finalizer(scope.machine, labels.MACHINE_FINALIZER)
    return None


# --- The node, and whether it is touched ------------------------------------------------------------------------------


async def may_touch_node(scope: Scope) -> bool:
    """Whether there is a node, and a cluster that will go on without it."""
    cluster = scope.cluster
    if cluster.deleting:
        return False
    _remember_node(scope)
    if scope.machine.status.node_ref is None:
        return False
    if cluster.spec.control_plane_ref is not None:
        found = await scope.providers.find(ControlPlane, cluster.spec.control_plane_ref, cluster.namespace)
        if found is not None and (found.deleting or found.externally_managed):
            return not found.deleting
    machines = await scope.client.list(Machine, cluster.namespace, labels={labels.CLUSTER_NAME: cluster.name})
    return any(labels.CONTROL_PLANE in machine.metadata.labels and not machine.deleting for machine in machines)


def _remember_node(scope: Scope) -> None:
    """A machine may be deleted before it was known which node it is. That nobody can be asked holds up nothing."""
    machine = scope.machine
    found = scope.infrastructure.found if scope.infrastructure is not None else None
    provider_id = machine.spec.provider_id or (found.provider_id if found is not None else "")
    connection = scope.clusters.find(scope.cluster.key)
    if machine.status.node_ref is None and provider_id and connection is not None:
        nodes = connection.nodes_of(provider_id)
        if len(nodes) == 1:
            machine.status.node_ref = NodeReference(name=nodes[0].name)


# --- Steps ------------------------------------------------------------------------------------------------------------


async def _pre_drain_hooks(scope: Scope) -> Stage | None:
    hooks = _hooks(scope.machine, labels.PRE_DRAIN_HOOK)
    if not hooks:
        return None
    scope.deletion.wait_for_pre_drain_hook_start_time = scope.deletion.wait_for_pre_drain_hook_start_time or now()
    return Stage(Reason.WAITING_FOR_PRE_DRAIN_HOOK, f"Waiting for pre-drain hooks to succeed (hooks: {hooks})")


async def _drain(scope: Scope) -> Stage | None:
    deletion, timeouts = scope.deletion, scope.machine.spec.deletion
    limit = timeouts.node_drain_timeout_seconds if timeouts is not None else None
    left = _time_left(deletion.node_drain_start_time, limit)
    if labels.EXCLUDE_NODE_DRAINING in scope.machine.metadata.annotations or not _computer_stays(scope) or left == 0:
        scope.departures.drained(scope.machine.key)
        return None
    since = deletion.node_drain_start_time = deletion.node_drain_start_time or now()
    stage = await _on_workload(scope, Reason.DRAINING_NODE, lambda connection: drain_node(scope, connection, since))
    if stage is None:
        _tell(scope, "SuccessfulDrainNode", "success draining Machine's node")
    return _within(stage, _time_left(since, limit))


async def _volumes(scope: Scope) -> Stage | None:
    deletion, timeouts = scope.deletion, scope.machine.spec.deletion
    limit = timeouts.node_volume_detach_timeout_seconds if timeouts is not None else None
    left = _time_left(deletion.wait_for_node_volume_detach_start_time, limit)
    excluded = labels.EXCLUDE_WAIT_FOR_VOLUME_DETACH in scope.machine.metadata.annotations
    if excluded or not _computer_stays(scope) or left == 0:
        return None
    since = deletion.wait_for_node_volume_detach_start_time or now()
    deletion.wait_for_node_volume_detach_start_time = since
    reason = Reason.WAITING_FOR_VOLUME_DETACH
    stage = await _on_workload(scope, reason, lambda connection: detach_volumes(scope, connection, since))
    if stage is None:
        _tell(scope, "NodeVolumesDetached", "success waiting for node volumes detaching Machine's node")
    return _within(stage, _time_left(since, limit))


async def _pre_terminate_hooks(scope: Scope) -> Stage | None:
    hooks = _hooks(scope.machine, labels.PRE_TERMINATE_HOOK)
    if not hooks:
        return None
    started = scope.deletion.wait_for_pre_terminate_hook_start_time
    scope.deletion.wait_for_pre_terminate_hook_start_time = started or now()
    return Stage(Reason.WAITING_FOR_PRE_TERMINATE_HOOK, f"Waiting for pre-terminate hooks to succeed (hooks: {hooks})")


async def _infrastructure(scope: Scope) -> Stage | None:
    referenced = scope.infrastructure
    if not is_to_be_deleted(referenced):
        return None
    if referenced is None or referenced.error is not None:
        return _STUCK
    if await delete_referenced(scope.client, scope.providers, referenced, InfraMachine, scope.machine.namespace):
        return None
    return Stage(Reason.WAITING_FOR_INFRASTRUCTURE_DELETION, f"Waiting for {referenced.kind} to be deleted")


async def _bootstrap(scope: Scope) -> Stage | None:
    referenced = scope.bootstrap
    if scope.machine.spec.bootstrap.config_ref is None or not is_to_be_deleted(referenced):
        return None
    if referenced is None or referenced.error is not None:
        return _STUCK
    if await delete_referenced(scope.client, scope.providers, referenced, BootstrapConfig, scope.machine.namespace):
        return None
    return Stage(Reason.WAITING_FOR_BOOTSTRAP_DELETION, f"Waiting for {referenced.kind} to be deleted")


async def _node(scope: Scope) -> Stage | None:
    """The node goes last: it is known to be gone for good only when its computer is."""
    machine = scope.machine
    assert machine.status.node_ref is not None
    name = machine.status.node_ref.name
    try:
        await scope.clusters.connection(scope.cluster.key).client.delete(Node, name)
        return None
    except KapstanError as error:
        scope.events.warning(machine, "FailedDeleteNode", f"error deleting Machine's Node: {error}")
        timeouts = machine.spec.deletion
        limit = timeouts.node_deletion_timeout_seconds if timeouts is not None else None
        limit = _DEFAULT_NODE_DELETION if limit is None else limit
        if limit and scope.departures.node_deletion_lasts(machine.key) >= limit:
            return None  # it was worth a try
        return Stage(Reason.DELETING_NODE, f"Node {name} could not be deleted: {error}", _NODE_RETRY)


_STEPS: tuple[Callable[[Scope], Awaitable[Stage | None]], ...] = (_pre_terminate_hooks, _infrastructure, _bootstrap)
_STEPS_WITH_NODE = (_pre_drain_hooks, _drain, _volumes, *_STEPS, _node)


# --- What steps have in common ----------------------------------------------------------------------------------------


def _hooks(machine: Machine, prefix: str) -> str:
    return ",".join(sorted(name for name in machine.metadata.annotations if name.startswith(prefix)))


def _computer_stays(scope: Scope) -> bool:
    """Whether there is a computer that nobody has begun to take away."""
    found = scope.infrastructure.found if scope.infrastructure is not None else None
    terminating = scope.deletion.wait_for_pre_terminate_hook_start_time is not None
    return found is not None and not found.deleting and not terminating


async def _on_workload(
    scope: Scope, reason: str, step: Callable[[Connection], Awaitable[Stage | None]]
) -> Stage | None:
    """Do something in the workload cluster. If that fails, it is said where people look, and tried again; while there
    is no connection, it is waited for."""
    try:
        connection = scope.clusters.connection(scope.cluster.key)
    except NotConnected as error:
        return Stage(reason, f"Waiting: {error}")
    try:
        return await step(connection)
    except KapstanError as error:
        scope.stage = Stage(reason, f"This failed, and is tried again: {error}")
        raise


def _time_left(since: datetime | None, limit: int | None) -> float | None:
    """Seconds until a step may be given up; None: never."""
    if since is None or not limit:
        return None
    return max(0.0, (since + timedelta(seconds=limit) - datetime.now(UTC)).total_seconds())


def _within(stage: Stage | None, left: float | None) -> Stage | None:
    """Look again when the time is over, at the latest."""
    if stage is None or left is None:
        return stage
    times = [seconds for seconds in (stage.requeue_after, left + 0.1) if seconds]
    return stage._replace(requeue_after=min(times))


def _tell(scope: Scope, reason: str, note: str) -> None:
    node = scope.machine.status.node_ref
    scope.events.normal(scope.machine, reason, f"{note} {node.name if node is not None else ''}")
