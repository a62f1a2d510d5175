"""NamespaceLifecycle: nothing is written to a namespace that is missing, nothing new to one that is going away."""

from __future__ import annotations

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.authz.interface import forbidden_object
from kapstan.apiserver.registry import errors
from kapstan.apiserver.storage.interface import Record, Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.meta import StatusCause

__all__ = ("IMMORTAL", "NamespaceLifecycle")

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})

_REMEMBERED = 1024
_NAMESPACES = GroupResource("", "namespaces")
_LOCAL_REVIEWS = GroupResource("authorization.k8s.io", "localsubjectaccessreviews")


class NamespaceLifecycle(Plugin):
    """Guards namespaces and what is in them."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._seen: dict[str, tuple[Record, bool]] = {}  # whether it is going away, so that not every write decodes it

    def handles(self, attributes: AdmissionAttributes) -> bool:
        if attributes.kind.gvr.group_resource == _NAMESPACES:
            return attributes.operation == "DELETE"
        return attributes.kind.namespaced and attributes.operation in ("CREATE", "UPDATE")

    async def admit(self, attributes: AdmissionAttributes) -> None:
        resource = attributes.kind.gvr.group_resource
        if resource == _NAMESPACES:
            if attributes.name in IMMORTAL:
                raise forbidden_object(_NAMESPACES, attributes.name, "this namespace may not be deleted")
        elif resource != _LOCAL_REVIEWS:  # who may do what can be asked about namespaces that do not exist yet
            self._check(attributes)

    def _check(self, attributes: AdmissionAttributes) -> None:
        name = attributes.namespace
        record = self._storage.get(_NAMESPACES, name)
        if record is None:
            raise errors.not_found(_NAMESPACES, name)
        if attributes.operation == "CREATE" and self._terminating(record):
            why = f"unable to create new content in namespace {name} because it is being terminated"
            error = refused(attributes, why)
            assert error.status.details is not None
            error.status.details.causes.append(
                StatusCause(
                    reason="NamespaceTerminating",
                    message=f"namespace {name} is being terminated",
                    field="metadata.namespace",
                )
            )
            raise error

    def _terminating(self, record: Record) -> bool:
        known = self._seen.get(record.key)
        if known is None or known[0] is not record:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            phase = (codec.decode_any(record.value).get("status") or {}).get("phase")
            known = self._seen[record.key] = (record, phase == "Terminating")
        return known[1]
