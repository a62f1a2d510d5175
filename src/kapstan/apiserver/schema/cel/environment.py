"""The environment of expressions: Kubernetes' libraries, and the variables that the place of an expression offers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.ast import Expr
from kapstan.apiserver.schema.cel.checker import check
from kapstan.apiserver.schema.cel.declarations import Functions
from kapstan.apiserver.schema.cel.evaluate import Program
from kapstan.apiserver.schema.cel.library import LIBRARIES
from kapstan.apiserver.schema.cel.library.mutation import MUTATION, patch_type
from kapstan.apiserver.schema.cel.literalcheck import literal_issues
from kapstan.apiserver.schema.cel.parser import parse
from kapstan.apiserver.schema.cel.source import CompileError, Source
from kapstan.apiserver.schema.cel.types import Type

__all__ = ("Environment", "compile")


@lru_cache(maxsize=2)
def _functions(patches: bool) -> Functions:
    return Functions(*LIBRARIES, MUTATION) if patches else Functions(*LIBRARIES)


@lru_cache(maxsize=1)
def _named_types() -> dict[str, Type]:
    numbers = (types.INT, types.UINT, types.DOUBLE)
    simple = (*numbers, types.BOOL, types.STRING, types.BYTES, types.TIMESTAMP, types.DURATION, types.NULL, types.TYPE)
    param, other = types.type_param("A"), types.type_param("B")
    found = {type.runtime_name: type for type in simple}
    found |= {"list": types.list_of(param), "map": types.map_of(param, other)}
    found["optional_type"] = types.optional_of(param)
    for library in LIBRARIES:
        found |= {type.name: type for type in library.types.values() if type.kind == "opaque"}
    return found


def _named_type(name: str) -> Type | None:
    return _named_types().get(name)


def _named_or_patch_type(name: str) -> Type | None:
    return _named_types().get(name) or patch_type(name)


class Environment:
    """What an expression may refer to. `patches`: it may make objects and JSON patches, too."""

    def __init__(self, variables: Mapping[str, Type], *, patches: bool = False) -> None:
        self._variables = variables
        self._patches = patches

    def check(self, text: str) -> tuple[Expr, Type]:
        """The typed tree of an expression and its type; CompileError shows what is wrong."""
        source = Source(text)
        expr = parse(source)
        named = _named_or_patch_type if self._patches else _named_type
        result = check(expr, source, _functions(self._patches), self._variables, named)
        if issues := literal_issues(expr):
            raise CompileError(source, issues)
        return expr, result

    def compile(self, text: str) -> Program:
        """A program from an expression; CompileError shows what is wrong."""
        return self.program(*self.check(text))

    def program(self, expr: Expr, result: Type) -> Program:
        """A program from what `check` returned."""
        return Program(expr, result, tuple(self._variables))


def compile(text: str, variables: Mapping[str, Type] | None = None) -> Program:
    """Compile an expression over variables of the given types."""
    return Environment(variables or {}).compile(text)
