"""Manifests as text: YAML whose every byte follows from its content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kapstan.machinery.codec import to_yaml

__all__ = ("manifest", "manifests")


def manifest(document: Mapping[str, Any]) -> str:
    """One document, keys sorted, long texts readable."""
    return "---\n" + to_yaml(document, sort_keys=True)


def manifests(documents: Iterable[Mapping[str, Any]]) -> str:
    """Several documents in one stream."""
    return "".join(manifest(document) for document in documents)
