"""Metrics: how long control planes take, when their certificates end, how often components had to be started again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from kapstan.cluster.api.controlplane.hosted import HostedControlPlane
from kapstan.cluster.controlplane.hosted.scope import Scope
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.metrics import Registry

__all__ = ("HostedMetrics", "Milestones")

_STEPS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_MILESTONES = (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 20, 30, 60, 120, 300, 600)


class HostedMetrics:
    """The instruments of all hosted control planes."""

    def __init__(self, registry: Registry) -> None:
        self._steps = registry.histogram(
            "kapstan_hosted_step_duration_seconds", "How long a step of a reconcile took.", ["step"], _STEPS
        )
        self._milestones = registry.histogram(
            "kapstan_hosted_milestone_seconds",
            "How long after its creation a control plane first answered, was initialized, was available.",
            ["milestone"],
            _MILESTONES,
        )
        self._expiry = registry.gauge(
            "kapstan_hosted_certificate_expiry_timestamp_seconds",
            "When a certificate of a control plane ends, in seconds since 1970.",
            ["namespace", "name", "certificate"],
        )
        self._restarts = registry.gauge(
            "kapstan_hosted_component_restarts",
            "How often a component of a control plane had to be started again since the manager started.",
            ["namespace", "name", "component"],
        )

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self._steps.labels(name).observe(perf_counter() - began)

    def milestone(self, name: str, seconds: float) -> None:
        self._milestones.labels(name).observe(seconds)

    def observe(self, scope: Scope) -> None:
        namespace, name = scope.control_plane.key
        for certificate in scope.control_plane.status.certificates:
            self._expiry.labels(namespace, name, certificate.name).set(certificate.not_after.timestamp())
        for component, state in scope.observation.components.items():
            self._restarts.labels(namespace, name, component).set(state.restarts)

    def forget(self, key: ObjectKey) -> None:
        """A control plane that is gone has no metrics."""
        for family in (self._expiry, self._restarts):
            for child in family.items():
                labels = child[0]
                if labels[:2] == tuple(key):
                    family.remove(*labels)


class Milestones:
    """When control planes that are being made first answered, were initialized, were available."""

    def __init__(self, metrics: HostedMetrics) -> None:
        self._metrics = metrics
        self._begun: dict[str, tuple[float, set[str]]] = {}

    def begin(self, plane: HostedControlPlane) -> None:
        """Counted from the first reconcile of one that was not made before.

        It is remembered until it is deleted: the next reconcile may see it as it was before this one.
        """
        if plane.status.initialization is None:
            self._begun.setdefault(plane.uid, (perf_counter(), {"answering", "initialized", "available"}))

    def observe(self, scope: Scope) -> None:
        plane = scope.control_plane
        if plane.uid not in self._begun:
            return
        began, missing = self._begun[plane.uid]
        reached = {
            "answering": scope.observation.answering,
            "initialized": plane.status.initialization is not None,
            "available": bool(plane.status.available_replicas),
        }
        for name in [name for name in missing if reached[name]]:
            missing.discard(name)
            self._metrics.milestone(name, perf_counter() - began)

    def forget(self, uid: str) -> None:
        self._begun.pop(uid, None)
