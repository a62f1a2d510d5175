"""Webhooks: refuse at once what the controller would have to refuse later."""

from __future__ import annotations

from kapstan.cluster.api.controlplane import HostedControlPlane, HostedControlPlaneTemplate
from kapstan.cluster.controlplane.hosted.validation import (
    validate,
    validate_template,
    validate_template_update,
    validate_update,
)
from kapstan.cluster.skeleton.refusal import is_trial, refuse
from kapstan.runtime.webhook.admission import AdmissionRequest
from kapstan.runtime.webhook.declaration import validator

__all__ = ("validate_hosted_control_plane", "validate_hosted_control_plane_template")


@validator(HostedControlPlane)
def validate_hosted_control_plane(new: HostedControlPlane, old: HostedControlPlane | None) -> None:
    refuse(new, validate(new) if old is None else validate_update(new, old))


@validator(HostedControlPlaneTemplate)
def validate_hosted_control_plane_template(
    new: HostedControlPlaneTemplate, old: HostedControlPlaneTemplate | None, request: AdmissionRequest
) -> None:
    tried = is_trial(new, request)
    refuse(new, validate_template(new) if old is None else validate_template_update(new, old, topology_dry_run=tried))
