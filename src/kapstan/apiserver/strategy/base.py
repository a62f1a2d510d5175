"""Strategy: what is particular about one kind, as hooks that the registry calls in Kubernetes' order.

    create: default → [admission] → prepare_for_create → validate → warnings → canonicalize → store
    update: default → [admission] → prepare_for_update → validate_update → warnings → canonicalize → store

Hooks work on plain dictionaries and do no I/O; `prepare_*`, `default` and `canonicalize` change the object in place.
The base class alone serves a kind whose schema says everything; its flags cover what most kinds differ in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from kapstan.machinery.names import name_is_dns_subdomain

if TYPE_CHECKING:
    from kapstan.apiserver.request import DeleteOptions, Request
    from kapstan.apiserver.storage.interface import Record
    from kapstan.machinery.validation import FieldError

__all__ = ("FieldPath", "GarbageCollection", "Object", "StatusStrategy", "Strategy", "TableColumn")

Object = dict[str, Any]
GarbageCollection = Literal["DeleteDependents", "OrphanDependents", "Unsupported"]
FieldPath = tuple[str, ...]


class TableColumn(msgspec.Struct, frozen=True, rename="camel"):
    """One column of `kubectl get`; priority 1 shows with `-o wide` only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


NAME_COLUMN = TableColumn("Name", format="name", description="Name must be unique within a namespace.")
AGE_COLUMN = TableColumn("Created At", type="date", description="When the object was created.")


class Strategy:
    """The hooks of a kind's main endpoint. One instance serves every cluster: it keeps no state about objects."""

    has_status: bool = False  # there is a status subresource, and only it changes `status`
    has_generation: bool = False  # `metadata.generation` counts changes of what the user wants
    allow_create_on_update: bool = False  # PUT on a missing name creates
    allow_unconditional_update: bool = True  # PUT needs no resourceVersion
    returns_deleted: bool = False  # DELETE answers with the object instead of a Status
    garbage_collection: GarbageCollection = "DeleteDependents"  # where the client does not say
    selectable_fields: tuple[str, ...] = ()  # beyond metadata.name and metadata.namespace
    columns: tuple[TableColumn, ...] = (NAME_COLUMN, AGE_COLUMN)

    def name_errors(self, name: str, prefix: bool = False) -> list[str]:
        """What is wrong with `metadata.name`, or with `generateName` where `prefix` says so."""
        return name_is_dns_subdomain(name, prefix)

    # Writing ----------------------------------------------------------------------------------------------------------

    def default(self, obj: Object) -> None:
        """Fill in what the schema's defaults cannot say."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        """Remove what a client may not set."""
        if self.has_status:
            obj.pop("status", None)
        if self.has_generation:
            obj["metadata"]["generation"] = 1

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        """Put back what a client may not change. `metadata.generation` is the old one when this is called."""
        if self.has_status:
            _restore(obj, old, "status")
        if self.has_generation and self.desires_differ(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def desires_differ(self, obj: Object, old: Object) -> bool:
        """Whether the new object asks for something else than the old one: that counts a generation."""
        return bool(obj.get("spec") != old.get("spec"))

    def validate(self, request: Request, obj: Object) -> Sequence[FieldError]:
        """What is wrong with a new object. Schema and metadata have been checked already."""
        return ()

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        """What is wrong with a changed object, or with the change."""
        return ()

    def warnings(self, request: Request, obj: Object, old: Object | None) -> Sequence[str]:
        """What the client should know though it is accepted; `old` is None on create."""
        return ()

    def canonicalize(self, obj: Object) -> None:
        """Bring a valid object into its canonical form."""

    def reset_fields(self) -> Sequence[FieldPath]:
        """The fields that this endpoint ignores; server-side apply never gives them to a manager."""
        return (("status",),) if self.has_status else ()

    # Deleting ---------------------------------------------------------------------------------------------------------

    def grace_period(self, request: Request, obj: Object, options: DeleteOptions) -> int | None:
        """Seconds between the deletion's beginning and its end; None removes the object at once."""
        return None

    def mark_for_deletion(self, request: Request, obj: Object, options: DeleteOptions) -> bool:
        """Begin a deletion that ends by other means than grace periods; whether that is what happened."""
        return False

    def deletion_warnings(self, options: DeleteOptions) -> Sequence[str]:
        """What whoever deletes objects should know, whether or not they are there."""
        return ()

    def may_go(self, obj: Object) -> bool:
        """Whether an object that is being deleted is gone with its last metadata finalizer."""
        return True

    def default_garbage_collection(self, request: Request) -> GarbageCollection:
        return self.garbage_collection

    # Afterwards -------------------------------------------------------------------------------------------------------

    async def after_write(self, request: Request, record: Record) -> None:
        """Called when an object has been created or changed, before the client gets its answer."""

    # Reading ----------------------------------------------------------------------------------------------------------

    def fields(self, obj: Object) -> Mapping[str, str]:
        """The values of `selectable_fields`."""
        return {}

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        """The object's row of the table, one cell for each of `columns`."""
        metadata = obj["metadata"]
        return [metadata.get("name", ""), metadata.get("creationTimestamp")]

    def row_conditions(self, obj: Object) -> list[Object]:
        """What marks the object's row, such as that it has ended."""
        return []


class StatusStrategy(Strategy):
    """The hooks of a kind's `/status`: of what the client sends, only the status counts."""

    allow_unconditional_update = True

    def __init__(self, parent: Strategy, *, resets_metadata: bool = False) -> None:
        self.parent = parent
        self.resets_metadata = resets_metadata  # newer kinds ignore labels, annotations, finalizers and owners here too
        self.allow_unconditional_update = parent.allow_unconditional_update
        self.selectable_fields = parent.selectable_fields
        self.columns = parent.columns

    def name_errors(self, name: str, prefix: bool = False) -> list[str]:
        return self.parent.name_errors(name, prefix)

    def default(self, obj: Object) -> None:
        self.parent.default(obj)

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        for name in obj.keys() | old.keys():
            if name not in ("apiVersion", "kind", "metadata", "status"):
                _restore(obj, old, name)
        if self.resets_metadata:
            for name in ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "selfLink"):
                _restore(obj["metadata"], old["metadata"], name)

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return self.parent.validate_update(request, obj, old)

    async def after_write(self, request: Request, record: Record) -> None:
        await self.parent.after_write(request, record)

    def reset_fields(self) -> Sequence[FieldPath]:
        return (("spec",), ("metadata",)) if self.resets_metadata else (("spec",),)

    def fields(self, obj: Object) -> Mapping[str, str]:
        return self.parent.fields(obj)

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        return self.parent.cells(obj, now)


def _restore(obj: Object, old: Object, name: str) -> None:
    """Make a field what it was, which may be absent."""
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)
