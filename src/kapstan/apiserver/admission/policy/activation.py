"""What the expressions of a policy see of one write, and its variables, each evaluated when it is first asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from kapstan.apiserver.admission.expressions import CONDITIONS_BUDGET, Budget, Compiled, authorizer_bindings, holds
from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.versions import Pair
from kapstan.apiserver.admission.webhook.invocation import admission_namespace
from kapstan.apiserver.admission.webhook.review import described
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import decode
from kapstan.apiserver.schema.cel.costs import Meter
from kapstan.apiserver.schema.cel.evaluate import PER_CALL_LIMIT
from kapstan.apiserver.schema.cel.pacing import SLICE, unhurried
from kapstan.apiserver.schema.cel.values import EvaluationError, MapValue
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource

__all__ = ("Activation", "Variables", "namespace_object")

BUDGET = 10_000_000
_NAMESPACES = GroupResource("", "namespaces")

Object = dict[str, Any]


class Variables(MapValue):
    """The variables of a policy."""

    __slots__ = ("_bindings", "_budget", "_compiled", "_cost", "_failures", "_values")

    def __init__(self, compiled: Mapping[str, Compiled], bindings: Mapping[str, Any], budget: int) -> None:
        """Beyond the budget nothing is evaluated: whatever asks for it is out of budget, too."""
        self._budget = budget
        self._compiled = compiled
        self._bindings = bindings
        self._values: dict[str, Any] = {}
        self._failures: dict[str, str] = {}
        self._cost = 0

    def state(self) -> tuple[dict[str, Any], dict[str, str]]:
        """What is known of them so far."""
        return self._values, self._failures

    def reset(self, state: tuple[Mapping[str, Any], Mapping[str, str]]) -> None:
        """Know what was known then, and no more."""
        values, failures = state
        self._values, self._failures, self._cost = dict(values), dict(failures), 0

    def spent(self) -> int:
        cost, self._cost = self._cost, 0
        return cost

    def find(self, key: Any) -> tuple[bool, Any]:
        if not isinstance(key, str):
            return False, None
        if key in self._failures:
            raise EvaluationError(self._failures[key])
        if key not in self._values:
            if key not in self._compiled:
                return False, None
            self._values[key] = self._evaluated(key)
        return True, self._values[key]

    def _evaluated(self, name: str) -> Any:
        compiled, meter = self._compiled[name], Meter(PER_CALL_LIMIT)
        try:
            if self._cost > self._budget:
                raise EvaluationError(f"composited variable {quote(name)} is not evaluated: out of cost budget")
            if compiled.program is None:
                raise EvaluationError(f"composited variable {quote(name)} fails to compile: {compiled.error}")
            try:
                return compiled.program.eval(self._bindings, meter)
            except EvaluationError as error:
                raise EvaluationError(f"composited variable {quote(name)} fails to evaluate: {error}") from None
        except EvaluationError as error:
            self._failures[name] = str(error)
            raise
        finally:
            self._cost += meter.used

    def __len__(self) -> int:
        return len(self._compiled)

    def __iter__(self) -> Iterator[str]:
        return iter(self._compiled)

    def equals(self, other: Any) -> bool:
        return self is other


class Activation:
    """One evaluation of a policy: for a write, in one version, with one object of parameters."""

    def __init__(
        self,
        attributes: AdmissionAttributes,
        authorizer: Authorizer,
        kind: ServedKind,
        seen: Pair,
        params: Object | None,
        namespace: Object | None,
        variables: Mapping[str, Compiled],
    ) -> None:
        self._attributes = attributes
        self._kind = kind
        self._variables = variables
        obj, old = seen
        self._bindings = {
            "object": obj,
            "oldObject": old,
            "params": params,
            "namespaceObject": namespace,
            "request": described(attributes, kind),
            **authorizer_bindings(authorizer, attributes),
        }

    def evaluator(self) -> Evaluator:
        """For the policy's own expressions."""
        return Evaluator(self._bindings, self._variables, BUDGET)

    async def matches(self, conditions: tuple[Compiled, ...]) -> bool:
        """Whether the match conditions hold, which do not see the namespace. ExpressionFailed, OutOfBudget."""

        def work() -> bool:
            evaluator = Evaluator(self._bindings | {"namespaceObject": None}, self._variables, CONDITIONS_BUDGET)
            return holds(conditions, evaluator.bindings, evaluator.budget)

        return not conditions or await unhurried(work)


class Evaluator:
    """Evaluates expressions that share variables and a budget."""

    def __init__(self, bindings: Object, variables: Mapping[str, Compiled], budget: int) -> None:
        self.bindings = dict(bindings)
        self._variables = self.bindings["variables"] = Variables(variables, self.bindings, budget)
        self.budget = Budget(budget, self._variables)
        self._spent = 0  # since others had their turn

    async def evaluate(self, compiled: Compiled) -> Any:
        """The value. ExpressionFailed, OutOfBudget. Others have their turns during and after what takes long."""
        left, known = self.budget.left, self._variables.state()

        def work() -> Any:
            self.budget.left = left
            self._variables.reset(known)
            return self.budget.evaluate(compiled, self.bindings)

        try:
            return await unhurried(work)
        finally:
            self._spent += left - self.budget.left
            if self._spent >= SLICE:
                self._spent = 0
                await asyncio.sleep(0)


def namespace_object(attributes: AdmissionAttributes) -> Object | None:
    """The namespace of the object that is written; None for objects that are in none, and for namespaces."""
    namespace = admission_namespace(attributes)
    if not namespace or attributes.kind.gvr.group_resource == _NAMESPACES:
        return None
    record = attributes.request.cluster.storage.get(_NAMESPACES, namespace)
    return decode(record.value) if record is not None else None
