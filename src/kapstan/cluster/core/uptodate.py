"""Whether machines are as their deployment wants them: in what two templates differ that only new machines can change.

Labels, annotations, time-outs, taints and the like are changed in place, so they do not count.
"""

from __future__ import annotations

from datetime import datetime

from kapstan.cluster.api.core import MachineDeployment, MachineSet
from kapstan.cluster.api.core.machine import MachineTemplate

__all__ = ("differences", "rollout_is_due")


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
    after = deployment.spec.rollout.after if deployment.spec.rollout is not None else None
    created = machine_set.metadata.creation_timestamp
    return after is not None and created is not None and created < after < now


def _kind(template: str) -> str:
    return template.removesuffix("Template")
