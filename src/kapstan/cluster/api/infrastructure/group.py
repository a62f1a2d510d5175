"""What every kind of the group shares."""

from __future__ import annotations

__all__ = ("GROUP",)

GROUP = "infrastructure.cluster.x-k8s.io"
