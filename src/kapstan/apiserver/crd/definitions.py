"""The strategy of CustomResourceDefinitions themselves: defaults, validation, and what follows a write.

A definition that is written is looked at at once: names are accepted or refused and its kinds are served before the
client has its answer. Watchers see the two steps one after the other, as they would with kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.crd.naming import set_condition
from kapstan.apiserver.crd.validation import validate_definition
from kapstan.apiserver.strategy.base import NAME_COLUMN, Object, Strategy, TableColumn
from kapstan.machinery.validation import FieldError

if TYPE_CHECKING:
    from kapstan.apiserver.request import DeleteOptions, Request
    from kapstan.apiserver.storage.interface import Record

__all__ = ("CLEANUP", "DefinitionStrategy")

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class DefinitionStrategy(Strategy):
    """The main endpoint of `customresourcedefinitions`."""

    has_status = True
    has_generation = True
    allow_unconditional_update = False
    columns = (NAME_COLUMN, TableColumn("Created At", type="date", description="When the definition was created."))

    def default(self, obj: Object) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        names = spec.setdefault("names", {})
        kind = names.get("kind") or ""
        if not names.get("singular"):
            names["singular"] = kind.lower()
        if not names.get("listKind") and kind:
            names["listKind"] = f"{kind}List"
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
        if isinstance(service, dict):
            service.setdefault("port", 443)

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
        _remember_stored_version(obj)

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        super().prepare_for_update(request, obj, old)
        _remember_stored_version(obj)

    def validate(self, request: Request, obj: Object) -> Sequence[FieldError]:
        return validate_definition(obj)

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return validate_definition(obj, old)

    def mark_for_deletion(self, request: Request, obj: Object, options: DeleteOptions) -> bool:
        """Instances go first: the definition stays until they are gone."""
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return False
        metadata["deletionTimestamp"] = request.timestamp
        if CLEANUP not in (metadata.get("finalizers") or ()):
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), CLEANUP]
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        set_condition(obj, "Terminating", "True", "InstanceDeletionPending", message, request.timestamp)
        return True

    async def after_write(self, request: Request, record: Record) -> None:
        await request.cluster.custom_resources.settle(record)

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [metadata.get("name", ""), metadata.get("creationTimestamp")]


def _remember_stored_version(crd: Object) -> None:
    """The version in which objects are stored now joins those in which some may still be."""
    status = crd.setdefault("status", {})
    stored = status.get("storedVersions") or []
    for version in crd["spec"].get("versions") or ():
        if version.get("storage") and version["name"] not in stored:
            status["storedVersions"] = [*stored, version["name"]]
