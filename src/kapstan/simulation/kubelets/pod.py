"""Pod: what a kubelet makes of one at a moment: its next status, whether it may go, and when to look again.

Pure. All that it knows is in the pod itself, so a simulation that was restarted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from kapstan.k8s.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    HostIP,
    Pod,
    PodCondition,
    PodIP,
    PodStatus,
)
from kapstan.simulation.kubelets.behaviour import Behaviour
from kapstan.simulation.pods import condition

__all__ = ("Addresses", "Progress", "progress", "stopped")


class Addresses(NamedTuple):
    """Where a pod is reached."""

    host: str
    pod: str


class Progress(Struct, frozen=True):
    """The status that a pod has by now, and after how many seconds it changes by itself; None: not."""

    status: PodStatus
    again: float | None = None


class _Moment(Struct, frozen=True):
    """A pod's containers at one moment."""

    phase: str
    state: ContainerState
    ready: bool = False
    again: float | None = None
    restarts: int = 0
    initialized: bool = True


def progress(pod: Pod, behaviour: Behaviour, addresses: Addresses, begun_at: datetime, now: datetime) -> Progress:
    """What a pod on a healthy node is by now. `begun_at` is its start time, as exactly as it is known."""
    start = pod.status.start_time or _second(begun_at)
    moment = _moment(pod, behaviour, start, (now - begun_at).total_seconds(), _second(now))
    spec = pod.spec
    begun = moment.phase != "Pending"
    status = pod.status.replace(
        phase=moment.phase,
        host_ip=addresses.host,
        host_ips=[HostIP(ip=addresses.host)],
        pod_ip=addresses.pod if begun else pod.status.pod_ip,
        pod_ips=[PodIP(ip=addresses.pod)] if begun else pod.status.pod_ips,
        start_time=start,
        observed_generation=pod.metadata.generation or None,
        container_statuses=[_container(pod, one, moment) for one in spec.containers],
        init_container_statuses=[_init_container(pod, one, moment, start) for one in spec.init_containers],
    )
    return Progress(status.replace(conditions=_conditions(pod, moment, _second(now))), moment.again)


def stopped(pod: Pod, now: datetime) -> PodStatus:
    """What is left of a pod that was told to end: its containers have."""
    ended = [
        one.replace(state=_ended(0, _started(one) or now, now), ready=False, started=False)
        for one in pod.status.container_statuses
    ]
    moment = _Moment("Succeeded", ContainerState())
    return pod.status.replace(
        phase="Failed" if pod.status.phase == "Failed" else "Succeeded",
        container_statuses=ended,
        conditions=_conditions(pod, moment, now),
    )


def _moment(pod: Pod, behaviour: Behaviour, start: datetime, age: float, now: datetime) -> _Moment:
    if behaviour.waiting:
        return _Moment("Pending", _waits(behaviour.waiting, f"{behaviour.waiting} (simulated)"))
    if age < behaviour.start:
        reason = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
        initialized = not pod.spec.init_containers
        return _Moment("Pending", _waits(reason), again=behaviour.start - age, initialized=initialized)
    running = age - behaviour.start
    begun = start + timedelta(seconds=int(behaviour.start))
    if behaviour.complete is not None and running >= behaviour.complete:
        return _completed(pod, behaviour, begun, now)
    waits = [at - running for at in (behaviour.ready, behaviour.complete) if at is not None and at > running]
    state = ContainerState(running=ContainerStateRunning(started_at=begun))
    return _Moment("Running", state, ready=running >= behaviour.ready, again=min(waits, default=None))


def _completed(pod: Pod, behaviour: Behaviour, begun: datetime, now: datetime) -> _Moment:
    code, policy = behaviour.exit_code or 0, pod.spec.restart_policy
    if policy == "Never" or (policy == "OnFailure" and code == 0):
        finished = begun + timedelta(seconds=int(behaviour.complete or 0))
        return _Moment("Failed" if code else "Succeeded", _ended(code, begun, min(finished, now)))
    state = _waits("CrashLoopBackOff", "back-off restarting failed container (simulated)")
    return _Moment("Running", state, restarts=1)


def _container(pod: Pod, container: Container, moment: _Moment) -> ContainerStatus:
    identity = f"simulated://{pod.uid}/{container.name}" if moment.phase != "Pending" else None
    return ContainerStatus(
        name=container.name,
        state=moment.state,
        last_state=ContainerState(),  # as API servers write it: what differs from what they say is written again
        ready=moment.ready,
        restart_count=moment.restarts,
        image=container.image or "",
        image_id=f"simulated://{container.image}" if identity else "",
        container_id=identity,
        started=moment.state.running is not None,
    )


def _init_container(pod: Pod, container: Container, moment: _Moment, start: datetime) -> ContainerStatus:
    """Those that run before are over as soon as the others begin; those that stay are like the others."""
    if container.restart_policy == "Always" or not moment.initialized or moment.state.waiting:
        return _container(pod, container, moment)
    over = _Moment(moment.phase, _ended(0, start, start), ready=True)
    return _container(pod, container, over)


def _conditions(pod: Pod, moment: _Moment, now: datetime) -> list[PodCondition]:
    """The kubelet's conditions, in the order in which it writes them, after those of others."""
    gates = all(_gate_open(pod, gate.condition_type) for gate in pod.spec.readiness_gates)
    names = [one.name for one in pod.spec.containers]
    over = moment.phase in ("Succeeded", "Failed")
    unready = ("PodCompleted", "") if over else ("ContainersNotReady", _unready(names))
    said: dict[str, tuple[bool, tuple[str, str]]] = {
        "PodReadyToStartContainers": (moment.phase == "Running", ("", "")),
        "Initialized": (moment.initialized, ("PodCompleted", "") if over else ("", "")),
        "Ready": (moment.ready and gates, unready if not moment.ready else ("ReadinessGatesNotReady", "")),
        "ContainersReady": (moment.ready, unready),
        "PodScheduled": (True, ("", "")),
    }
    foreign = [one for one in pod.status.conditions if one.type not in said]
    ours = [_condition(pod, type, true, why, now) for type, (true, why) in said.items()]
    return [*foreign, *ours]


def _condition(pod: Pod, type: str, true: bool, why: tuple[str, str], now: datetime) -> PodCondition:
    reason, message = why if not true or why[0] == "PodCompleted" else ("", "")
    known = condition(pod, type)
    status = "True" if true else "False"
    since = known.last_transition_time if known is not None and known.status == status else now
    return PodCondition(
        type=type,
        status=status,
        reason=reason or None,
        message=message or None,
        last_transition_time=since,
        observed_generation=pod.metadata.generation or None,
    )


def _gate_open(pod: Pod, type: str) -> bool:
    found = condition(pod, type)
    return found is not None and found.status == "True"


def _unready(names: Sequence[str]) -> str:
    return f"containers with unready status: [{' '.join(names)}]"


def _second(time: datetime) -> datetime:
    """As Kubernetes writes it."""
    return time.replace(microsecond=0)


def _waits(reason: str, message: str = "") -> ContainerState:
    return ContainerState(waiting=ContainerStateWaiting(reason=reason, message=message or None))


def _ended(code: int, started: datetime, finished: datetime) -> ContainerState:
    reason = "Error" if code else "Completed"
    return ContainerState(
        terminated=ContainerStateTerminated(exit_code=code, reason=reason, started_at=started, finished_at=finished)
    )


def _started(status: ContainerStatus) -> datetime | None:
    return status.state.running.started_at if status.state and status.state.running else None
