"""What one reconcile of a MachineSet knows and works with."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.core.external import Providers
from kapstan.cluster.core.machineset.memory import Memory
from kapstan.cluster.core.templates import Templates, templates_of
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.draft import Draft
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.recorder import EventRecorder

__all__ = ("Scope",)


@dataclass(kw_only=True)
class Scope:
    """Phases fill it, the status is computed from it."""

    draft: Draft[MachineSet]
    cluster: Cluster
    client: CachedClient
    providers: Providers[MachineSet]
    events: EventRecorder
    memory: Memory
    deployment: MachineDeployment | None = None  # that the set is part of

    templates: Templates = field(init=False)
    machines: list[Machine] | None = None  # None: they could not be listed
    blocked: list[str] = field(default_factory=list)  # why no machine may be made at present

    def __post_init__(self) -> None:
        self.templates = templates_of(self.machine_set.spec.template)

    @property
    def machine_set(self) -> MachineSet:
        return self.draft.obj

    @property
    def present(self) -> list[Machine]:
        """The machines; none if they could not be listed."""
        return [] if self.machines is None else self.machines

    @property
    def is_current(self) -> bool:
        """Whether the set is not one that a rollout leaves behind."""
        if labels.DEPLOYMENT_NAME not in self.machine_set.metadata.labels:
            return True
        if self.deployment is None:
            return False
        revisions = (obj.metadata.annotations.get(labels.REVISION) for obj in (self.machine_set, self.deployment))
        return len(set(revisions)) == 1
