"""Failure: what a provider calls final, as v1beta1 had it. It is passed on to whoever still reads it, no more."""

from __future__ import annotations

from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.deprecated import Deprecated, FailureStatus
from kapstan.cluster.contract.objects import ProviderObject

__all__ = ("note_failure",)


def note_failure(obj: Cluster | Machine, view: ProviderObject) -> None:
    """Note what a provider's object says of a failure. What has been noted stays."""
    if not view.failure_reason and not view.failure_message:
        return
    known = obj.status.deprecated or Deprecated()
    status = known.v1beta1 or FailureStatus()
    if view.failure_reason:
        status = status.replace(failure_reason=view.failure_reason)
    if view.failure_message:
        told = f'Failure detected from referenced resource {view.kind} with name "{view.name}": {view.failure_message}'
        status = status.replace(failure_message=told)
    obj.status.deprecated = known.replace(v1beta1=status)
