"""Warnings: what Kubernetes accepts but tells the client to think about again."""

from kapstan.apiserver.strategy.warnings.table import STATUS_WARNINGS, WARNINGS

__all__ = ("STATUS_WARNINGS", "WARNINGS")
