"""Deletion of what an object refers to, and the stage that a deletion has reached.

Nothing is leaked: that a provider's object is gone is believed only if the API server says so, for a cache may not have
heard of an object yet. Nothing is deleted twice: what is already going is waited for, and a new object of the same name
is another one.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from kapstan.client.client import Client
from kapstan.cluster.contract.objects import ProviderObject
from kapstan.cluster.core.external import Providers, Referenced
from kapstan.cluster.core.ownership import NotOurs
from kapstan.cluster.skeleton.reasons import Reason

__all__ = ("COMPLETED", "Stage", "delete_referenced", "is_to_be_deleted")

V = TypeVar("V", bound=ProviderObject)


class Stage(NamedTuple):
    """What a deletion waits for: reason and message of the condition Deleting."""

    reason: str
    message: str = ""
    requeue_after: float = 0  # seconds, where nothing tells when to go on


COMPLETED = Stage(Reason.DELETION_COMPLETED, "Deletion completed")


def is_to_be_deleted(referenced: Referenced[Any] | None) -> bool:
    """Whether what an object refers to goes with it. What somebody else controls stays."""
    return referenced is None or not isinstance(referenced.error, NotOurs)


async def delete_referenced(
    client: Client, providers: Providers[Any], referenced: Referenced[V], view: type[V], namespace: str
) -> bool:
    """Delete a provider's object; whether it is gone. Whoever refers to it is woken when it goes."""
    found = referenced.found or await referenced.load(providers, view, namespace, live=True)
    if found is None:
        return True
    if found.deleting:
        return False
    await client.delete(found.document, uid=found.document["metadata"]["uid"])
    return await referenced.load(providers, view, namespace) is None
