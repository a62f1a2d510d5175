"""Whether machines are as their deployment wants them: in what two templates differ that only new machines can change.

Labels, annotations, time-outs, taints and the like are changed in place, so they do not count.
"""

from __future__ import annotations

from datetime import datetime

from kapstan.cluster.api.core import MachineDeployment, MachineSet
from kapstan.cluster.api.core.machine import MachineTemplate
from kapstan.cluster.skeleton.wording import rfc3339

__all__ = ("ROLLED_OUT", "differences", "note_rollout", "rollout_is_due")

# On a MachineSet: the time of the rollout that it was made in, if it was asked for by time.
ROLLED_OUT = "machinedeployment.kapstan.dev/rolled-out-after"


def differences(current: MachineTemplate, wanted: MachineTemplate) -> list[str]:
    """What is not up to date, in the words of the condition UpToDate; empty if all is."""
    now, then = current.spec, wanted.spec
    found: list[str] = []
    if (now.version or "") != (then.version or ""):
        found.append(f"Version {now.version or ''}, {then.version or ''} required")
    if now.bootstrap != then.bootstrap:
        if now.bootstrap.config_ref is not None:
            found.append(f"{_kind(now.bootstrap.config_ref.kind)} is not up-to-date")
        else:
            secrets = now.bootstrap.data_secret_name or "nil", then.bootstrap.data_secret_name or "nil"
            found.append(f"spec.bootstrap.dataSecretName {secrets[0]}, {secrets[1]} required")
    if now.infrastructure_ref != then.infrastructure_ref:
        found.append(f"{_kind(now.infrastructure_ref.kind)} is not up-to-date")
    if (now.failure_domain or "") != (then.failure_domain or ""):
        found.append(f"Failure domain {now.failure_domain or ''}, {then.failure_domain or ''} required")
    return found


def rollout_is_due(machine_set: MachineSet, deployment: MachineDeployment, now: datetime) -> bool:
    """Whether a deployment asks for new machines although nothing has changed, and the set is older than that."""
    after, created = _asked_for(deployment), machine_set.metadata.creation_timestamp
    if after is None or machine_set.metadata.annotations.get(ROLLED_OUT) == rfc3339(after):
        return False
    return created is not None and created < after < now


def note_rollout(machine_set: MachineSet, deployment: MachineDeployment, now: datetime) -> None:
    """Note on a new set which rollout it is part of. By the clock of the API server it may be made before its time, and
    another would be made in its place."""
    after = _asked_for(deployment)
    if after is not None and after < now:
        machine_set.metadata.annotations[ROLLED_OUT] = rfc3339(after)


def _asked_for(deployment: MachineDeployment) -> datetime | None:
    return deployment.spec.rollout.after if deployment.spec.rollout is not None else None


def _kind(template: str) -> str:
    return template.removesuffix("Template")
