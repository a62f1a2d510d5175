"""Booting: a computer waits for the cluster's infrastructure and its bootstrap data, and then takes its time."""

from __future__ import annotations

from datetime import datetime, timedelta
from ipaddress import IPv4Address

from kapstan.client.interface import PartialObjectMetadata, metadata_of
from kapstan.cluster.api.core.machine import MachineAddress
from kapstan.cluster.api.infrastructure.simulatedcluster import InfrastructureInitialization
from kapstan.cluster.api.infrastructure.simulatedmachine import SimulatedMachine
from kapstan.cluster.infrastructure.simulated.fate import chance, duration
from kapstan.cluster.infrastructure.simulated.machine.scope import Scope, Waiting
from kapstan.cluster.infrastructure.simulated.progress import remaining, this_moment
from kapstan.cluster.skeleton import labels
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.owners import set_owner
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("boot", "booted_at", "hold")

# A Secret with the cluster's label wakes us. One that a user made without it has to be looked for.
_LOOK_AGAIN = timedelta(seconds=10)
_NETWORK = int(IPv4Address("10.0.0.0"))
_HOSTS = 2**24 - 2


async def boot(scope: Scope) -> Outcome:
    computer = scope.computer
    if scope.provisioned:
        return None
    known = computer.spec.provider_id is not None  # by another management plane, which it was moved from
    if not known and (rest := await _wait_to_begin(scope)) is not None:
        return Result(requeue_after=rest) if rest else None
    status = computer.status
    status.start_time = status.start_time or this_moment()
    rest = timedelta() if known else remaining(status.start_time, _boot_duration(computer))
    if rest:
        scope.waiting = Waiting("Booting", "The computer is booting")
        return Result(requeue_after=rest)
    computer.spec.provider_id = computer.spec.provider_id or f"simulated://{computer.uid}"
    status.addresses = desired_addresses(computer)
    status.failure_domain = _failure_domain(scope)
    status.initialization = InfrastructureInitialization(provisioned=True)
    return None


async def hold(scope: Scope) -> Outcome:
    """Nothing is done outside of the object before the API server keeps it until we let it go."""
    await scope.draft.save()
    scope.held = True
    return None


async def _wait_to_begin(scope: Scope) -> timedelta | None:
    """None if booting can begin. Else when to look again, nothing if somebody will tell us."""
    initialization = scope.cluster.status.initialization if scope.cluster is not None else None
    if initialization is None or not initialization.infrastructure_provisioned:
        scope.waiting = Waiting(
            "WaitingForClusterInfrastructureReady", "Waiting for the infrastructure of the cluster to be provisioned"
        )
        return timedelta()
    name = scope.machine.spec.bootstrap.data_secret_name if scope.machine is not None else None
    if not name:
        scope.waiting = Waiting("WaitingForBootstrapData", "Waiting for the bootstrap provider to make bootstrap data")
        return timedelta()
    if scope.computer.status.start_time is not None:
        return None  # it was there when it was needed
    secret = await scope.live.find(metadata_of(Secret), name, scope.computer.namespace)
    if secret is None:
        scope.waiting = Waiting("WaitingForBootstrapData", f"Secret {name} with bootstrap data does not exist")
        return _LOOK_AGAIN
    await _adopt(scope, secret)
    return None


async def _adopt(scope: Scope, secret: PartialObjectMetadata) -> None:
    """Bootstrap data that a user made for the cluster, as its label says, goes with the cluster."""
    cluster = scope.cluster
    if cluster is None or secret.metadata.owner_references:
        return
    if secret.metadata.labels.get(labels.CLUSTER_NAME) == cluster.name:
        async with scope.live.edit(secret, optimistic_lock=True) as draft:
            set_owner(cluster, draft)


def booted_at(computer: SimulatedMachine) -> datetime:
    """When the computer has booted, or will have."""
    started = computer.status.start_time or this_moment()
    return started + _boot_duration(computer)


def desired_addresses(computer: SimulatedMachine) -> list[MachineAddress]:
    """An address that nobody else is likely to have, and the name."""
    address = IPv4Address(_NETWORK + 1 + int(chance(computer.uid, "address") * _HOSTS))
    return [
        MachineAddress(type="InternalIP", address=str(address)),
        MachineAddress(type="Hostname", address=computer.name),
    ]


def _boot_duration(computer: SimulatedMachine) -> timedelta:
    return duration(computer.spec.boot, computer.uid, "boot")


def _failure_domain(scope: Scope) -> str | None:
    return scope.machine.spec.failure_domain if scope.machine is not None else None
