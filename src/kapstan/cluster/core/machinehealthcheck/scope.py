"""What one reconcile of a MachineHealthCheck knows and works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kapstan.cluster.api.core import Cluster, MachineHealthCheck
from kapstan.cluster.api.core.common import RemediationTrigger, VersionedReference
from kapstan.cluster.core.machinehealthcheck.health import Verdict
from kapstan.cluster.core.machinehealthcheck.limits import Allowance
from kapstan.cluster.core.machinehealthcheck.requests import Requests
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.skeleton.draft import Draft
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.recorder import EventRecorder

__all__ = ("Examination", "Scope")


@dataclass(frozen=True)
class Examination:
    """What was found out about all machines at one moment."""

    verdicts: Sequence[Verdict]
    allowance: Allowance

    @property
    def healthy(self) -> int:
        return sum(verdict.healthy for verdict in self.verdicts)


@dataclass(kw_only=True)
class Scope:
    """Phases fill it, the status is computed from it."""

    draft: Draft[MachineHealthCheck]
    cluster: Cluster
    client: CachedClient
    clusters: ClusterCache
    requests: Requests
    events: EventRecorder

    examination: Examination | None = None  # None: nothing is known, as the workload cluster cannot be asked

    @property
    def check(self) -> MachineHealthCheck:
        return self.draft.obj

    @property
    def trigger(self) -> RemediationTrigger | None:
        remediation = self.check.spec.remediation
        return remediation.trigger_if if remediation is not None else None

    @property
    def template(self) -> VersionedReference | None:
        """The template of requests to somebody else; without one, owners remediate."""
        remediation = self.check.spec.remediation
        return remediation.template_ref if remediation is not None else None
