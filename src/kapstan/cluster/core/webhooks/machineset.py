"""MachineSet: a selector that its machines match, a version, a number; its cluster cannot be changed."""

from __future__ import annotations

from kapstan.cluster.api.core import MachineSet
from kapstan.cluster.core.webhooks.workers import default_workers, worker_errors
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.refusal import refuse
from kapstan.machinery.codec import decode
from kapstan.runtime.webhook.admission import AdmissionRequest
from kapstan.runtime.webhook.declaration import defaulter, validator

__all__ = ("default_machine_set", "validate_machine_set")


@defaulter(MachineSet, name="default.machineset.cluster.x-k8s.io")
def default_machine_set(machine_set: MachineSet, request: AdmissionRequest | None = None) -> None:
    """Fill in what can be known."""
    old = decode(request.old_object, MachineSet) if request is not None and request.operation == "UPDATE" else None
    default_workers(machine_set, old, name_label=labels.SET_NAME, cluster_label=False)


@validator(MachineSet, name="validation.machineset.cluster.x-k8s.io")
def validate_machine_set(new: MachineSet, old: MachineSet | None) -> None:
    refuse(new, list(worker_errors(new, old)))
