"""Parts of a cluster that a provider makes: its infrastructure, its control plane. Each is owned once it is there.

What was there once and is gone is an error: the cluster cannot be made again from nothing.
"""

from __future__ import annotations

from typing import TypeVar

from kapstan.cluster.contract.objects import ProviderObject
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.core.failure import note_failure
from kapstan.cluster.core.ownership import adopt, adopted_by_cluster
from kapstan.runtime.reconcile import TerminalError

__all__ = ("load_part",)

V = TypeVar("V", bound=ProviderObject)


async def load_part(scope: Scope, referenced: Referenced[V], view: type[V], *, lost: str) -> V | None:
    """The provider's object; None if it is not there yet, or no more. `lost`: after what it may not be gone, if so."""
    cluster, ref = scope.cluster, referenced.ref
    found = await referenced.load(scope.providers, view, cluster.namespace)
    if found is None:
        if lost and not cluster.deleting:
            raise TerminalError(f"{cluster}: {ref.kind} {ref.name} has been deleted after {lost}")
        return None
    await adopt(scope.client, referenced, lambda document: adopted_by_cluster(document, cluster))
    note_failure(cluster, found)
    return None if found.deleting else found
