"""Eviction: pods are asked to leave, those of the lowest order first, and what came of it is told.

A PodDisruptionBudget may refuse: then it is asked again later. The wording is Cluster API's where programs match it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kapstan.client.client import Client
from kapstan.cluster.core.machine.podfilter import Judged
from kapstan.cluster.skeleton.wording import rfc3339, shortened
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.errors import APIError, Forbidden, KapstanError, NotFound, TooManyRequests

__all__ = ("Evictions", "evict", "plan")

log = logging.getLogger(__name__)

_SECONDS = 10.0  # for all evictions of one pass
_AT_ONCE = 10
_SHOWN_FAILURES = 5
_BUDGET = "cannot evict pod as it would violate the pod's disruption budget."
_TERMINATING = (
    "Cannot evict pod from terminating namespace: unable to create eviction "
    "(kube-controller-manager should set deletionTimestamp)"
)


@dataclass
class Evictions:
    """What has become of the pods of a node."""

    now: list[Pod] = field(default_factory=list)  # to be evicted
    later: list[Pod] = field(default_factory=list)  # once those before them are gone
    leaving: list[Pod] = field(default_factory=list)  # evicted or deleted, but still there
    completing: list[Pod] = field(default_factory=list)  # waited for, not evicted
    completing_later: list[Pod] = field(default_factory=list)
    failed: dict[str, list[Pod]] = field(default_factory=dict)  # by what was said

    @property
    def done(self) -> bool:
        return not any((self.now, self.later, self.leaving, self.completing, self.completing_later, self.failed))

    def message(self, since: datetime) -> str:
        """For the condition Deleting."""
        lines = [f"Drain not completed yet (started at {rfc3339(since)}):"]
        if self.leaving:
            lines.append(f"* {_pods(self.leaving)}: deletionTimestamp set, but still not removed from the Node")
        lines += _failures(self.failed)
        if self.completing:
            lines.append(f"* {_pods(self.completing)}: waiting for completion")
        after = "After above Pods have been removed from the Node,"
        if self.later:
            lines.append(f"{after} the following Pods will be evicted: {_names(self.later)}")
        if self.completing_later:
            names = _names(self.completing_later)
            lines.append(f"{after} waiting for the following Pods to complete without eviction: {names}")
        return "\n".join(lines)


def plan(judged: Iterable[Judged]) -> Evictions:
    """Which pods go now and which later: only those of the lowest order, and of those that are left."""
    pods = sorted((one for one in judged if one.behavior != "Skip"), key=lambda one: one.pod.key)
    first = min((one.order for one in pods), default=0)
    result = Evictions()
    for pod, behavior, order, _ in pods:
        if behavior == "WaitCompleted":
            (result.completing if order == first else result.completing_later).append(pod)
        elif pod.deleting:
            result.leaving.append(pod)
        else:
            (result.now if order == first else result.later).append(pod)
    return result


async def evict(client: Client, evictions: Evictions, *, grace_period: int | None = None) -> None:
    """Ask the pods whose turn it is to leave. What each was told is noted; none is waited for."""
    gate = asyncio.Semaphore(_AT_ONCE)
    asked = {pod.key: pod for pod in evictions.now}
    evictions.now = []

    async def one(pod: Pod) -> None:
        async with gate:
            why = await _evict(client, pod, grace_period)
        del asked[pod.key]
        if why is None:
            return
        (evictions.failed.setdefault(why, []) if why else evictions.leaving).append(pod)

    try:
        async with asyncio.timeout(_SECONDS), asyncio.TaskGroup() as group:
            for pod in list(asked.values()):
                group.create_task(one(pod))
    except TimeoutError:
        why = f"eviction timeout of {_SECONDS:g}s reached, eviction will be retried"
        evictions.failed.setdefault(why, []).extend(asked.values())


async def _evict(client: Client, pod: Pod, grace_period: int | None) -> str | None:
    """Empty: it leaves. None: it has left. Anything else is why it does not."""
    try:
        await client.evict(pod.name, pod.namespace, grace_period=grace_period)
    except NotFound:  # or nobody can be asked to leave there, as in simulated clusters
        return None
    except TooManyRequests as refused:
        return " ".join([refused.status.message, ",".join(cause.message for cause in refused.causes)]).strip()
    except Forbidden as refused:
        return _TERMINATING if any(cause.reason == "NamespaceTerminating" for cause in refused.causes) else str(refused)
    except KapstanError as error:
        return error.status.message if isinstance(error, APIError) else str(error)
    log.info("Evicted Pod %s", pod.key)
    return ""


def _failures(failed: dict[str, list[Pod]]) -> list[str]:
    reasons = sorted(failed)
    lines = []
    for reason in reasons[:_SHOWN_FAILURES]:
        text = reason.replace(_BUDGET.capitalize(), _BUDGET)
        if not text.startswith(_BUDGET):
            text = f"failed to evict Pod, {text}"
        lines.append(f"* {_pods(failed[reason])}: {text}")
    others = sum(len(failed[reason]) for reason in reasons[_SHOWN_FAILURES:])
    if others:
        lines.append(f"* {others} {'Pod' if others == 1 else 'Pods'} with other issues")
    return lines


def _pods(pods: Sequence[Pod]) -> str:
    return f"{'Pod' if len(pods) == 1 else 'Pods'} {_names(pods)}"


def _names(pods: Sequence[Pod], limit: int = 3) -> str:
    return shortened((str(pod.key) for pod in pods), limit)
