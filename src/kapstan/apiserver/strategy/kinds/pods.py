"""Pods: their class of service, what blocks their scheduling, and their end, which takes time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kapstan.apiserver.strategy.base import FieldPath, Object
from kapstan.apiserver.strategy.builtin import BuiltinStatusStrategy, BuiltinStrategy
from kapstan.apiserver.strategy.merging import restore
from kapstan.apiserver.strategy.resources import qos_class
from kapstan.apiserver.strategy.tables.pods import row_conditions
from kapstan.apiserver.strategy.validation.podupdates import ephemeral_containers_update, pod_resize

if TYPE_CHECKING:
    from kapstan.apiserver.request import DeleteOptions, Request
    from kapstan.machinery.validation import FieldError

__all__ = ("EphemeralContainersStrategy", "PodStatusStrategy", "PodStrategy", "ResizeStrategy")

_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


class PodStrategy(BuiltinStrategy):
    """The main endpoint of pods."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        spec = obj["spec"]
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(obj)}
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [dict(_GATED, lastTransitionTime=request.timestamp)]
        labels = obj["metadata"].get("labels") or {}
        for term in _affinity_terms(spec.get("affinity") or {}):
            _merge_label_keys(term, "matchLabelKeys", "In", labels)
            _merge_label_keys(term, "mismatchLabelKeys", "NotIn", labels)
        for constraint in spec.get("topologySpreadConstraints") or ():
            _merge_label_keys(constraint, "matchLabelKeys", "In", labels)

    def grace_period(self, request: Request, obj: Object, options: DeleteOptions) -> int | None:
        spec, phase = obj["spec"], (obj.get("status") or {}).get("phase")
        seconds = options.grace_period_seconds
        if seconds is None:
            seconds = spec.get("terminationGracePeriodSeconds") or 0
        # Nobody runs what is not scheduled, and nobody stops what has ended.
        if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
            return 0
        return 1 if seconds < 0 else seconds

    def row_conditions(self, obj: Object) -> list[Object]:
        return row_conditions(obj)


def _affinity_terms(affinity: Object) -> list[Object]:
    terms: list[Object] = []
    for side in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(side) or {}
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += (weighted["podAffinityTerm"] for weighted in preferred)
        terms += rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return terms


def _merge_label_keys(holder: Object, field: str, operator: str, labels: dict[str, str]) -> None:
    """Keys whose values are the pod's own become part of the selector."""
    selector = holder.get("labelSelector")
    keys = [key for key in holder.get(field) or () if key in labels]
    if selector is None or not keys:
        return
    added = [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys]
    selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


class PodStatusStrategy(BuiltinStatusStrategy):
    """`/status`: what old kubelets forget to send is kept."""

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        super().prepare_for_update(request, obj, old)
        status, before = obj["status"], old.get("status") or {}
        for field in ("qosClass", "observedGeneration"):
            if not status.get(field):
                restore(status, before, field)
        _keep_observed_generations(status.get("conditions") or (), before.get("conditions") or ())


def _keep_observed_generations(conditions: Sequence[Object], before: Sequence[Object]) -> None:
    generations: dict[str, list[int]] = defaultdict(list)
    for condition in before:
        generations[condition["type"]].append(condition.get("observedGeneration", 0))
    for condition in conditions:
        known = generations[condition["type"]]
        generation = known.pop(0) if known else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


class _PartStrategy(BuiltinStatusStrategy):
    """A subresource that changes one part of a pod's spec."""

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        spec = self.combined(obj["spec"], old["spec"])
        super().prepare_for_update(request, obj, old)
        restore(obj, old, "status")
        for field in ("labels", "annotations", "finalizers", "ownerReferences"):
            restore(obj["metadata"], old["metadata"], field)
        obj["spec"] = spec
        if spec != old["spec"]:
            self.parent.count_generation(obj, old)

    def combined(self, spec: Object, old: Object) -> Object:
        """The old spec with the part that may change."""
        raise NotImplementedError


class EphemeralContainersStrategy(_PartStrategy):
    """`/ephemeralcontainers`: containers that are added to a running pod to look into it."""

    def combined(self, spec: Object, old: Object) -> Object:
        found = dict(old)
        restore(found, spec, "ephemeralContainers")
        return found

    def reset_fields(self) -> Sequence[FieldPath]:
        return (("metadata",), ("status",))

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return list(ephemeral_containers_update(obj, old))


class ResizeStrategy(_PartStrategy):
    """`/resize`: other amounts of resources for containers that are there."""

    def combined(self, spec: Object, old: Object) -> Object:
        found = dict(old)
        for field in ("containers", "initContainers"):
            new_list, old_list = spec.get(field) or [], old.get(field) or []
            if [one["name"] for one in new_list] != [one["name"] for one in old_list]:
                return spec
            if old_list:
                found[field] = [_resized(new, before) for new, before in zip(new_list, old_list, strict=True)]
        restore(found, spec, "resources")
        return found

    def reset_fields(self) -> Sequence[FieldPath]:
        return (("metadata",), ("status",))

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return list(pod_resize(obj, old))


def _resized(container: Object, old: Object) -> Object:
    found = {**old, "resources": container["resources"]}
    restore(found, container, "resizePolicy")
    return found
