"""Controller: follows what happens to stored objects, and looks at the keys that this makes due.

Subclasses say which account they act as, what makes a key due, and what is done about it. Events are told after they
are stored and only make keys due; whatever is decided is decided from the storage, when it is a key's turn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from kapstan.apiserver.controllers.serving import MANAGER, controller_api
from kapstan.apiserver.controllers.work import WorkQueue

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.storage.interface import Event, Record
    from kapstan.machinery.gvk import GroupResource

__all__ = ("CollectionController", "Controller")

K = TypeVar("K", bound=Hashable)


class Controller(Generic[K]):
    """One controller of one cluster."""

    account: ClassVar[str]  # the service account as which it acts, and its name in logs
    manager: ClassVar[str] = MANAGER  # whose fields the ones are that it writes

    def __init__(self, cluster: LogicalCluster) -> None:
        self._cluster = cluster
        self._storage = cluster.storage
        self._api = controller_api(cluster, self.account, self.manager)
        self._queue: WorkQueue[K] = WorkQueue(cluster, self.account, self.reconcile)
        self._stops: list[Callable[[], None]] = []

    def follow(self, observe: Callable[[Event], None], *collections: GroupResource) -> None:
        """Be told what happens to the objects of these collections; of all, if none is named."""
        self._stops += [self._storage.observe(observe, collection) for collection in collections or (None,)]

    def start(self) -> None:
        """Look at what is there already."""
        raise NotImplementedError

    async def reconcile(self, key: K, /) -> None:
        """Look at what is due. What fails is tried again, later."""
        raise NotImplementedError

    async def idle(self) -> None:
        """Return when nothing is left to do now."""
        await self._queue.idle()

    def close(self) -> None:
        """Do no more."""
        for stop in self._stops:
            stop()
        self._queue.close()


class CollectionController(Controller[str]):
    """Looks at each object of one collection: at first, and when it has come or changed."""

    collection: ClassVar[GroupResource]

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self.follow(self.observe, self.collection)

    def start(self) -> None:
        for record in self._storage.list(self.collection):
            self.notice(record)

    def observe(self, event: Event) -> None:
        if event.type != "DELETED":
            self.notice(event.record)

    def notice(self, record: Record) -> None:
        """Have an object looked at, if there is anything to see."""
        self._queue.add(record.key)
