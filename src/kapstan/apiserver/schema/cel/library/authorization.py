"""The `authorizer` variable of admission conditions: may someone do something?

The server gives an Authorizer that decides; expressions only describe the question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.values import EvaluationError, Opaque
from kapstan.machinery.names import name_is_dns_label, name_is_dns_subdomain

__all__ = ("AUTHORIZATION", "AUTHORIZER", "RESOURCE_CHECK", "Authorizer", "Decision", "Question", "ResourceCheck")

_PREFIX = "kubernetes.authorization"
AUTHORIZER = types.object_type(f"{_PREFIX}.Authorizer")
_PATH = types.object_type(f"{_PREFIX}.PathCheck")
_GROUP = types.object_type(f"{_PREFIX}.GroupCheck")
RESOURCE_CHECK = types.object_type(f"{_PREFIX}.ResourceCheck")
_DECISION = types.object_type(f"{_PREFIX}.Decision")
AUTHORIZATION = Library(
    Authorizer=AUTHORIZER, PathCheck=_PATH, GroupCheck=_GROUP, ResourceCheck=RESOURCE_CHECK, Decision=_DECISION
)
_add = AUTHORIZATION.add


class Decision(NamedTuple):
    """What an authorizer decides."""

    allowed: bool
    reason: str = ""
    error: str = ""


@dataclass(frozen=True)
class Question:
    """Who wants to do what. `user` is None for the one who made the request."""

    verb: str = ""
    path: str = ""  # of a request that is about no resource
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    service_account: tuple[str, str] | None = None  # namespace and name, instead of the requester
    field_selector: str | None = None
    label_selector: str | None = None


class Authorizer(Opaque):
    """The value of the `authorizer` variable."""

    __slots__ = ("decide", "question")

    cel_type = AUTHORIZER

    def __init__(self, decide: Callable[[Question], Decision], question: Question | None = None) -> None:
        self.decide = decide
        self.question = question or Question()

    def asking(self, kind: type[Authorizer], **changes: Any) -> Authorizer:
        return kind(self.decide, replace(self.question, **changes))


class _Path(Authorizer):
    __slots__ = ()
    cel_type = _PATH


class _Group(Authorizer):
    __slots__ = ()
    cel_type = _GROUP


class ResourceCheck(Authorizer):
    """A question that lacks only the verb; `authorizer.requestResource` is one."""

    __slots__ = ()
    cel_type = RESOURCE_CHECK


@dataclass(frozen=True)
class _DecisionValue(Opaque):
    decision: Decision = field(default=Decision(False))

    cel_type = _DECISION


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if name_is_dns_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if name_is_dns_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return authorizer.asking(Authorizer, service_account=(namespace, name))


def _path(authorizer: Authorizer, path: str) -> Authorizer:
    if not path:
        raise EvaluationError("path must not be empty")
    return authorizer.asking(_Path, path=path)


def _resource(group: Authorizer, resource: str) -> Authorizer:
    if not resource:
        raise EvaluationError("resource must not be empty")
    return group.asking(ResourceCheck, resource=resource)


def _check(question: Authorizer, verb: str) -> _DecisionValue:
    return _DecisionValue(question.decide(replace(question.question, verb=verb)))


def _setter(name: str) -> Callable[[Authorizer, str], Authorizer]:
    return lambda question, value: question.asking(ResourceCheck, **{name: value})


_add("authorizer_path", "Authorizer.path(string) -> PathCheck", _path)
_add("authorizer_group", "Authorizer.group(string) -> GroupCheck", lambda a, group: a.asking(_Group, group=group))
_add("authorizer_serviceaccount", "Authorizer.serviceAccount(string, string) -> Authorizer", _service_account)
_add("groupcheck_resource", "GroupCheck.resource(string) -> ResourceCheck", _resource)
for _name, _field in (("subresource", "subresource"), ("namespace", "namespace"), ("name", "name")):
    _add(f"resourcecheck_{_name}", f"ResourceCheck.{_name}(string) -> ResourceCheck", _setter(_field))
_add("authorizer_fieldselector", "ResourceCheck.fieldSelector(string) -> ResourceCheck", _setter("field_selector"))
_add("authorizer_labelselector", "ResourceCheck.labelSelector(string) -> ResourceCheck", _setter("label_selector"))
_add("pathcheck_check", "PathCheck.check(string) -> Decision", _check)
_add("resourcecheck_check", "ResourceCheck.check(string) -> Decision", _check)
_add("decision_allowed", "Decision.allowed() -> bool", lambda value: value.decision.allowed)
_add("decision_reason", "Decision.reason() -> string", lambda value: value.decision.reason)
_add("decision_errored", "Decision.errored() -> bool", lambda value: bool(value.decision.error))
_add("decision_error", "Decision.error() -> string", lambda value: value.decision.error)
