"""What one reconcile of a MachineDeployment knows and works with."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.core.external import Providers
from kapstan.cluster.core.templates import Templates, templates_of
from kapstan.cluster.skeleton.draft import Draft
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.recorder import EventRecorder

__all__ = ("Scope",)


@dataclass(kw_only=True)
class Scope:
    """Phases fill it, the status is computed from it."""

    draft: Draft[MachineDeployment]
    cluster: Cluster
    client: CachedClient
    providers: Providers[MachineDeployment]
    events: EventRecorder
    kept: dict[str, frozenset[str]]  # by uid of a set: annotations that are known not to be ours

    templates: Templates = field(init=False)
    sets: list[MachineSet] | None = None  # None: they could not be listed
    machines: list[Machine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.templates = templates_of(self.deployment.spec.template)

    @property
    def deployment(self) -> MachineDeployment:
        return self.draft.obj
