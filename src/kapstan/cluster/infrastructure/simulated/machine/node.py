"""The node: what the computer does once it has booted, and how it fails."""

from __future__ import annotations

from datetime import UTC, datetime

from kapstan.cluster.infrastructure.simulated.machine.boot import booted_at
from kapstan.cluster.infrastructure.simulated.machine.scope import Scope, Waiting
from kapstan.cluster.infrastructure.simulated.machine.trouble import trouble_at
from kapstan.cluster.remote.health import NotConnected
from kapstan.machinery.meta import Quantity
from kapstan.runtime.reconcile import Outcome, Result
from kapstan.simulation import NodeSpec

__all__ = ("desired_node", "run_node")

_ZONE = "topology.kubernetes.io/zone"
_CAPACITY = {"cpu": "4", "memory": "16Gi", "pods": "110"}  # of what is not said
_VERSION = "v1.36.3"


async def run_node(scope: Scope) -> Outcome:
    if not (scope.held and scope.provisioned) or scope.cluster_key is None:
        return None
    computer = scope.computer
    trouble = trouble_at(computer, booted_at(computer), datetime.now(UTC))
    if trouble.died:  # a provider sees whether a computer runs, not how its node is
        scope.waiting = Waiting("Died", "The computer has stopped and does not start again")
    if trouble.boots:
        try:
            await scope.computers.on(scope.cluster_key, desired_node(scope), trouble.symptom)
        except NotConnected:
            return None  # we are woken when there is a connection
    return Result(requeue_after=trouble.lasts) if trouble.lasts else None


def desired_node(scope: Scope) -> NodeSpec:
    """The node that the computer registers as."""
    computer, machine = scope.computer, scope.machine
    capacity = {**_CAPACITY, **{name: str(value) for name, value in computer.spec.capacity.items()}}
    zone = computer.status.failure_domain
    return NodeSpec(
        name=computer.name,
        provider_id=computer.spec.provider_id or "",
        version=(machine.spec.version if machine is not None else None) or _VERSION,
        addresses=tuple((str(one.type), one.address) for one in computer.status.addresses),
        labels={_ZONE: zone} if zone else {},
        cpu=capacity["cpu"],
        memory=capacity["memory"],
        pods=int(Quantity(capacity["pods"])),
        extended={name: value for name, value in capacity.items() if name not in _CAPACITY},
    )
