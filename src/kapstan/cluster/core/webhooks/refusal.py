"""Refusal: field errors as the answer that kubectl shows and programs read."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.machinery.codec import convert
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import StatusCause, StatusDetails
from kapstan.machinery.model import Resource
from kapstan.machinery.validation import FieldError, aggregate, causes

__all__ = ("refuse",)


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
