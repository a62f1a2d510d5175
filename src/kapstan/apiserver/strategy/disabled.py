"""Fields of features that are off in Kubernetes as it comes: they are dropped, unless the object has them already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kapstan.machinery.gvk import GroupResource

__all__ = ("DISABLED", "drop_disabled")

Object = dict[str, Any]
FieldPattern = tuple[str, ...]  # names; a star is every item of a list

_POD_FIELDS: Sequence[FieldPattern] = (
    ("spec", "containers", "*", "lifecycle", "stopSignal"),
    ("spec", "initContainers", "*", "lifecycle", "stopSignal"),
    ("spec", "schedulingGroup"),
    ("spec", "volumes", "*", "projected", "sources", "*", "clusterTrustBundle"),
    ("spec", "volumes", "*", "projected", "sources", "*", "podCertificate"),
)


def _below(*names: str) -> tuple[FieldPattern, ...]:
    return tuple(names + pattern for pattern in _POD_FIELDS)


_TEMPLATE = _below("spec", "template")

DISABLED: Mapping[GroupResource, Sequence[FieldPattern]] = {
    GroupResource("", "persistentvolumeclaims"): (("spec", "dataSourceRef", "namespace"),),
    GroupResource("", "pods"): _POD_FIELDS,
    GroupResource("", "podtemplates"): _below("template"),
    GroupResource("", "replicationcontrollers"): _TEMPLATE,
    GroupResource("apps", "daemonsets"): _TEMPLATE,
    GroupResource("apps", "deployments"): _TEMPLATE,
    GroupResource("apps", "replicasets"): _TEMPLATE,
    GroupResource("apps", "statefulsets"): (("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), *_TEMPLATE),
    GroupResource("batch", "cronjobs"): _below("spec", "jobTemplate", "spec", "template"),
    GroupResource("batch", "jobs"): _TEMPLATE,
    GroupResource("coordination.k8s.io", "leases"): (("spec", "strategy"), ("spec", "preferredHolder")),
    GroupResource("storage.k8s.io", "csidrivers"): (("spec", "preventPodSchedulingIfMissing"),),
}


def drop_disabled(patterns: Sequence[FieldPattern], obj: Object, old: Object | None) -> None:
    """Take out of an object what the old one does not use."""
    for pattern in patterns:
        if old is not None and any(True for _ in _holders(old, pattern)):
            continue
        for holder in list(_holders(obj, pattern)):
            del holder[pattern[-1]]


def _holders(value: Any, pattern: FieldPattern) -> Iterator[Object]:
    """The objects that have the last field of a pattern."""
    for position, name in enumerate(pattern[:-1]):
        if name == "*":
            for item in value or ():
                yield from _holders(item, pattern[position + 1 :])
            return
        value = (value or {}).get(name)
    if value is not None and value.get(pattern[-1]) is not None:
        yield value
