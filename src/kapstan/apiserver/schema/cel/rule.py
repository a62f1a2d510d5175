"""One rule of a schema, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.estimate import Estimator
from kapstan.apiserver.schema.cel.evaluate import InstantiationError, Program
from kapstan.apiserver.schema.cel.schematypes import SchemaType
from kapstan.apiserver.schema.cel.source import CompileError
from kapstan.apiserver.schema.cel.types import optional_of
from kapstan.apiserver.schema.fieldpath import InvalidFieldPath, resolve_field_path
from kapstan.machinery.schema import Schema

__all__ = ("CompiledRule", "compile_rule")


class CompiledRule(NamedTuple):
    """One rule. Where it does not compile, `error` says why."""

    rule: Mapping[str, Any]
    program: Program | None
    message: Program | None
    error: str
    message_error: str
    field: str  # the place below that failures name
    cost: int  # what evaluating it may cost at worst, if that was asked for
    message_cost: int

    @property
    def uses_old_self(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.uses

    @property
    def optional_old_self(self) -> bool:
        return bool(self.rule.get("optionalOldSelf"))

    @property
    def shown(self) -> str:
        """The rule in error messages."""
        return (self.rule.get("message") or self.rule.get("rule") or "").strip()


def compile_rule(
    rule: Mapping[str, Any], schema: Schema, declared: SchemaType, *, estimate: bool = False
) -> CompiledRule:
    """Compile a rule of a schema node; errors are worded as apiextensions words them."""
    self_type = declared.type
    old_type = optional_of(self_type) if rule.get("optionalOldSelf") else self_type
    environment = Environment({"self": self_type, "oldSelf": old_type})
    estimator = Estimator(declared) if estimate else None
    main = _compile(environment, rule.get("rule") or "", "bool", "", estimator)
    message = _Compiled()
    if main.program is not None and rule.get("messageExpression"):
        message = _compile(environment, rule["messageExpression"], "string", "messageExpression ", estimator)
    field = _field(rule, schema)
    return CompiledRule(rule, main.program, message.program, main.error, message.error, field, main.cost, message.cost)


class _Compiled(NamedTuple):
    program: Program | None = None
    error: str = ""
    cost: int = 0


def _compile(environment: Environment, text: str, wanted: str, prefix: str, estimator: Estimator | None) -> _Compiled:
    if not text.strip():
        return _Compiled()
    try:
        expr, result = environment.check(text)
        if result.kind != wanted:
            return _Compiled(error=f"{prefix or 'cel expression '}must evaluate to a {wanted}")
        cost = estimator.cost(expr).high if estimator is not None else 0
        return _Compiled(environment.program(expr, result), "", cost)
    except CompileError as error:
        return _Compiled(error=f"{prefix}compilation failed: {error}")
    except InstantiationError as error:
        return _Compiled(error=f"{prefix or 'program '}instantiation failed: {error}")


def _field(rule: Mapping[str, Any], schema: Schema) -> str:
    if not rule.get("fieldPath"):
        return ""
    try:
        return str(resolve_field_path(rule["fieldPath"], schema)[0])
    except InvalidFieldPath:
        return ""
