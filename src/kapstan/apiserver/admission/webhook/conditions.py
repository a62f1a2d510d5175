"""Match conditions: CEL expressions about a write that keep a webhook from being called.

One that is false decides, whatever becomes of the others. One that cannot be evaluated refuses the write, or is as good
as false if the webhook's failurePolicy is Ignore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.configuration import Hook
from kapstan.apiserver.admission.webhook.invocation import Invocation
from kapstan.apiserver.admission.webhook.review import described
from kapstan.apiserver.authn.identity import ServiceAccount
from kapstan.apiserver.authz.interface import Authorizer, forbidden_object
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.evaluate import Program
from kapstan.apiserver.schema.cel.library import authorization
from kapstan.apiserver.schema.cel.source import CompileError
from kapstan.apiserver.schema.cel.values import EvaluationError

__all__ = ("Conditions", "compile_condition")

Object = dict[str, Any]


def _struct(type_name: str, /, **fields: types.Type) -> types.Type:
    return types.object_type(f"kubernetes.{type_name}", fields)


_KIND = _struct("GroupVersionKind", group=types.STRING, version=types.STRING, kind=types.STRING)
_RESOURCE = _struct("GroupVersionResource", group=types.STRING, version=types.STRING, resource=types.STRING)
_USER = _struct(
    "UserInfo",
    username=types.STRING,
    uid=types.STRING,
    groups=types.list_of(types.STRING),
    extra=types.map_of(types.STRING, types.list_of(types.STRING)),
)
_REQUEST = _struct(
    "AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=types.STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=types.STRING,
    name=types.STRING,
    namespace=types.STRING,
    operation=types.STRING,
    userInfo=_USER,
    dryRun=types.BOOL,
    options=types.DYN,
)
_ENVIRONMENT = Environment(
    {
        "object": types.DYN,
        "oldObject": types.DYN,
        "request": _REQUEST,
        "authorizer": authorization.AUTHORIZER,
        "authorizer.requestResource": authorization.RESOURCE_CHECK,
    }
)


@lru_cache(maxsize=1024)
def compile_condition(expression: str) -> Program:
    """The program of a condition; CompileError shows what is wrong with it."""
    return _ENVIRONMENT.compile(expression)


class Conditions:
    """Evaluates the match conditions of one logical cluster's webhooks."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def hold(
        self,
        hook: Hook,
        attributes: AdmissionAttributes,
        invocation: Invocation,
        obj: Object | None,
        old: Object | None,
    ) -> bool:
        """Whether all are true. Forbidden if that cannot be said and the webhook must not fail open."""
        if not hook.conditions:
            return True
        bindings = self._bindings(attributes, invocation, obj, old)
        errors: list[str] = []
        for condition in hook.conditions:
            try:
                if compile_condition(condition.expression).eval(bindings) is False:
                    return False
            except CompileError as error:
                errors.append(f"compilation error: {error}")
            except EvaluationError as error:
                errors.append(f"expression '{condition.expression}' resulted in error: {error}")
        if errors and not hook.ignores_failure:
            why = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            raise forbidden_object(attributes.kind.gvr.group_resource, attributes.name, why)
        return not errors

    def _bindings(
        self, attributes: AdmissionAttributes, invocation: Invocation, obj: Object | None, old: Object | None
    ) -> Object:
        decide = self._decide(attributes.user)
        asked = authorization.Question(
            group=attributes.kind.gvr.group,
            resource=attributes.kind.gvr.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        return {
            "object": obj,
            "oldObject": old,
            "request": described(attributes, invocation),
            "authorizer": authorization.Authorizer(decide),
            "authorizer.requestResource": authorization.ResourceCheck(decide, asked),
        }

    def _decide(self, user: UserInfo) -> Callable[[authorization.Question], authorization.Decision]:
        def decide(question: authorization.Question) -> authorization.Decision:
            who = user
            if question.service_account is not None:
                account = ServiceAccount(*question.service_account)
                who = UserInfo(account.username, groups=account.groups)
            decision = self._authorizer.authorize(
                Attributes(
                    user=who,
                    verb=question.verb,
                    group=question.group,
                    version="*",
                    resource=question.resource,
                    subresource=question.subresource,
                    namespace=question.namespace,
                    name=question.name,
                    path=question.path,
                    field_selector=question.field_selector or "",
                    label_selector=question.label_selector or "",
                )
            )
            return authorization.Decision(decision.allowed, decision.reason)

        return decide
