"""MachineDeployment: what sets have, and a strategy that can come to an end."""

from __future__ import annotations

from collections.abc import Iterator

from kapstan.cluster.api.core import MachineDeployment
from kapstan.cluster.api.core.machinedeployment import RollingUpdate, Rollout, RolloutStrategy
from kapstan.cluster.core.machinedeployment.rollout import share
from kapstan.cluster.core.webhooks.workers import default_workers, worker_errors
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.refusal import refuse
from kapstan.machinery.codec import decode
from kapstan.machinery.meta import IntOrString
from kapstan.machinery.names import label_value_errors
from kapstan.machinery.validation import FieldError, Path
from kapstan.runtime.webhook.admission import AdmissionRequest
from kapstan.runtime.webhook.declaration import defaulter, validator

__all__ = ("default_machine_deployment", "deployment_errors", "validate_machine_deployment")

_SPEC = Path("spec")


@defaulter(MachineDeployment, name="default.machinedeployment.cluster.x-k8s.io")
def default_machine_deployment(deployment: MachineDeployment, request: AdmissionRequest | None = None) -> None:
    """Fill in what can be known: of a rollout, that there is one machine more, and none missing."""
    updated = request is not None and request.operation == "UPDATE"
    old = decode(request.old_object, MachineDeployment) if request is not None and updated else None
    default_workers(deployment, old, name_label=labels.DEPLOYMENT_NAME, cluster_label=True)
    rollout = deployment.spec.rollout = deployment.spec.rollout or Rollout()
    strategy = rollout.strategy = rollout.strategy or RolloutStrategy(type="RollingUpdate")
    if strategy.type != "RollingUpdate":
        return
    rolling = strategy.rolling_update = strategy.rolling_update or RollingUpdate()
    rolling.max_surge = 1 if rolling.max_surge is None else rolling.max_surge
    rolling.max_unavailable = 0 if rolling.max_unavailable is None else rolling.max_unavailable


@validator(MachineDeployment, name="validation.machinedeployment.cluster.x-k8s.io")
def validate_machine_deployment(new: MachineDeployment, old: MachineDeployment | None) -> None:
    refuse(new, list(deployment_errors(new, old)))


def deployment_errors(new: MachineDeployment, old: MachineDeployment | None) -> Iterator[FieldError]:
    """What is wrong with a deployment."""
    for error in label_value_errors(new.name):
        yield FieldError.invalid("metadata.name", new.name, f"must be a valid label value: {error}")
    yield from worker_errors(new, old)
    yield from _strategy_errors(new)
    remediation = new.spec.remediation
    if remediation is not None:
        yield from _share_errors(remediation.max_in_flight, _SPEC.child("remediation", "maxInFlight"))


def _strategy_errors(new: MachineDeployment) -> Iterator[FieldError]:
    strategy = new.spec.rollout.strategy if new.spec.rollout is not None else None
    rolling = strategy.rolling_update if strategy is not None else None
    if rolling is None:
        return
    path = _SPEC.child("rollout", "strategy", "rollingUpdate")
    yield from _share_errors(rolling.max_unavailable, path.child("maxUnavailable"))
    yield from _share_errors(rolling.max_surge, path.child("maxSurge"))
    if rolling.max_unavailable == 0 and rolling.max_surge == 0:
        yield FieldError.invalid(path, "0", "maxUnavailable and maxSurge cannot both be 0")


def _share_errors(value: IntOrString | None, path: Path) -> Iterator[FieldError]:
    try:
        share(value or 0, 0, round_up=False)
    except ValueError as error:
        yield FieldError.invalid(path, value, f"must be either an int or a percentage: {error}")
