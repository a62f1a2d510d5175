"""Expressions of admission: what CEL sees of a write, in match conditions, policies and their messages.

All see the object, the old one, the request and the namespace; most may ask the authorizer. What evaluating costs is
counted against a budget that the expressions of one policy share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.authn.identity import ServiceAccount
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.costs import Meter
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.evaluate import PER_CALL_LIMIT, InstantiationError, Program
from kapstan.apiserver.schema.cel.library import authorization
from kapstan.apiserver.schema.cel.source import CompileError
from kapstan.apiserver.schema.cel.types import Type
from kapstan.apiserver.schema.cel.values import EvaluationError

__all__ = (
    "CONDITIONS_BUDGET",
    "Budget",
    "Compiled",
    "ExpressionFailed",
    "OutOfBudget",
    "Spender",
    "authorizer_bindings",
    "compile_expression",
    "holds",
    "variables",
)

CONDITIONS_BUDGET = 2_500_000


def _struct(type_name: str, /, **fields: Type) -> Type:
    return types.object_type(f"kubernetes.{type_name}", fields)


_STRINGS, _STRING_MAP = types.list_of(types.STRING), types.map_of(types.STRING, types.STRING)
_KIND = _struct("GroupVersionKind", group=types.STRING, version=types.STRING, kind=types.STRING)
_RESOURCE = _struct("GroupVersionResource", group=types.STRING, version=types.STRING, resource=types.STRING)
_USER = _struct(
    "UserInfo",
    username=types.STRING,
    uid=types.STRING,
    groups=_STRINGS,
    extra=types.map_of(types.STRING, _STRINGS),
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
_NAMESPACE_METADATA = _struct(
    "NamespaceMetadata",
    name=types.STRING,
    generateName=types.STRING,
    namespace=types.STRING,
    labels=_STRING_MAP,
    annotations=_STRING_MAP,
    UID=types.STRING,
    creationTimestamp=types.TIMESTAMP,
    deletionGracePeriodSeconds=types.INT,
    deletionTimestamp=types.TIMESTAMP,
    generation=types.INT,
    resourceVersion=types.STRING,
    finalizers=_STRINGS,
)
_NAMESPACE_CONDITION = _struct(
    "NamespaceCondition",
    status=types.STRING,
    type=types.STRING,
    lastTransitionTime=types.TIMESTAMP,
    message=types.STRING,
    reason=types.STRING,
)
_NAMESPACE = _struct(
    "Namespace",
    metadata=_NAMESPACE_METADATA,
    spec=_struct("NamespaceSpec", finalizers=_STRINGS),
    status=_struct("NamespaceStatus", conditions=types.list_of(_NAMESPACE_CONDITION), phase=types.STRING),
)


def variables(
    *, params: Type | None = None, authorizer: bool = True, obj: Type = types.DYN, request_resource: bool = True
) -> dict[str, Type]:
    """The variables of an expression, by name."""
    found = {"object": obj, "oldObject": obj, "namespaceObject": _NAMESPACE, "request": _REQUEST}
    if params is not None:
        found["params"] = params
    if authorizer:
        found["authorizer"] = authorization.AUTHORIZER
        if request_resource:
            found["authorizer.requestResource"] = authorization.RESOURCE_CHECK
    return found


# Compiling ------------------------------------------------------------------------------------------------------------


class Compiled(NamedTuple):
    """An expression, ready to run or with what is wrong with it."""

    expression: str
    program: Program | None = None
    error: str = ""
    internal: bool = False  # whether the error is not the author's


def compile_expression(environment: Environment, expression: str, *wanted: str) -> Compiled:
    """Compile an expression that must have one of these types; any, if there are none."""
    try:
        program = environment.compile(expression)
    except CompileError as error:
        return Compiled(expression, error=f"compilation failed: {error}")
    except InstantiationError as error:
        return Compiled(expression, error=f"program instantiation failed: {error}", internal=True)
    found = _shown(program.type)
    if wanted and found not in wanted:
        choice = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
        return Compiled(expression, error=f"must evaluate to {choice} but got {found}")
    return Compiled(expression, program)


def _shown(type: Type) -> str:
    """A type as Go prints it, by the names that values have at run time."""
    if not type.params:
        return type.runtime_name
    return f"{type.runtime_name}({', '.join(map(_shown, type.params))})"


# Evaluating -----------------------------------------------------------------------------------------------------------


class ExpressionFailed(Exception):
    """An expression has no value; the text is Kubernetes'."""


class OutOfBudget(Exception):
    """Expressions cost more than they may together."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class Spender(Protocol):
    """Something that runs expressions of its own while others run."""

    def spent(self) -> int:
        """What they cost since this was asked last."""


class Budget:
    """What a number of expressions may cost together."""

    def __init__(self, left: int, spender: Spender | None = None) -> None:
        self.left = left
        self._spender = spender

    def evaluate(self, compiled: Compiled, bindings: Mapping[str, Any]) -> Any:
        """The value; ExpressionFailed if there is none."""
        if compiled.program is None:
            raise ExpressionFailed(f"compilation error: {compiled.error}")
        meter = Meter(PER_CALL_LIMIT)
        try:
            return compiled.program.eval(bindings, meter)
        except EvaluationError as error:
            raise ExpressionFailed(f"expression '{compiled.expression}' resulted in error: {error}") from None
        finally:
            self._spend(meter.used + (self._spender.spent() if self._spender is not None else 0))

    def _spend(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise OutOfBudget


def holds(conditions: Iterable[Compiled], bindings: Mapping[str, Any], budget: Budget) -> bool:
    """Whether all conditions are true. One that is false decides, whatever becomes of the others; ExpressionFailed."""
    errors: list[str] = []
    for condition in conditions:
        try:
            if budget.evaluate(condition, bindings) is False:
                return False
        except ExpressionFailed as error:
            errors.append(str(error))
    if errors:
        distinct = list(dict.fromkeys(errors))
        raise ExpressionFailed(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")
    return True


# The authorizer -------------------------------------------------------------------------------------------------------


def authorizer_bindings(authorizer: Authorizer, attributes: AdmissionAttributes) -> dict[str, Any]:
    """What expressions ask whether somebody may do something: whoever makes the request, unless they name another."""
    decide = _decider(authorizer, attributes.user)
    asked = authorization.Question(
        group=attributes.kind.gvr.group,
        resource=attributes.kind.gvr.resource,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {
        "authorizer": authorization.Authorizer(decide),
        "authorizer.requestResource": authorization.ResourceCheck(decide, asked),
    }


def _decider(authorizer: Authorizer, user: UserInfo) -> Callable[[authorization.Question], authorization.Decision]:
    def decide(question: authorization.Question) -> authorization.Decision:
        who = user
        if question.service_account is not None:
            account = ServiceAccount(*question.service_account)
            who = UserInfo(account.username, groups=account.groups)
        decision = authorizer.authorize(
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
