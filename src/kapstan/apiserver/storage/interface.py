"""Storage: what the registry needs of a store of objects.

All state that readers see is committed: a write is acknowledged, visible and published to observers at one moment,
in the order of revisions. The revision is the resourceVersion: one counter for all kinds of a cluster.
Reads are synchronous, since the working state is always in memory. Records are immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupResource

__all__ = (
    "Event",
    "EventType",
    "Observer",
    "Record",
    "RevisionTooNew",
    "RevisionTooOld",
    "Storage",
    "StorageError",
    "WriteConflict",
)

EventType = Literal["ADDED", "MODIFIED", "DELETED"]
_NOTHING: Mapping[str, str] = {}


class StorageError(KapstanError):
    """The store cannot do its work: the disk is full, the file damaged or somebody else's."""


class WriteConflict(Exception):
    """The object is not what the writer thought it was; read it again."""


class RevisionTooOld(Exception):
    """That revision has been compacted away."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} has been compacted, the oldest is {oldest}")
        self.revision, self.oldest = revision, oldest


class RevisionTooNew(Exception):
    """No such revision yet."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, the current one is {current}")
        self.revision, self.current = revision, current


class Record:
    """One object at one revision: its JSON, and what can be asked about it without decoding that."""

    __slots__ = ("fields", "key", "kind", "labels", "owner_uids", "revision", "uid", "value", "views", "written_as")

    def __init__(
        self,
        kind: GroupResource,
        key: str,
        revision: int,
        value: bytes,
        *,
        uid: str = "",
        labels: Mapping[str, str] = _NOTHING,
        owner_uids: tuple[str, ...] = (),
        written_as: Any = None,
    ) -> None:
        self.kind = kind
        self.key = key  # "namespace/name", or "name" for cluster-scoped kinds
        self.revision = revision
        self.value = value  # in the storage version, resourceVersion included
        self.uid = uid
        self.labels = labels
        self.owner_uids = owner_uids
        # The StorageKind under which it was written. While that is still the one in force, `value` needs no pruning,
        # defaulting or conversion on its way out.
        self.written_as = written_as
        # Made on demand by readers: the values for field selectors, and encodings in other versions.
        self.fields: dict[Any, Mapping[str, str]] | None = None
        self.views: dict[Any, bytes] | None = None

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def __repr__(self) -> str:
        return f"Record({self.kind} {self.key} @{self.revision})"


class Event:
    """One write. `frames` holds what was encoded for watchers, once per representation, while they send it."""

    __slots__ = ("frames", "previous", "record", "time", "type")

    def __init__(self, type: EventType, record: Record, previous: Record | None, time: float) -> None:
        self.type: EventType = type
        self.record = record  # of a DELETED: the last state, at the revision of the deletion
        self.previous = previous
        self.time = time  # monotonic seconds
        self.frames: dict[Any, bytes] = {}

    @property
    def revision(self) -> int:
        return self.record.revision

    def __repr__(self) -> str:
        return f"Event({self.type} {self.record!r})"


Observer = Callable[[Event], None]


class Storage(Protocol):
    """The objects of one logical cluster."""

    @property
    def revision(self) -> int:
        """The newest committed revision."""

    @property
    def oldest_revision(self) -> int:
        """Events after this one are still known: watches and snapshots may begin here."""

    def get(self, kind: GroupResource, key: str) -> Record | None:
        """The committed record."""

    def latest(self, kind: GroupResource, key: str) -> Record | None:
        """The record that the next write replaces: a pending one, if there is any. Not for readers."""

    def list(
        self, kind: GroupResource, prefix: str = "", *, start: str = "", revision: int | None = None
    ) -> Sequence[Record]:
        """The records whose keys begin with `prefix`, from `start` on, in key order.

        As of now, or as of an earlier revision (RevisionTooOld, RevisionTooNew).
        """

    def count(self, kind: GroupResource) -> int:
        """How many records a collection has."""

    def kinds(self) -> Iterator[GroupResource]:
        """The collections that hold at least one object."""

    def dependents(self, uid: str) -> Sequence[Record]:
        """The records that name this uid among their owners."""

    async def put(
        self, kind: GroupResource, key: str, expected: Record | None, build: Callable[[int], Record]
    ) -> Record:
        """Create (`expected` is None) or replace; WriteConflict if `latest` is not `expected`.

        `build` makes the record from the revision it gets. Returns when the write is durable and visible.
        """

    async def delete(self, kind: GroupResource, key: str, expected: Record, build: Callable[[int], Record]) -> Record:
        """Remove; `build` makes the last state, as watchers see it."""

    async def settle(self, record: Record) -> None:
        """Return when `record`, got from `latest`, is committed."""

    def observe(self, observer: Observer, kind: GroupResource | None = None) -> Callable[[], None]:
        """Call `observer` with each event from now on, of one kind or all; the answer ends that."""

    def events_since(self, revision: int, kind: GroupResource | None = None) -> Sequence[Event]:
        """What was committed after that revision (RevisionTooOld, RevisionTooNew)."""

    def setting(self, name: str) -> bytes | None:
        """A value kept beside the objects, such as a key of the cluster's own."""

    async def set_setting(self, name: str, value: bytes) -> None:
        """Keep such a value; returns when it is durable."""

    async def close(self) -> None:
        """Write what is pending and let go of the files."""
