"""Refusals in Kubernetes' words: clients compare messages, and read the details."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.apiserver.builtin import facts
from kapstan.machinery.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    Expired,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    RequestEntityTooLarge,
    Timeout,
)
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupKind, GroupResource
from kapstan.machinery.meta import ListMeta, Status, StatusCause, StatusDetails
from kapstan.machinery.validation import FieldError, aggregate

__all__ = (
    "already_exists",
    "conflict",
    "continue_expired",
    "generate_name_conflict",
    "internal",
    "invalid",
    "list_expired",
    "method_not_supported",
    "modified",
    "not_found",
    "precondition_failed",
    "revision_too_large",
    "too_large",
    "unclassified",
    "unprocessable",
    "watch_expired",
)

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def _details(resource: GroupResource, name: str = "") -> StatusDetails:
    return StatusDetails(group=resource.group, kind=resource.resource, name=name)


def not_found(resource: GroupResource, name: str) -> NotFound:
    return NotFound(f"{resource} {quote(name)} not found", details=_details(resource, name))


def already_exists(resource: GroupResource, name: str, *, deleting: bool = False) -> AlreadyExists:
    message = f"{resource} {quote(name)} already exists"
    return AlreadyExists(
        f"object is being deleted: {message}" if deleting else message, details=_details(resource, name)
    )


def generate_name_conflict(resource: GroupResource, name: str) -> AlreadyExists:
    message = (
        f"{resource} {quote(name)} already exists, the server was not able to generate a unique name for the object"
    )
    return AlreadyExists(message, details=_details(resource, name).replace(retry_after_seconds=1))


def conflict(resource: GroupResource, name: str, why: str) -> Conflict:
    message = f"Operation cannot be fulfilled on {resource} {quote(name)}: {why}"
    return Conflict(message, details=_details(resource, name))


def modified(resource: GroupResource, name: str) -> Conflict:
    """The resourceVersion that the writer read is not the latest any more."""
    return conflict(resource, name, _MODIFIED)


_STORED_AT = {
    GroupResource("", "endpoints"): "services/endpoints",
    GroupResource("", "nodes"): "minions",
    GroupResource("", "replicationcontrollers"): "controllers",
    GroupResource("", "services"): "services/specs",
    GroupResource("networking.k8s.io", "ingresses"): "ingress",
}
_ADDED = ("apiextensions.k8s.io", "apiregistration.k8s.io")  # servers of their own behind one address


def precondition_failed(resource: GroupResource, key: str, name: str, wanted: str, found: str) -> Conflict:
    """A PUT with the uid of another object of that name."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{_stored_at(resource)}/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )
    return conflict(resource, name, why)


def _stored_at(resource: GroupResource) -> str:
    """Where kube-apiserver has a resource in etcd: with its group only if that is not one of its own."""
    if resource in _STORED_AT:
        return _STORED_AT[resource]
    own = resource.group not in _ADDED and any(found.group == resource.group for found in facts.group_versions())
    return resource.resource if own else f"{resource.group}/{resource.resource}"


def invalid(kind: GroupKind, name: str, errors: Sequence[FieldError]) -> Invalid:
    causes = [StatusCause(**error.cause()) for error in errors]
    details = StatusDetails(group=kind.group, kind=kind.kind, name=name, causes=causes)
    return Invalid(f"{kind} {quote(name)} is invalid: {aggregate(errors)}", details=details)


def unprocessable() -> APIError:
    """A patch that is well-formed but does not fit the object. kube-apiserver does not say why."""
    return Invalid("the server rejected our request due to an error in our request", details=StatusDetails())


def method_not_supported(resource: GroupResource, action: str) -> MethodNotAllowed:
    message = f"{action} is not supported on resources of kind {quote(str(resource))}"
    return MethodNotAllowed(message, details=_details(resource))


def list_expired() -> Expired:
    return Expired("The resourceVersion for the provided list is too old.")


def watch_expired(revision: int, oldest: int) -> Expired:
    return Expired(f"too old resource version: {revision} ({oldest})")


def continue_expired(token: str) -> Expired:
    """The list cannot be continued as it was; with `token` it can be continued as it is now."""
    status = Status(
        status="Failure", message=_INCONSISTENT, reason="Expired", code=410, metadata=ListMeta(continue_=token)
    )
    return Expired(_INCONSISTENT, status=status)


def revision_too_large(wanted: int, current: int) -> Timeout:
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    cause = StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version")
    return Timeout(message, details=StatusDetails(causes=[cause], retry_after_seconds=1))


def unclassified(why: str) -> APIError:
    """What Kubernetes answers where its own code has no name for the refusal: a bare 500."""
    return APIError(why)


def too_large(why: str) -> RequestEntityTooLarge:
    return RequestEntityTooLarge(f"Request entity too large: {why}")


def internal(why: str) -> InternalError:
    details = StatusDetails(causes=[StatusCause(message=why)])
    return InternalError(f"Internal error occurred: {why}", details=details)
