"""Descriptions: the docstring of a type, and the string literal that stands below one of its fields.

A field's literal is not there at run time, so it is read from the source; where the source is gone (a zipped or
compiled module) the schema simply has fewer descriptions.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache

from kapstan.machinery.base import Model

__all__ = ("field_descriptions", "type_description")


def type_description(cls: type[Model]) -> str:
    """The class' own docstring, unwrapped: single line breaks become spaces, blank lines stay."""
    return unwrap(cls.__dict__.get("__doc__") or "")


def unwrap(text: str) -> str:
    """Text as it is meant, not as it was wrapped to fit a line. Lists and indented lines keep their breaks."""
    paragraphs: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        starts_new = not line or line[0] in " -*" or not paragraphs or not paragraphs[-1]
        if starts_new:
            paragraphs.append(line)
        else:
            paragraphs[-1] += " " + line
    return "\n".join(paragraphs).strip()


def field_descriptions(cls: type[Model]) -> dict[str, str]:
    """Python field name → description, of the class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Model):
            found.update(_own_descriptions(base))
    return found


@cache
def _own_descriptions(cls: type[Model]) -> dict[str, str]:
    node = _class_nodes(cls.__module__).get(cls.__qualname__)
    found: dict[str, str] = {}
    name = ""
    for statement in node.body if node else ():
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
        elif name and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            if isinstance(statement.value.value, str):
                found[name] = unwrap(statement.value.value)
            name = ""
        else:
            name = ""
    return found


@cache
def _class_nodes(module_name: str) -> dict[str, ast.ClassDef]:
    import sys

    module = sys.modules.get(module_name)
    try:
        tree = ast.parse(inspect.getsource(module)) if module else ast.Module([], [])
    except (OSError, TypeError, SyntaxError):
        return {}
    found: dict[str, ast.ClassDef] = {}
    _collect(tree, "", found)
    return found


def _collect(node: ast.AST, prefix: str, found: dict[str, ast.ClassDef]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            found[prefix + child.name] = child
            _collect(child, f"{prefix}{child.name}.", found)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            _collect(child, f"{prefix}{child.name}.<locals>.", found)
