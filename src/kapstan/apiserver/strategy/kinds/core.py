"""Namespaces, volumes, accounts: small hooks of the core group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from kapstan.apiserver.strategy.base import FieldPath, Object
from kapstan.apiserver.strategy.builtin import BuiltinStatusStrategy, BuiltinStrategy
from kapstan.apiserver.strategy.merging import restore
from kapstan.apiserver.strategy.validation.core import namespace_finalize

if TYPE_CHECKING:
    from kapstan.apiserver.request import DeleteOptions, Request
    from kapstan.machinery.validation import FieldError

__all__ = (
    "ClaimStrategy",
    "LimitRangeStrategy",
    "NamespaceFinalizeStrategy",
    "NamespaceStrategy",
    "ServiceAccountStrategy",
    "VolumeStatusStrategy",
    "VolumeStrategy",
)

_KUBERNETES = "kubernetes"
_METADATA_NAME = "kubernetes.io/metadata.name"
# Claims may be filled from these without saying so in the newer field.
_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


class NamespaceStrategy(BuiltinStrategy):
    """A namespace goes away in two steps: it is marked, and when its content is gone it is finalized."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        finalizers = obj["spec"].get("finalizers") or []
        if _KUBERNETES not in finalizers:
            obj["spec"]["finalizers"] = [*finalizers, _KUBERNETES]

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        super().prepare_for_update(request, obj, old)
        restore(obj["spec"], old["spec"], "finalizers")

    def canonicalize(self, obj: Object) -> None:
        """The name may have been generated after the label was filled in."""
        metadata = obj["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or {}), _METADATA_NAME: metadata["name"]}

    def mark_for_deletion(self, request: Request, obj: Object, options: DeleteOptions) -> bool:
        """The first request only marks it; the rest waits for whoever has to finalize it."""
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return not self.may_go(obj)
        metadata["deletionTimestamp"] = request.timestamp
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        return True

    def may_go(self, obj: Object) -> bool:
        return not obj["spec"].get("finalizers")


class NamespaceFinalizeStrategy(BuiltinStatusStrategy):
    """`/finalize`: of what the client sends, only `spec.finalizers` counts."""

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        restore(obj, old, "status")

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return list(namespace_finalize(obj, old))

    def reset_fields(self) -> Sequence[FieldPath]:
        return (("status",),)


class LimitRangeStrategy(BuiltinStrategy):
    """One without a name gets a unique one."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = str(uuid4())


class ServiceAccountStrategy(BuiltinStrategy):
    """Of the secrets that an account mentions, only the names are kept."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        _keep_names(obj)

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        super().prepare_for_update(request, obj, old)
        _keep_names(obj)


def _keep_names(account: Object) -> None:
    if account.get("secrets"):
        account["secrets"] = [{"name": one["name"]} if one.get("name") else {} for one in account["secrets"]]


class VolumeStrategy(BuiltinStrategy):
    """A new volume is pending."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": request.timestamp}


class VolumeStatusStrategy(BuiltinStatusStrategy):
    """`/status` notes when the phase changed."""

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        super().prepare_for_update(request, obj, old)
        status, before = obj["status"], old.get("status") or {}
        time, old_time = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
        if status.get("phase") == before.get("phase"):
            if time is None:
                restore(status, before, "lastPhaseTransitionTime")
        elif time is None or time == old_time:
            status["lastPhaseTransitionTime"] = request.timestamp


class ClaimStrategy(BuiltinStrategy):
    """`dataSource` and `dataSourceRef` say the same; the newer one can say more."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        _align_sources(obj["spec"], {})

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        super().prepare_for_update(request, obj, old)
        _align_sources(obj["spec"], old["spec"])


def _align_sources(spec: Object, old: Object) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    had_source = old.get("dataSource") or old.get("dataSourceRef")
    is_old = source and (source.get("apiGroup") or "", source.get("kind")) in _OLD_SOURCES
    if source and not reference and not had_source and not is_old:
        del spec["dataSource"]
        source = None
    if source and not reference:
        spec["dataSourceRef"] = dict(source)
    elif reference and not source and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}
