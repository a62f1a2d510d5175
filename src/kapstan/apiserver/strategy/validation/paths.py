"""Paths in volumes and on hosts."""

from __future__ import annotations

from kapstan.apiserver.strategy.validation.common import Rules
from kapstan.machinery.validation import FieldError, Path

__all__ = ("backsteps", "descending_path", "local_path")


def backsteps(value: str, path: Path) -> Rules:
    if ".." in value.split("/"):
        yield FieldError.invalid(path, value, "must not contain '..'")


def descending_path(value: str, path: Path) -> Rules:
    """A relative path that does not leave where it starts."""
    if value.startswith("/"):
        yield FieldError.invalid(path, value, "must be a relative path")
    yield from backsteps(value, path)


def local_path(value: str, path: Path) -> Rules:
    """Such a path which, moreover, is none of the names that the kubelet keeps for itself."""
    yield from descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield FieldError.invalid(path, value, "must not start with '..'")
