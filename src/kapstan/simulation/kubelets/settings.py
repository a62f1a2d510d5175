"""Settings: what a simulated computer is, how quick its containers are, and how it can fail."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from kapstan.k8s.core_v1 import Taint

__all__ = ("Failure", "NodeSpec", "Timing")


class NodeSpec(Struct, frozen=True, kw_only=True):
    """The computer that a node is."""

    name: str
    provider_id: str = ""
    version: str = "v1.36.3"  # of its kubelet
    addresses: tuple[tuple[str, str], ...] = ()  # ("InternalIP", "10.0.0.5"), ...; none: one is made up
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()  # when it registers; later they are the cluster's affair
    cpu: str = "4"
    memory: str = "16Gi"
    pods: int = 110
    extended: Mapping[str, str] = {}  # further resources, such as {"nvidia.com/gpu": "2"}
    pod_cidr: str = ""  # none: the next that is free
    ready: bool = True


class Timing(Struct, frozen=True, kw_only=True):
    """How long things take, in seconds. Annotations of a pod say otherwise for that pod."""

    start: float = 0  # from the binding of a pod until its containers run
    ready: float = 0  # from there until they are ready, or the probe's initialDelaySeconds if that is longer
    stop: float = 0  # from the deletion of a pod until its containers have ended, never longer than its grace period
    complete: float = 1  # until containers that shall end (restartPolicy Never or OnFailure) have
    heartbeat: float = 10  # between two renewals of a node's lease
    flap: float = 10  # between two changes of mind of a node that flaps


class Failure(StrEnum):
    """What can be wrong with a computer."""

    NOT_READY = "NotReady"  # it says so itself
    DEAD = "Dead"  # it says nothing any more, and does nothing
    FLAPPING = "Flapping"  # it is ready and not ready by turns
