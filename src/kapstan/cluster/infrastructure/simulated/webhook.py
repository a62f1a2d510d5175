"""Webhooks: a template is replaced, not changed. Machines that were made from it would no longer be what it says."""

from __future__ import annotations

from kapstan.cluster.api.infrastructure import SimulatedClusterTemplate, SimulatedMachineTemplate
from kapstan.cluster.skeleton.refusal import is_trial, refuse
from kapstan.machinery.validation import FieldError, Path
from kapstan.runtime.webhook.admission import AdmissionRequest
from kapstan.runtime.webhook.declaration import validator

__all__ = ("WEBHOOKS", "validate_simulated_cluster_template", "validate_simulated_machine_template")

_SPEC = Path("spec", "template", "spec")


@validator(SimulatedClusterTemplate, on=("update",))
def validate_simulated_cluster_template(
    new: SimulatedClusterTemplate, old: SimulatedClusterTemplate, request: AdmissionRequest
) -> None:
    _refuse_change(new, old, request)


@validator(SimulatedMachineTemplate, on=("update",))
def validate_simulated_machine_template(
    new: SimulatedMachineTemplate, old: SimulatedMachineTemplate, request: AdmissionRequest
) -> None:
    _refuse_change(new, old, request)


def _refuse_change(
    new: SimulatedClusterTemplate | SimulatedMachineTemplate,
    old: SimulatedClusterTemplate | SimulatedMachineTemplate,
    request: AdmissionRequest,
) -> None:
    if new.spec.template.spec != old.spec.template.spec and not is_trial(new, request):
        refuse(new, [FieldError.forbidden(_SPEC, "a template cannot be changed; make another, and refer to that")])


WEBHOOKS = (validate_simulated_cluster_template, validate_simulated_machine_template)
