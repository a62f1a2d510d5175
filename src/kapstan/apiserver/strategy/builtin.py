"""BuiltinStrategy: the hooks of a built-in kind, put together from what the tables say about it.

Subclasses add what no table can say. Objects that come here have been read by their Go type: fields have the right
types, what Go always writes is there, and defaults are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.strategy.base import FieldPath, Object, Strategy
from kapstan.apiserver.strategy.disabled import DISABLED, drop_disabled
from kapstan.apiserver.strategy.merging import changed, restore
from kapstan.apiserver.strategy.selectable import SELECTABLE, Selectable
from kapstan.apiserver.strategy.tables import TABLES
from kapstan.apiserver.strategy.traits import traits_of
from kapstan.apiserver.strategy.typed import struct_of
from kapstan.apiserver.strategy.validation import VALIDATORS, Validator
from kapstan.apiserver.strategy.warnings import STATUS_WARNINGS, WARNINGS
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupVersionKind, GroupVersionResource

if TYPE_CHECKING:
    from kapstan.apiserver.request import Request
    from kapstan.machinery.validation import FieldError

__all__ = ("BuiltinStatusStrategy", "BuiltinStrategy")

_RESET_FOR_STATUS = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "selfLink")


class BuiltinStrategy(Strategy):
    """The main endpoint of a built-in kind."""

    def __init__(self, gvr: GroupVersionResource, gvk: GroupVersionKind, *, has_status: bool = False) -> None:
        struct = struct_of(gvk)
        assert struct is not None, f"{gvk} has no Go type"
        self.gvk = gvk
        self.struct = struct
        self.traits = traits_of(gvr.group_resource)
        self.has_status = has_status
        self.has_generation = bool(self.traits.generation)
        self.allow_create_on_update = self.traits.create_on_update
        self.allow_unconditional_update = self.traits.unconditional_update
        self.garbage_collection = self.traits.garbage_collection
        self._selectable: Selectable = SELECTABLE.get(gvr.group_resource, {})
        self.selectable_fields = tuple(self._selectable)
        self._disabled = DISABLED.get(gvr.group_resource, ())
        self._validator = VALIDATORS.get(gvr.group_resource, Validator())
        self._warnings = WARNINGS.get(gvr.group_resource)
        self._status_warnings = STATUS_WARNINGS.get(gvr.group_resource)
        self._table = TABLES.get(gvr.resource)
        if self._table is not None:
            self.columns = self._table.columns

    def name_errors(self, name: str, prefix: bool = False) -> list[str]:
        return self.traits.name(name, prefix)

    # Writing ----------------------------------------------------------------------------------------------------------

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        drop_disabled(self._disabled, obj, None)
        if self.has_status and not self.traits.keeps_status_on_create:
            self.reset_status(obj)
        if self.has_generation and self.traits.first_generation:
            obj["metadata"]["generation"] = self.traits.first_generation

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        drop_disabled(self._disabled, obj, old)
        if self.has_status:
            restore(obj, old, "status")
        if self.has_generation and self.desires_differ(obj, old):
            self.count_generation(obj, old)

    def count_generation(self, obj: Object, old: Object) -> None:
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def reset_status(self, obj: Object) -> None:
        """A new object has an empty status, which Go may write all the same."""
        status = self.struct.zero_of("status")
        if status is None:
            obj.pop("status", None)
        else:
            obj["status"] = status

    def desires_differ(self, obj: Object, old: Object) -> bool:
        return any(changed(obj, old, *part.split(".")) for part in self.traits.generation)

    def validate(self, request: Request, obj: Object) -> Sequence[FieldError]:
        return list(self._validator.create(obj))

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return list(self._validator.update(obj, old))

    def validate_status_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        """What is wrong with a change by way of `/status`."""
        return list(self._validator.status(obj, old))

    def warnings(self, request: Request, obj: Object, old: Object | None) -> Sequence[str]:
        return list(self._warnings(obj, old)) if self._warnings is not None else ()

    def status_warnings(self, obj: Object, old: Object | None) -> Sequence[str]:
        """What the client should know of a change by way of `/status`."""
        return list(self._status_warnings(obj, old)) if self._status_warnings is not None else ()

    # Reading ----------------------------------------------------------------------------------------------------------

    def unsupported_field(self, field: str) -> str:
        """What the server says of a field that cannot be selected."""
        if not self._selectable:
            return f'{quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
        return f"field label not supported: {field}"

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {name: value(obj) for name, value in self._selectable.items()}

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        return self._table.cells(obj, now) if self._table is not None else super().cells(obj, now)


class BuiltinStatusStrategy(Strategy):
    """The `/status` of a built-in kind: what it may not change is put back."""

    def __init__(self, parent: BuiltinStrategy) -> None:
        self.parent = parent
        self.allow_unconditional_update = parent.allow_unconditional_update
        self.selectable_fields = parent.selectable_fields
        self.columns = parent.columns

    def name_errors(self, name: str, prefix: bool = False) -> list[str]:
        return self.parent.name_errors(name, prefix)

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        for name in obj.keys() | old.keys():
            if name not in ("apiVersion", "kind", "metadata", "status"):
                restore(obj, old, name)
        for path in self.parent.traits.status_resets:
            if path == ("metadata",):
                for name in _RESET_FOR_STATUS:
                    restore(obj["metadata"], old["metadata"], name)
            elif path[0] == "metadata":
                restore(obj["metadata"], old["metadata"], path[1])

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return self.parent.validate_status_update(request, obj, old)

    def warnings(self, request: Request, obj: Object, old: Object | None) -> Sequence[str]:
        return self.parent.status_warnings(obj, old)

    def canonicalize(self, obj: Object) -> None:
        self.parent.canonicalize(obj)

    def reset_fields(self) -> Sequence[FieldPath]:
        return self.parent.traits.status_resets

    def fields(self, obj: Object) -> Mapping[str, str]:
        return self.parent.fields(obj)

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        return self.parent.cells(obj, now)
