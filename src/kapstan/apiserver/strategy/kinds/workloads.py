"""Workloads: the counters and selectors that the server keeps for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kapstan.apiserver.strategy.base import Object
from kapstan.apiserver.strategy.builtin import BuiltinStrategy

if TYPE_CHECKING:
    from kapstan.apiserver.request import DeleteOptions, Request

__all__ = ("DaemonSetStrategy", "JobStrategy")

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_UID_LABEL = "batch.kubernetes.io/controller-uid"
_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
    "or set propagationPolicy=Orphan to suppress this warning"
)


class DaemonSetStrategy(BuiltinStrategy):
    """Counts changes of the template in an annotation, for whoever still reads it."""

    def default(self, obj: Object) -> None:
        super().default(obj)
        _set_template_generation(obj, _template_generation(obj))  # whoever writes the object owns it

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        super().prepare_for_create(request, obj)
        _set_template_generation(obj, max(1, _template_generation(obj)))

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        super().prepare_for_update(request, obj, old)
        changed = obj["spec"]["template"] != old["spec"]["template"]
        _set_template_generation(obj, _template_generation(old) + changed)


def _template_generation(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    return int(text) if text.lstrip("+-").isdecimal() else 0


def _set_template_generation(obj: Object, generation: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}


class JobStrategy(BuiltinStrategy):
    """A job selects its pods by its own uid, unless it wants to select them itself."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        if not obj["spec"].get("manualSelector"):
            _select_by_uid(obj["spec"], obj["metadata"])
        super().prepare_for_create(request, obj)

    def deletion_warnings(self, options: DeleteOptions) -> Sequence[str]:
        told = options.propagation_policy is not None or options.orphan_dependents is not None
        return () if told else (_PODS_STAY,)


def _select_by_uid(spec: Object, metadata: Object) -> None:
    template = spec["template"]["metadata"]
    labels = dict(template.get("labels") or {})
    has_own_labels = bool(metadata.get("labels")) and metadata["labels"] != labels
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}job-name", metadata.get("name", ""))
        labels.setdefault(f"{prefix}controller-uid", metadata["uid"])
    template["labels"] = labels
    if not has_own_labels:
        metadata["labels"] = dict(labels)
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(_UID_LABEL, metadata["uid"])
