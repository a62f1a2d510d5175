"""Behaviour: what a pod's containers do, from the simulation's timing, the pod's probes, and its annotations."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.duration import Duration
from kapstan.simulation.kubelets.settings import Timing

__all__ = ("PREFIX", "Behaviour", "behaviour_of")

PREFIX = "simulation.kapstan.dev/"


class Behaviour(Struct, frozen=True, kw_only=True):
    """How long each step of a pod takes, and how it ends."""

    start: float
    ready: float
    stop: float
    complete: float | None  # None: it runs until it is deleted
    exit_code: int | None  # what containers end with; None: they end only if they shall
    waiting: str  # why containers never start; empty: they do


def behaviour_of(pod: Pod, timing: Timing) -> Behaviour:
    annotations = pod.metadata.annotations
    code = annotations.get(f"{PREFIX}exit-code")
    ends = pod.spec.restart_policy in ("Never", "OnFailure") or code is not None
    probes = [one.readiness_probe.initial_delay_seconds or 0 for one in pod.spec.containers if one.readiness_probe]
    return Behaviour(
        start=_seconds(annotations, "start-after", timing.start),
        ready=_seconds(annotations, "ready-after", max([timing.ready, *probes])),
        stop=_seconds(annotations, "stop-after", timing.stop),
        complete=_seconds(annotations, "run-for", timing.complete) if ends else None,
        exit_code=int(code) if code is not None and code.isdecimal() else None,
        waiting=annotations.get(f"{PREFIX}waiting", ""),
    )


def _seconds(annotations: Mapping[str, str], name: str, otherwise: float) -> float:
    """What the annotation says, such as `1m30s`; what nobody can read is as if it were not there."""
    text = annotations.get(PREFIX + name)
    if text is None:
        return otherwise
    try:
        return Duration.parse(text).total_seconds()
    except ValueError:
        return otherwise
