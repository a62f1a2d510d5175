"""Examination: all machines that a check selects are looked at, with their nodes, at one moment."""

from __future__ import annotations

from datetime import UTC, datetime

from kapstan.cluster.api.core import Machine, MachineHealthCheck
from kapstan.cluster.api.core.common import HealthChecks
from kapstan.cluster.core.machinehealthcheck.health import Target, judge
from kapstan.cluster.core.machinehealthcheck.limits import allowance
from kapstan.cluster.core.machinehealthcheck.scope import Examination, Scope
from kapstan.cluster.core.selection import selector_of
from kapstan.cluster.remote.connection import Connection
from kapstan.cluster.remote.health import NotConnected
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, true_on
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.labels import Operator, Requirement, Selector
from kapstan.runtime.reconcile import Outcome

__all__ = ("examine", "is_left_alone")


async def examine(scope: Scope) -> Outcome:
    """Judge every machine. While the workload cluster cannot be asked, what was found last stands."""
    try:
        connection = _connection(scope)
    except NotConnected:
        return None  # the connection wakes us
    check = scope.check
    at = datetime.now(UTC)
    checks = check.spec.checks or HealthChecks()
    targets = [
        await _target(machine, connection)
        for machine in await scope.client.list(Machine, check.namespace, labels=str(_selector_of(check)))
        if not is_left_alone(machine)
    ]
    verdicts = [judge(target, scope.cluster, checks, at) for target in targets]
    healthy = sum(verdict.healthy for verdict in verdicts)
    scope.examination = Examination(verdicts, allowance(scope.trigger, len(verdicts), healthy))
    return None


def _selector_of(check: MachineHealthCheck) -> Selector:
    """The machines that a check is about: those of its cluster that its selector matches."""
    wanted = selector_of(check)
    return Selector(
        [*wanted.requirements, Requirement(labels.CLUSTER_NAME, Operator.EQUALS, [check.spec.cluster_name])]
    )


def is_left_alone(machine: Machine) -> bool:
    """Whether somebody wants nobody to remediate the machine; it does not count then."""
    annotations = machine.metadata.annotations
    return labels.PAUSED in annotations or labels.SKIP_REMEDIATION in annotations


def _connection(scope: Scope) -> Connection | None:
    """None while there cannot be any nodes."""
    if not true_on(scope.cluster, ConditionType.CONTROL_PLANE_INITIALIZED):
        return None
    return scope.clusters.connection(scope.cluster.key)


async def _target(machine: Machine, connection: Connection | None) -> Target:
    if connection is None or machine.status.node_ref is None:
        return Target(machine)
    name = machine.status.node_ref.name
    node = await connection.client.find(Node, name)
    if node is None:
        # That a node is gone costs the machine its life: better ask than trust the cache.
        node = await connection.live.find(Node, name)
    return Target(machine, node, node_gone=node is None)
