"""Which objects of a kind belong to a cluster, by what their spec says: a new one may have no label yet."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct, field

from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.snapshot import Snapshot

__all__ = ("ClusterIndex",)

_NAME = "spec.clusterName"


class ClusterIndex:
    """Finds objects with `spec.clusterName` in the cache."""

    def __init__(self, informer: SharedInformer) -> None:
        self._store = informer.store
        self._store.add_index(_NAME, _values)

    def of(self, cluster: ObjectKey) -> list[ObjectKey]:
        return [snapshot.key for snapshot in self._store.by_index(_NAME, str(cluster))]


class _Spec(Struct, rename="camel"):
    cluster_name: str = ""


class _Peek(Struct):
    spec: _Spec = field(default_factory=_Spec)


_peek = msgspec.json.Decoder(_Peek).decode


def _values(snapshot: Snapshot) -> Iterable[str]:
    return (str(ObjectKey(snapshot.namespace, _peek(snapshot.data).spec.cluster_name)),)
