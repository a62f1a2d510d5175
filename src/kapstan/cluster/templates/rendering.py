"""Rendering: a template and what is known of the cluster become manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from kapstan.cluster.templates.substitution import substitute
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.errors import ConfigError

__all__ = ("Document", "documents_of")

Document: TypeAlias = dict[str, Any]

_FIELDS = (("apiVersion",), ("kind",), ("metadata", "name"))


def documents_of(template: str, values: Mapping[str, str]) -> list[Document]:
    """The objects of a template; ConfigError if it does not make sense with these values."""
    try:
        found = [document for document in load_yaml(substitute(template, values).encode()) if document]
    except ValueError as error:
        raise ConfigError(f"the template does not give YAML with these values: {_problem(error)}") from error
    for number, document in enumerate(found, 1):
        if missing := [".".join(field) for field in _FIELDS if not _is_text(document, field)]:
            raise ConfigError(f"document {number} of the template is no object: it has no {' and no '.join(missing)}")
    if not found:
        raise ConfigError("the template is empty: write the objects of a cluster into it")
    return found


def _is_text(document: Document, path: Sequence[str]) -> bool:
    found: Any = document
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return isinstance(found, str) and bool(found)


def _problem(error: ValueError) -> str:
    """In one line, and where."""
    mark, problem = (getattr(error.__cause__, name, None) for name in ("problem_mark", "problem"))
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark and problem else str(error)
