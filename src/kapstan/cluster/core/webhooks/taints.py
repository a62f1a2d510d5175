"""Taints that a machine may give its node: not those that Kubernetes or Cluster API set themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kapstan.cluster.api.core.common import MachineTaint
from kapstan.cluster.skeleton import labels
from kapstan.machinery.names import qualified_name_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("taint_errors",)

_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_RESERVED = (labels.UNINITIALIZED.key, labels.OUTDATED_REVISION.key)


def taint_errors(taints: Sequence[MachineTaint], path: Path, *, workers: bool = False) -> Iterator[FieldError]:
    """What is wrong with taints; those of workers may not say that they are a control plane."""
    for index, taint in enumerate(taints):
        key = path.index(index).child("key")
        complaint = _complaint(taint.key, workers)
        if complaint:
            yield FieldError.invalid(key, taint.key, complaint)
        for error in qualified_name_errors(taint.key):
            yield FieldError.invalid(key, taint.key, error)


def _complaint(key: str, workers: bool) -> str:
    if key in _RESERVED:
        return "Cluster API sets this taint itself"
    if key.startswith("node.kubernetes.io/") and key != _OUT_OF_SERVICE:
        return f"Kubernetes sets taints under node.kubernetes.io/ itself; only {_OUT_OF_SERVICE} may be given"
    if key.startswith("node.cloudprovider.kubernetes.io/"):
        return "cloud providers set taints under node.cloudprovider.kubernetes.io/ themselves"
    if key == "node-role.kubernetes.io/master":
        return f"this taint is no longer in use since Kubernetes 1.24; use {_CONTROL_PLANE}"
    return "workers are not of the control plane" if workers and key == _CONTROL_PLANE else ""
