"""Rendering: a template and what is known of the cluster become manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from kapstan.cluster.templates.substitution import substitute
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.errors import ConfigError

__all__ = ("Document", "documents_of")

Document: TypeAlias = dict[str, Any]


def documents_of(template: str, values: Mapping[str, str]) -> list[Document]:
    """The objects of a template; ConfigError if it does not make sense with these values."""
    try:
        found = [document for document in load_yaml(substitute(template, values).encode()) if document]
    except ValueError as error:
        raise ConfigError(f"the template does not give YAML with these values: {error}") from error
    for document in found:
        if not (document.get("kind") and document.get("apiVersion") and document.get("metadata")):
            raise ConfigError("the template holds something that is no object: apiVersion, kind or metadata is missing")
    return found
