"""Webhooks: refuse at once what the controller would have to refuse later."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.cluster.api.controlplane import HostedControlPlane, HostedControlPlaneTemplate
from kapstan.cluster.controlplane.hosted.validation import (
    validate,
    validate_template,
    validate_template_update,
    validate_update,
)
from kapstan.machinery.codec import convert
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import StatusCause, StatusDetails
from kapstan.machinery.model import Resource
from kapstan.machinery.validation import FieldError, aggregate, causes
from kapstan.runtime.webhook.declaration import validator

__all__ = ("validate_hosted_control_plane", "validate_hosted_control_plane_template")

# On an object that the topology controller only tries.
_DRY_RUN = "topology.cluster.x-k8s.io/dry-run"


@validator(HostedControlPlane)
def validate_hosted_control_plane(new: HostedControlPlane, old: HostedControlPlane | None) -> None:
    _refuse(new, validate(new) if old is None else validate_update(new, old))


@validator(HostedControlPlaneTemplate)
def validate_hosted_control_plane_template(
    new: HostedControlPlaneTemplate, old: HostedControlPlaneTemplate | None
) -> None:
    tried = _DRY_RUN in new.metadata.annotations
    _refuse(new, validate_template(new) if old is None else validate_template_update(new, old, topology_dry_run=tried))


def _refuse(obj: Resource, errors: Sequence[FieldError]) -> None:
    if not errors:
        return
    gvk = obj.gvk
    raise Invalid(
        f'{gvk.kind}.{gvk.group} "{obj.name}" is invalid: {aggregate(errors)}',
        details=StatusDetails(
            name=obj.name,
            group=gvk.group,
            kind=gvk.kind,
            causes=[convert(cause, StatusCause) for cause in causes(errors)],
        ),
    )
