"""The table of pods: what its containers are about, in one word."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kapstan.apiserver.strategy.tables.table import AGE, NAME, Object, Table, text, wide
from kapstan.apiserver.strategy.tables.writing import NONE, age, container_cells, label_set, name_of, since

__all__ = ("PODS", "POD_TEMPLATES", "row_conditions")


class _Containers:
    """What the statuses of a pod's containers add up to."""

    def __init__(self, pod: Object) -> None:
        self.spec, self.status = pod["spec"], pod.get("status") or {}
        self.reason: str = self.status.get("reason") or self.status.get("phase") or ""
        if any(one["type"] == "PodScheduled" and one.get("reason") == "SchedulingGated" for one in self._conditions):
            self.reason = "SchedulingGated"
        init = self.spec.get("initContainers") or ()
        self._sidecars = {one["name"] for one in init if one.get("restartPolicy") == "Always"}
        self.total = len(self.spec.get("containers") or ()) + len(self._sidecars)
        self.ready = self.restarts = 0
        self.last_restart = ""
        initializing = self._read_init(len(init))
        if not initializing or self._condition("Initialized"):
            self._read_main()

    @property
    def _conditions(self) -> Sequence[Object]:
        return self.status.get("conditions") or ()

    def _condition(self, type: str) -> bool:
        return next((one.get("status") == "True" for one in self._conditions if one["type"] == type), False)

    def _count_restart(self, status: Object) -> None:
        self.restarts += status.get("restartCount", 0)
        ended = (status.get("lastState") or {}).get("terminated")
        if ended:
            self.last_restart = max(self.last_restart, ended.get("finishedAt") or "")

    def _read_init(self, count: int) -> bool:
        """Whether the init containers still have something to do; then they give the reason."""
        for position, status in enumerate(self.status.get("initContainerStatuses") or ()):
            self._count_restart(status)
            state = status.get("state") or {}
            ended = state.get("terminated")
            if ended and not ended.get("exitCode"):
                continue
            if status["name"] in self._sidecars and status.get("started"):
                self.ready += bool(status.get("ready"))
                continue
            waiting = (state.get("waiting") or {}).get("reason")
            if ended:
                self.reason = f"Init:{_end(ended)}"
            elif waiting and waiting != "PodInitializing":
                self.reason = f"Init:{waiting}"
            else:
                self.reason = f"Init:{position}/{count}"
            return True
        return False

    def _read_main(self) -> None:
        self.restarts, self.last_restart = 0, ""
        for status in self.status.get("initContainerStatuses") or ():
            if status["name"] in self._sidecars:
                self._count_restart(status)
        running, failure = False, ""
        for status in reversed(self.status.get("containerStatuses") or ()):
            self._count_restart(status)
            state = status.get("state") or {}
            ended = state.get("terminated")
            if (state.get("waiting") or {}).get("reason"):
                self.reason = state["waiting"]["reason"]
            elif ended:
                self.reason = _end(ended)
                failure = self.reason if ended.get("exitCode") else failure
            elif status.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            self._reconsider(running, failure)

    def _reconsider(self, running: bool, failure: str) -> None:
        """One container that has completed does not make the pod so."""
        if running and self._condition("Ready"):
            self.reason = "Running"
        elif failure:
            self.reason = failure
        elif running:
            self.reason = "NotReady"


def _end(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _pod(pod: Object, now: datetime) -> list[Any]:
    containers = _Containers(pod)
    status = containers.status
    reason, restarts = containers.reason, str(containers.restarts)
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Failed", "Succeeded"):
            reason = "Terminating"
    if containers.restarts and containers.last_restart:
        restarts = f"{restarts} ({since(containers.last_restart, now)} ago)"
    ready = f"{containers.ready}/{containers.total}"
    return [name_of(pod), ready, reason, restarts, age(pod, now), *_where(pod["spec"], status)]


def _where(spec: Object, status: Object) -> list[str]:
    addresses = status.get("podIPs") or ()
    address = addresses[0].get("ip") if addresses else ""
    return [
        address or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _readiness_gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    found: dict[str, str] = {}
    for condition in status.get("conditions") or ():
        found.setdefault(condition["type"], condition.get("status", ""))
    return f"{sum(found.get(gate['conditionType']) == 'True' for gate in gates)}/{len(gates)}"


def row_conditions(pod: Object) -> list[Object]:
    """A pod that has ended is marked, so that `kubectl get` can leave it out."""
    phase = (pod.get("status") or {}).get("phase")
    messages = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
    if phase not in messages:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": messages[phase]}]


def _pod_template(template: Object, now: datetime) -> list[Any]:
    content = template.get("template") or {}
    labels = (content.get("metadata") or {}).get("labels")
    return [name_of(template), *container_cells(content), label_set(labels)]


PODS = Table(
    (
        NAME,
        *text("Ready", "Status", "Restarts"),
        AGE,
        *wide("IP", "Node", "Nominated Node", "Readiness Gates"),
    ),
    _pod,
)
POD_TEMPLATES = Table((NAME, *text("Containers", "Images", "Pod Labels")), _pod_template)
