"""What every kind of the group shares: its name, its version, and the labels of its CRD."""

from __future__ import annotations

from kapstan.machinery.model import Column

__all__ = ("CATEGORIES", "CLUSTERCTL", "GROUP", "LABELS", "VERSION", "condition_column")

GROUP = "cluster.x-k8s.io"
VERSION = "v1beta2"
CATEGORIES = ("cluster-api",)
# clusterctl moves the objects of kinds whose CRDs have this label.
CLUSTERCTL = {"clusterctl.cluster.x-k8s.io": ""}
# Core finds the version of a provider's kind by the label of the contract.
LABELS = {**CLUSTERCTL, "cluster.x-k8s.io/v1beta2": VERSION}


def condition_column(name: str, condition: str, *, priority: int = 0) -> Column:
    """A column with the status of a condition."""
    return Column(name, f'.status.conditions[?(@.type=="{condition}")].status', priority=priority)
