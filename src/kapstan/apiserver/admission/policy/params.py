"""Parameters: the objects that a binding gives to its policy."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.policy.definition import ParamKind, ParamRef
from kapstan.apiserver.admission.webhook.invocation import admission_namespace
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import decode, views
from kapstan.apiserver.storage.interface import Record
from kapstan.machinery import labels

__all__ = ("Misconfigured", "collect", "resolve")

Object = dict[str, Any]


class Misconfigured(Exception):
    """A policy or binding cannot be used as it is; whether the write fails with it is the policy's failurePolicy."""


def resolve(kind: ParamKind, attributes: AdmissionAttributes) -> ServedKind:
    """The kind that has the parameters."""
    found = attributes.request.cluster.kinds.kind(kind.gvk)
    if found is None:
        group, version, name = kind.gvk
        shown = f"{group}/{version}, Kind={name}"
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{shown}'")
    return found


async def collect(
    kind: ServedKind | None, reference: ParamRef | None, attributes: AdmissionAttributes
) -> list[Object | None]:
    """What the policy is evaluated with, once each: None stands for no parameters."""
    if kind is None or reference is None:
        return [None]
    namespace = _namespace(kind, reference, attributes)
    records = _records(kind, reference, namespace, attributes)
    if not records and reference.parameter_not_found_action == "Deny":
        raise Misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [decode(value) for value in await views(kind, records)]


def _namespace(kind: ServedKind, reference: ParamRef, attributes: AdmissionAttributes) -> str:
    if not kind.namespaced:
        if reference.namespace:
            raise Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    namespace = reference.namespace or admission_namespace(attributes)
    if not namespace:
        raise Misconfigured("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return namespace


def _records(kind: ServedKind, reference: ParamRef, namespace: str, attributes: AdmissionAttributes) -> list[Record]:
    stored, storage = kind.storage, attributes.request.cluster.storage
    if reference.name:
        record = storage.get(stored.group_resource, stored.key(namespace, reference.name))
        return [record] if record is not None else []
    selector = labels.from_label_selector(reference.selector or {})
    records = storage.list(stored.group_resource, stored.prefix(namespace))
    return [record for record in records if selector.matches(record.labels)]
