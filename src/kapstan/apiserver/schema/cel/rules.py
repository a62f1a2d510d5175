"""Rules: `x-kubernetes-validations` of a schema, compiled and evaluated at every level of an object.

Rules that use `oldSelf` run only where the old value is known: on updates, along properties, map keys and keyed
lists. Whatever failed before and did not change is tolerated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kapstan.apiserver.schema.cel.costs import CostExceeded, Meter
from kapstan.apiserver.schema.cel.evaluate import PER_CALL_LIMIT
from kapstan.apiserver.schema.cel.rule import CompiledRule, compile_rule
from kapstan.apiserver.schema.cel.schematypes import SchemaType, schema_type
from kapstan.apiserver.schema.cel.values import NONE, EvaluationError, Optional
from kapstan.apiserver.schema.ratchet import Correlated, keyed_items
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import OMITTED, FieldError, Path

__all__ = ("BUDGET", "Budget", "RuleNode", "compile_rules")

BUDGET = 10_000_000
_MAX_MESSAGE = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class Budget:
    """What is left to spend on one object."""

    def __init__(self, left: int = BUDGET) -> None:
        self.left = left

    @property
    def exhausted(self) -> bool:
        return self.left < 0


class _Ratchet(NamedTuple):
    """The correlation of the current value, or of the nearest around it that has one."""

    current: Correlated | None
    parent: Correlated | None

    @property
    def tolerates(self) -> bool:
        correlated = self.current or self.parent
        return correlated is not None and correlated.unchanged()

    def field(self, name: str) -> _Ratchet:
        if self.current is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return _Ratchet(None, None)
        return _Ratchet(self.current.key(name), self.current)

    def item(self, position: int) -> _Ratchet:
        return self if self.current is None else _Ratchet(self.current.index(position), self.current)


class RuleNode:
    """The rules of one schema node, and of those below it that have any."""

    __slots__ = ("additional", "declared", "items", "problem", "properties", "rules", "schema")

    def __init__(self, schema: Schema, declared: SchemaType | None) -> None:
        self.schema = schema
        self.declared = declared
        self.problem = ""
        self.rules: list[CompiledRule] = []
        self.properties: dict[str, RuleNode] = {}
        self.additional: RuleNode | None = None
        self.items: RuleNode | None = None
        if schema.validations and declared is None:
            self.problem = "failed to convert to declType for CEL validation rules"
        elif declared is not None:
            self.rules = [compile_rule(rule, schema, declared) for rule in schema.validations]

    def validate(
        self,
        obj: Any,
        old: Any = None,
        correlated: Correlated | None = None,
        path: Path | None = None,
        budget: Budget | None = None,
    ) -> list[FieldError]:
        """Which rules an object breaks, given what it was before."""
        errors: list[FieldError] = []
        self._validate(obj, old, _Ratchet(correlated, None), path or Path(), budget or Budget(), errors)
        return errors

    def _validate(
        self, obj: Any, old: Any, ratchet: _Ratchet, path: Path, budget: Budget, errors: list[FieldError]
    ) -> None:
        if obj is None:
            return
        if self.rules or self.problem:
            _Evaluation(self, obj, old, ratchet, path, budget, errors).run()
            if budget.exhausted:
                return
        if type(obj) is list and self.items is not None:
            find_old = keyed_items(self.schema, old if type(old) is list else None)
            for position, item in enumerate(obj):
                below = ratchet.item(position)
                self.items._validate(item, find_old(item), below, path.index(position), budget, errors)
                if budget.exhausted:
                    return
        elif type(obj) is dict:
            self._validate_fields(obj, old if type(old) is dict else {}, ratchet, path, budget, errors)

    def _validate_fields(
        self,
        obj: dict[str, Any],
        old: dict[str, Any],
        ratchet: _Ratchet,
        path: Path,
        budget: Budget,
        errors: list[FieldError],
    ) -> None:
        correlatable = self.schema.map_type in ("", "granular", "atomic")
        for key, value in obj.items():
            old_value = old.get(key) if correlatable else None
            if self.additional is not None:
                self.additional._validate(value, old_value, ratchet.field(key), path.key(key), budget, errors)
            if (node := self.properties.get(key)) is not None:
                node._validate(value, old_value, ratchet.field(key), path.child(key), budget, errors)
            if budget.exhausted:
                return


class _Evaluation:
    """The rules of one node against one value."""

    def __init__(
        self,
        node: RuleNode,
        obj: Any,
        old: Any,
        ratchet: _Ratchet,
        path: Path,
        budget: Budget,
        errors: list[FieldError],
    ) -> None:
        self._node = node
        self._obj = obj
        self._old = old
        self._ratchet = ratchet
        self._path = path
        self._budget = budget
        self._errors = errors
        self._type = node.schema.type
        self._unfit: dict[str, str] = {}

    def run(self) -> None:
        if self._node.problem:
            self._fail(f"rule compiler initialization error: {self._node.problem}")
            return
        if self._budget.left <= 0:
            self._stop(_OUT_OF_BUDGET)
            return
        bindings: dict[str, Any] = {}
        self._bind(bindings, "self", self._obj)
        optional = {**bindings, "oldSelf": NONE}
        if self._old is not None:
            self._bind(bindings, "oldSelf", self._old)
            optional["oldSelf"] = Optional(bindings.get("oldSelf"))
        for rule in self._node.rules:
            self._evaluate(rule, bindings, optional)
            if self._budget.exhausted:
                return

    def _bind(self, bindings: dict[str, Any], name: str, value: Any) -> None:
        """A value that its schema does not fit fails the rules that use it, no others."""
        assert self._node.declared is not None
        try:
            bindings[name] = self._node.declared.convert(value)
        except EvaluationError as error:
            self._unfit[name] = str(error)

    def _evaluate(self, rule: CompiledRule, bindings: dict[str, Any], optional: dict[str, Any]) -> None:
        if rule.error:
            self._fail(f"rule compile error: {rule.error}")
            return
        if rule.program is None or (rule.uses_old_self and self._old is None and not rule.optional_old_self):
            return
        for name, problem in self._unfit.items():
            if name in rule.program.uses:
                self._fail(_failure(problem, rule))
                return
        meter = Meter(PER_CALL_LIMIT)
        try:
            value = rule.program.eval(optional if rule.optional_old_self else bindings, meter)
        except CostExceeded as error:
            what = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._stop(f"'{error}': {what}: {rule.shown}")
            return
        except EvaluationError as error:
            if self._spend(meter.used):
                self._fail(_failure(str(error), rule))
            return
        if self._spend(meter.used) and value is not True:
            self._report(rule, bindings)

    def _spend(self, cost: int) -> bool:
        if cost > self._budget.left:
            self._stop(_OUT_OF_BUDGET)
            return False
        self._budget.left -= cost
        return True

    def _report(self, rule: CompiledRule, bindings: dict[str, Any]) -> None:
        """The rule does not hold: say so, unless that was so before."""
        path = self._path.child(rule.field) if rule.field else self._path
        detail = self._message(rule, bindings)
        if self._budget.exhausted:
            return
        detail = detail or (rule.rule.get("message") or "").strip() or f"failed rule: {rule.shown}"
        value = OMITTED if self._type in ("object", "array") else self._obj
        self._tolerate_or_add(rule, _error(path, value, detail, rule.rule.get("reason")))

    def _message(self, rule: CompiledRule, bindings: dict[str, Any]) -> str:
        """What the message expression says; empty if there is none, or it fails."""
        if rule.message is None:
            return ""
        meter = Meter(min(PER_CALL_LIMIT, self._budget.left))
        try:
            text = rule.message.eval(bindings, meter)
        except CostExceeded:
            what = "messageExpression evaluation failed due to running out of cost budget"
            error = FieldError.invalid(self._path, self._type, f"{what}, no further validation rules will be run")
            self._tolerate_or_add(rule, error)
            self._budget.left = -1
            return ""
        except EvaluationError:
            return ""
        finally:
            self._budget.left -= min(meter.used, max(self._budget.left, 0))
        text = text.strip() if isinstance(text, str) else ""
        return "" if len(text.encode()) > _MAX_MESSAGE or "\n" in text else text

    def _tolerate_or_add(self, rule: CompiledRule, error: FieldError) -> None:
        if rule.uses_old_self or not self._ratchet.tolerates:
            self._errors.append(error)

    def _fail(self, detail: str) -> None:
        self._errors.append(FieldError.invalid(self._path, self._type, detail))

    def _stop(self, detail: str) -> None:
        self._fail(detail)
        self._budget.left = -1


def _failure(message: str, rule: CompiledRule) -> str:
    if message.startswith("no such overload"):
        what = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{message}': {what}: {rule.shown}"
    return f"{message} evaluating rule: {rule.shown}"


def _error(path: Path, value: Any, detail: str, reason: str | None) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return FieldError.forbidden(path, detail)
        case "FieldValueRequired":
            return FieldError.required(path, detail)
        case "FieldValueDuplicate":
            return FieldError.duplicate(path, value)
    return FieldError.invalid(path, value, detail)


def compile_rules(schema: Schema, *, resource_root: bool = True) -> RuleNode | None:
    """All rules of a schema, at any depth; None if it has none."""
    has_rules = {id(node) for node in _nodes(schema) if any(below.validations for below in _nodes(node))}
    return _compile_node(schema, has_rules, resource_root=resource_root) if id(schema) in has_rules else None


def _nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for child in (*schema.properties.values(), schema.items, schema.additional):
        if isinstance(child, Schema):
            yield from _nodes(child)


def _compile_node(schema: Schema, has_rules: set[int], *, resource_root: bool) -> RuleNode:
    declared = schema_type(schema, resource_root=resource_root) if schema.validations else None
    node = RuleNode(schema, declared)

    def below(child: Schema) -> RuleNode:
        return _compile_node(child, has_rules, resource_root=child.embedded_resource)

    for name, child in schema.properties.items():
        # Properties that expressions may not see are left out entirely.
        if id(child) in has_rules and schema_type(child, resource_root=child.embedded_resource) is not None:
            node.properties[name] = below(child)
    if schema.items is not None and id(schema.items) in has_rules:
        node.items = below(schema.items)
    if isinstance(schema.additional, Schema) and id(schema.additional) in has_rules:
        node.additional = below(schema.additional)
    return node
