"""What every authorizer answers, and the refusal that clients see."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from kapstan.apiserver.request import Attributes
from kapstan.machinery.errors import Forbidden
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.meta import StatusDetails

__all__ = ("Authorizer", "Decision", "forbidden", "forbidden_object", "is_resource")

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Decision(Struct, frozen=True):
    """Whether a request may go on; the reason says which binding allowed it, or what could not be looked up."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    """Decides from what is in memory: it never waits."""

    def authorize(self, attributes: Attributes) -> Decision: ...


def is_resource(attributes: Attributes) -> bool:
    """Whether the request is for a resource, and not for a bare path."""
    return bool(attributes.resource) or not attributes.path


def forbidden(attributes: Attributes, reason: str = "") -> Forbidden:
    """The error for a request that nobody allowed."""
    text = _refused(attributes).translate(_HTML)
    resource = GroupResource(attributes.group, attributes.resource)
    return forbidden_object(resource, attributes.name, f"{text}: {reason}" if reason else text)


def forbidden_object(resource: GroupResource, name: str, why: str) -> Forbidden:
    """The error for an object that may not be written as it is."""
    if not resource.resource:
        message = f"forbidden: {why}"
    elif name:
        message = f"{resource} {quote(name)} is forbidden: {why}"
    else:
        message = f"{resource} is forbidden: {why}"
    return Forbidden(message, details=StatusDetails(name=name, group=resource.group, kind=resource.resource))


def _refused(attributes: Attributes) -> str:
    user = quote(attributes.user.name)
    if not is_resource(attributes):
        return f"User {user} cannot {attributes.verb} path {quote(attributes.path)}"
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    scope = f"in the namespace {quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    where = f"in API group {quote(attributes.group)} {scope}"
    return f"User {user} cannot {attributes.verb} resource {quote(resource)} {where}"
