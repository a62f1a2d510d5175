"""Admission around a write: the attributes that plugins see, and what is made of their changes."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Operation
from kapstan.apiserver.registry.accepting import accepted_below
from kapstan.apiserver.registry.managed import keep_readable
from kapstan.apiserver.registry.metadata import deduplicate_owners, metadata_of
from kapstan.apiserver.request import DeleteOptions, Request, WriteOptions

__all__ = ("admission_attributes", "admit", "admit_below", "admit_order")

Object = dict[str, Any]


def admission_attributes(
    request: Request, operation: Operation, obj: Object | None, old: Object | None
) -> AdmissionAttributes:
    return AdmissionAttributes(
        request=request,
        operation=operation,
        object=obj,
        old=old,
        options=_options(request, operation),
        name=request.name or (metadata_of(obj).get("name") or "" if obj is not None else ""),
    )


async def admit(request: Request, operation: Operation, obj: Object, old: Object | None) -> Object:
    """The object as the mutating plugins leave it."""
    attributes = admission_attributes(request, operation, obj, old)
    managed_fields = metadata_of(obj).get("managedFields")
    await request.cluster.admission.admit(attributes)
    admitted = attributes.object
    assert admitted is not None
    metadata = metadata_of(admitted)
    if admitted is not obj:  # somebody else wrote it, who may not know the schema as well as we do
        request.kind.intake.shape(admitted)
        keep_readable(admitted, managed_fields)
    deduplicate_owners(request, metadata, after_admission=True)
    return admitted


async def admit_below(request: Request, obj: Object, old: Object) -> Object:
    """The same of a subresource that has a kind of its own, such as Scale."""
    attributes = admission_attributes(request, "UPDATE", obj, old)
    await request.cluster.admission.admit(attributes)
    admitted = attributes.object
    assert admitted is not None
    return obj if admitted is obj else accepted_below(request, admitted)


async def admit_order(request: Request, obj: Object) -> Object:
    """What tells the server to do something and is stored nowhere, such as a Binding, in both steps at once."""
    attributes = admission_attributes(request, "CREATE", obj, None)
    await request.cluster.admission.admit(attributes)
    await request.cluster.admission.validate(attributes)
    assert attributes.object is not None
    return attributes.object


def _options(request: Request, operation: Operation) -> Object:
    """The options as an AdmissionReview carries them."""
    options = request.options
    found: Object = {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.capitalize()}Options"}
    if options.dry_run:
        found["dryRun"] = ["All"]
    if isinstance(options, WriteOptions):
        if options.field_manager:
            found["fieldManager"] = options.field_manager
        if options.field_validation:
            found["fieldValidation"] = options.field_validation
    else:
        found |= _delete_options(options)
    return found


def _delete_options(options: DeleteOptions) -> Object:
    found: Object = {}
    if options.grace_period_seconds is not None:
        found["gracePeriodSeconds"] = options.grace_period_seconds
    if options.orphan_dependents is not None:
        found["orphanDependents"] = options.orphan_dependents
    if options.propagation_policy is not None:
        found["propagationPolicy"] = options.propagation_policy
    wanted = {"uid": options.preconditions.uid, "resourceVersion": options.preconditions.resource_version}
    if preconditions := {name: value for name, value in wanted.items() if value is not None}:
        found["preconditions"] = preconditions
    return found
