"""Match conditions, compiled and evaluated: they see the object, the old one and the request.

Few clusters have any. So this is imported, and CEL with it, when the first one is judged.
"""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.expressions import (
    CONDITIONS_BUDGET,
    Budget,
    Compiled,
    ExpressionFailed,
    OutOfBudget,
    authorizer_bindings,
    compile_expression,
    holds,
    variables,
)
from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.configuration import Hook
from kapstan.apiserver.admission.webhook.invocation import Invocation
from kapstan.apiserver.admission.webhook.review import described
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.pacing import unhurried

__all__ = ("Undecided", "compile_condition", "conditions_hold")

Object = dict[str, Any]

_ENVIRONMENT = Environment(variables())
_WITH_PARAMS = Environment(variables(params=types.DYN))


class Undecided(Exception):
    """Conditions cannot be evaluated; the text is Kubernetes'."""


class _Memory:
    """Expressions that were compiled, those used last; a program takes room in proportion to its text."""

    def __init__(self, most: int) -> None:
        self._most = most  # characters
        self._left = most
        self._compiled: dict[tuple[str, bool], Compiled] = {}  # used last comes last

    def __len__(self) -> int:
        return len(self._compiled)

    def compiled(self, expression: str, *, params: bool) -> Compiled:
        key = expression, params
        found = self._compiled.pop(key, None)
        if found is None:
            found = compile_expression(_WITH_PARAMS if params else _ENVIRONMENT, expression, "bool")
            if len(expression) > self._most:
                return found
            self._left -= len(expression)
        self._compiled[key] = found
        while self._left < 0:
            oldest = next(iter(self._compiled))
            del self._compiled[oldest]
            self._left += len(oldest[0])
        return found


_MEMORY = _Memory(256 << 10)


def compile_condition(expression: str, *, params: bool = False) -> Compiled:
    """A condition; those of policies may look at parameters."""
    return _MEMORY.compiled(expression, params=params)


async def conditions_hold(
    hook: Hook,
    authorizer: Authorizer,
    attributes: AdmissionAttributes,
    invocation: Invocation,
    obj: Object | None,
    old: Object | None,
) -> bool:
    """Whether all conditions of a webhook are true; Undecided."""
    bindings = {
        "object": obj,
        "oldObject": old,
        "request": described(attributes, invocation.kind),
        **authorizer_bindings(authorizer, attributes),
    }
    compiled = [compile_condition(condition.expression) for condition in hook.conditions]
    try:
        return await unhurried(lambda: holds(compiled, bindings, Budget(CONDITIONS_BUDGET)))
    except (ExpressionFailed, OutOfBudget) as error:
        raise Undecided(str(error)) from None
