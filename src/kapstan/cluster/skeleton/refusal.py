"""Refusal: field errors as the answer that kubectl shows and programs read."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.cluster.skeleton import labels
from kapstan.machinery.codec import convert
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import StatusCause, StatusDetails
from kapstan.machinery.model import Resource
from kapstan.machinery.validation import FieldError, aggregate, causes
from kapstan.runtime.webhook.admission import AdmissionRequest

__all__ = ("is_trial", "refuse")


def refuse(obj: Resource, errors: Sequence[FieldError]) -> None:
    """Refuse an object, if there are errors."""
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


def is_trial(obj: Resource, request: AdmissionRequest) -> bool:
    """Whether a topology controller only tries what would become of a template: it will make another one instead."""
    return request.dry_run and labels.TOPOLOGY_DRY_RUN in obj.metadata.annotations
