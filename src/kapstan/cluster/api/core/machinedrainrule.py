"""MachineDrainRule: which pods are drained from which machines, and in which order."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION
from kapstan.machinery.markers import CEL, ListAtomic, MinProperties
from kapstan.machinery.meta import Int32, LabelSelector, ObjectMeta
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = ("DrainBehavior", "MachineDrainRule", "MachineDrainRuleSpec")

DrainBehavior = Literal["Drain", "Skip", "WaitCompleted"]


class Drain(Model):
    """What is done with the pods."""

    behavior: DrainBehavior
    """Evict them (Drain), leave them (Skip), or wait until they have ended by themselves (WaitCompleted)."""
    order: Int32 | None = None
    """Pods with a lower order are evicted first. Only with behavior Drain; 0 if absent."""


class MachineSelection(Model):
    """Machines that the rule speaks of; both selectors must match."""

    selector: LabelSelector | None = None
    """By the labels of the machine."""
    cluster_selector: LabelSelector | None = None
    """By the labels of the cluster."""


class PodSelection(Model):
    """Pods that the rule speaks of; both selectors must match."""

    selector: LabelSelector | None = None
    """By the labels of the pod."""
    namespace_selector: LabelSelector | None = None
    """By the labels of the pod's namespace."""


class MachineDrainRuleSpec(Model):
    """What the rule says."""

    drain: Drain
    """What is done with the pods."""
    machines: Annotated[
        list[Annotated[MachineSelection, MinProperties(1)]],
        Meta(min_length=1, max_length=32),
        ListAtomic(),
        CEL("self.all(x, self.exists_one(y, x == y))", message="entries in machines must be unique"),
    ] = field(default_factory=list)
    """Machines that the rule speaks of: those that any entry selects, or all if there is none."""
    pods: Annotated[
        list[Annotated[PodSelection, MinProperties(1)]],
        Meta(min_length=1, max_length=32),
        ListAtomic(),
        CEL("self.all(x, self.exists_one(y, x == y))", message="entries in pods must be unique"),
    ] = field(default_factory=list)
    """Pods that the rule speaks of: those that any entry selects, or all if there is none."""


@resource(
    group=GROUP,
    version=VERSION,
    categories=CATEGORIES,
    labels=LABELS,
    columns=[
        Column("Behavior", ".spec.drain.behavior"),
        Column("Order", ".spec.drain.order"),
        Column.age(),
    ],
)
class MachineDrainRule(Resource):
    """Which pods are drained from which machines, and in which order."""

    metadata: ObjectMeta
    spec: MachineDrainRuleSpec
    """What the rule says."""
