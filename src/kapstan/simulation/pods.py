"""Pods as controllers look at them: whether they count, are ready, are available, and on which node they are.

Pure functions, shared by everything here that counts pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from kapstan.k8s.core_v1 import Pod, PodCondition
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.snapshot import Snapshot

__all__ = (
    "Brief",
    "available_after",
    "brief",
    "condition",
    "index_by_node",
    "is_active",
    "is_available",
    "is_finished",
    "is_ready",
)

_BY_NODE = "simulation/node"


class _Spec(Struct, rename="camel", gc=False, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""


class _Status(Struct, gc=False, frozen=True):
    phase: str = ""


class Brief(Struct, gc=False, frozen=True):
    """What most handlers ask of a pod, read without decoding the rest."""

    spec: _Spec
    status: _Status = _Status()

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")


_decode_brief = msgspec.json.Decoder(Brief).decode


def brief(snapshot: Snapshot) -> Brief:
    """A pod at a glance."""
    return _decode_brief(snapshot.data)


def index_by_node(informer: SharedInformer) -> str:
    """Have the pods of a node found by `store.by_index(name, node)`; the index's name."""

    def node(snapshot: Snapshot) -> Iterable[str]:
        name = brief(snapshot).spec.node_name
        return (name,) if name else ()

    with suppress(ValueError):  # another part of the simulation has asked for it already
        informer.store.add_index(_BY_NODE, node)
    return _BY_NODE


def condition(pod: Pod, type: str) -> PodCondition | None:
    return next((one for one in pod.status.conditions if one.type == type), None)


def is_ready(pod: Pod) -> bool:
    found = condition(pod, "Ready")
    return found is not None and found.status == "True"


def is_finished(pod: Pod) -> bool:
    """Whether its containers have ended for good."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Whether it counts as a replica: it has not ended and nobody has deleted it."""
    return not is_finished(pod) and not pod.deleting


def available_after(pod: Pod, min_ready_seconds: int, now: datetime) -> float | None:
    """The seconds until a ready pod counts as available, 0 if it does; None if it is not ready."""
    found = condition(pod, "Ready")
    if found is None or found.status != "True":
        return None
    if not min_ready_seconds or found.last_transition_time is None:
        return 0.0
    since = found.last_transition_time + timedelta(seconds=min_ready_seconds)
    return max(0.0, (since - now).total_seconds())


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    return available_after(pod, min_ready_seconds, now) == 0.0
