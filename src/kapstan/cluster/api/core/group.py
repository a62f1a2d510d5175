"""What every kind of the group shares: its name, its version, the label that says which contract it follows."""

from __future__ import annotations

from kapstan.machinery.model import Column

__all__ = ("CATEGORIES", "CONTRACT", "GROUP", "VERSION", "condition_column")

GROUP = "cluster.x-k8s.io"
VERSION = "v1beta2"
CATEGORIES = ("cluster-api",)
# Core finds the version of a provider's kind by this label of its CRD.
CONTRACT = {"cluster.x-k8s.io/v1beta2": VERSION}


def condition_column(name: str, condition: str, *, priority: int = 0) -> Column:
    """A column with the status of a condition."""
    return Column(name, f'.status.conditions[?(@.type=="{condition}")].status', priority=priority)
