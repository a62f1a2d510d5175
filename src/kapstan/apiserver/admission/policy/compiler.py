"""Compiling the expressions of a policy, each of which may refer to the policy's variables before it."""

from __future__ import annotations

from functools import cached_property

from kapstan.apiserver.admission.expressions import Compiled, compile_expression, variables
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.types import Type

__all__ = ("PolicyCompiler",)

_SIMPLE = ("any", "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint")


class PolicyCompiler:
    """Of one policy. `params` is the type of its parameters, None if it has none."""

    def __init__(
        self,
        *,
        params: Type | None = None,
        obj: Type = types.DYN,
        request_resource: bool = True,
        composed: bool = True,
    ) -> None:
        """Without `composed`, there is not even a variable `variables`."""
        self._variables: dict[str, Type] = {}
        common = {"variables": types.object_type("kubernetes.variables", self._variables)} if composed else {}
        known = variables(params=params, obj=obj, request_resource=request_resource)
        self._known = known | common
        self._unauthorized = variables(params=params, obj=obj, authorizer=False) | common

    @cached_property
    def environment(self) -> Environment:
        """What most expressions see."""
        return Environment(self._known)

    @cached_property
    def _patches(self) -> Environment:
        return Environment(self._known, patches=True)

    @cached_property
    def _messages(self) -> Environment:
        return Environment(self._unauthorized)

    def condition(self, expression: str) -> Compiled:
        return compile_expression(self.environment, expression, "bool")

    def message(self, expression: str) -> Compiled:
        """Messages may not ask the authorizer."""
        return compile_expression(self._messages, expression, "string")

    def annotation(self, expression: str) -> Compiled:
        return compile_expression(self.environment, expression, "string", "null_type")

    def mutation(self, expression: str, wanted: str) -> Compiled:
        return compile_expression(self._patches, expression, wanted)

    def variable(self, name: str, expression: str) -> Compiled:
        """A variable, which what is compiled later may refer to."""
        compiled = compile_expression(self.environment, expression)
        self.declare(name, compiled.program.type if compiled.program is not None else types.DYN)
        return compiled

    def declare(self, name: str, type: Type) -> None:
        self._variables[name] = _remembered(type)


def _remembered(type: Type) -> Type:
    """What is known of a variable's type where it is used: of objects, nothing."""
    match type.kind:
        case "list":
            return types.list_of(_remembered(type.params[0]))
        case "map":
            return types.map_of(*map(_remembered, type.params))
    return type if type.kind in _SIMPLE else types.DYN
